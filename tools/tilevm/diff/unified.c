/* Unified differences: lines become numbers (equal lines, equal numbers), their longest common subsequence gives what
   stays, and the rest is written in hunks. */
#include "tools/tilevm/diff/unified.h"

#include <string.h>

#include "bytecode/base/arena.h"
#include "bytecode/base/visible.h"
#include "tools/tilevm/diff/lcs.h"

enum { CONTEXT = 3 };

typedef struct line_list {
    tv_str *lines;
    uint64_t *numbers;
    uint8_t *keep;
    size_t count;
} line_list;

/* Lines that were seen, by content: slots hold the number + 1. */
typedef struct line_table {
    size_t *slots, size; /* a power of two, more than all lines of both texts */
    tv_str *seen;
    size_t count;
} line_table;

static size_t count_lines(tv_str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == '\n';
    return count + (text.len && text.ptr[text.len - 1] != '\n');
}

static uint64_t number_of(line_table *table, tv_str line)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < line.len; i++)
        h = (h ^ (unsigned char)line.ptr[i]) * 0x100000001b3u;
    size_t at = (size_t)(h ^ h >> 32) & (table->size - 1);
    while (table->slots[at] && !bc_str_eq(table->seen[table->slots[at] - 1], line))
        at = (at + 1) & (table->size - 1);
    if (!table->slots[at]) {
        table->seen[table->count++] = line;
        table->slots[at] = table->count;
    }
    return table->slots[at];
}

static bool split(bc_arena *arena, tv_str text, line_table *table, line_list *list)
{
    size_t count = count_lines(text), start = 0;
    list->lines = bc_new(arena, tv_str, count);
    list->numbers = bc_new(arena, uint64_t, count);
    list->keep = bc_new(arena, uint8_t, count);
    if (arena->failed)
        return false;
    for (; list->count < count; list->count++) {
        const char *end = memchr(text.ptr + start, '\n', text.len - start);
        size_t len = (end ? (size_t)(end - text.ptr) : text.len) - start;
        list->lines[list->count] = (tv_str){text.ptr + start, len};
        list->numbers[list->count] = number_of(table, list->lines[list->count]);
        start += len + 1;
    }
    return true;
}

static bool split_both(bc_arena *arena, tv_str a, tv_str b, line_list *la, line_list *lb)
{
    size_t total = count_lines(a) + count_lines(b);
    line_table table = {.size = 16};
    while (table.size < 2 * total)
        table.size *= 2;
    table.slots = bc_new(arena, size_t, table.size);
    table.seen = bc_new(arena, tv_str, total);
    return !arena->failed && split(arena, a, &table, la) && split(arena, b, &table, lb)
           && lcs_mark(la->numbers, la->count, lb->numbers, lb->count, la->keep, lb->keep);
}

/* ---- hunks ---- */

typedef struct unified_writer {
    bc_text *out;
    const line_list *a, *b;
    bool color;
} unified_writer;

static void put_line(const unified_writer *w, char sign, tv_str line)
{
    const char *color = !w->color ? "" : sign == '-' ? "\033[31m" : sign == '+' ? "\033[32m" : "";
    bc_text_puts(w->out, color);
    bc_text_char(w->out, sign);
    bc_text_visible(w->out, line, "\t");
    bc_text_puts(w->out, *color ? "\033[0m\n" : "\n");
}

/* "12,3": an empty range names the line before it. */
static void put_range(bc_text *out, size_t first, size_t count)
{
    bc_text_printf(out, count == 1 ? "%zu" : "%zu,%zu", count ? first + 1 : first, count);
}

/* Lines [a0, a1) and [b0, b1), which begin and end with what both have. */
static void put_hunk(const unified_writer *w, size_t a0, size_t a1, size_t b0, size_t b1)
{
    bc_text_puts(w->out, w->color ? "\033[36m@@ -" : "@@ -");
    put_range(w->out, a0, a1 - a0);
    bc_text_puts(w->out, " +");
    put_range(w->out, b0, b1 - b0);
    bc_text_puts(w->out, w->color ? " @@\033[0m\n" : " @@\n");
    while (a0 < a1 || b0 < b1) {
        if (a0 < a1 && !w->a->keep[a0]) {
            put_line(w, '-', w->a->lines[a0++]);
        } else if (b0 < b1 && !w->b->keep[b0]) {
            put_line(w, '+', w->b->lines[b0++]);
        } else {
            put_line(w, ' ', w->a->lines[a0++]);
            b0++;
        }
    }
}

/* Lines from i and j on that are the same: what one side keeps may be interrupted by what the other side has more. */
static size_t kept_run(const unified_writer *w, size_t i, size_t j)
{
    size_t start = i;
    while (i < w->a->count && j < w->b->count && w->a->keep[i] && w->b->keep[j])
        i++, j++;
    return i - start;
}

static void put_hunks(const unified_writer *w)
{
    size_t i = 0, j = 0;
    for (;;) {
        size_t run = kept_run(w, i, j);
        i += run, j += run;
        if (i == w->a->count && j == w->b->count)
            return;
        size_t before = run < CONTEXT ? run : CONTEXT, a0 = i - before, b0 = j - before;
        for (;;) { /* changes, and what is kept between them, until there is enough of it for a gap */
            while (i < w->a->count && !w->a->keep[i])
                i++;
            while (j < w->b->count && !w->b->keep[j])
                j++;
            run = kept_run(w, i, j);
            bool last = i + run == w->a->count && j + run == w->b->count;
            if (last || run > 2 * CONTEXT) {
                size_t after = run < CONTEXT ? run : CONTEXT;
                put_hunk(w, a0, i + after, b0, j + after);
                break;
            }
            i += run, j += run;
        }
    }
}

bool unified_diff(bc_text *out, const char *a_name, tv_str a, const char *b_name, tv_str b, bool color, bool *out_same)
{
    *out_same = bc_str_eq(a, b);
    if (*out_same)
        return true;
    bc_arena arena;
    bc_arena_init(&arena, NULL, 0);
    line_list la = {0}, lb = {0};
    bool ok = split_both(&arena, a, b, &la, &lb);
    if (ok) {
        bc_text_puts(out, color ? "\033[1m--- " : "--- ");
        bc_text_visible(out, bc_str(a_name), "");
        bc_text_puts(out, "\n+++ ");
        bc_text_visible(out, bc_str(b_name), "");
        bc_text_puts(out, color ? "\033[0m\n" : "\n");
        put_hunks(&(unified_writer){out, &la, &lb, color});
    }
    bc_arena_release(&arena);
    return ok && !out->failed;
}
