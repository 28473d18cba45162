/* How far apart two words are. */
#include "bytecode/base/words.h"

#include <ctype.h>

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

unsigned bc_word_distance(tv_str a, tv_str b)
{
    unsigned rows[3][BC_WORD_LIMIT + 1];
    if (a.len > BC_WORD_LIMIT || b.len > BC_WORD_LIMIT)
        return BC_WORD_LIMIT;
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b.len; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.len; j++) {
            unsigned best = last[j - 1] + !same_letter(a.ptr[i - 1], b.ptr[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1]
                && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        unsigned *spare = before;
        before = last, last = row, row = spare;
    }
    return last[b.len];
}

unsigned bc_word_reach(size_t len)
{
    return len < 4 ? 2 : len < 8 ? 3 : 4;
}
