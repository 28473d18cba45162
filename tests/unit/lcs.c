/* The common subsequence behind `tilevm diff`, against the quadratic textbook method. */
#include "tools/tilevm/diff/lcs.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

enum { MOST = 60 };

static uint32_t next_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

static size_t longest(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
    size_t table[MOST + 1][MOST + 1] = {{0}};
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            size_t up = table[i - 1][j], left = table[i][j - 1];
            table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : up > left ? up : left;
        }
    return table[n][m];
}

/* The number of pairs, or SIZE_MAX when what is marked is not a common subsequence. */
static size_t common(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
    uint8_t *keep_a = malloc(n + 1), *keep_b = malloc(m + 1);
    size_t pairs = SIZE_MAX;
    if (keep_a && keep_b && lcs_mark(a, n, b, m, keep_a, keep_b)) {
        size_t i = 0, j = 0;
        for (pairs = 0;; pairs++, i++, j++) {
            while (i < n && !keep_a[i])
                i++;
            while (j < m && !keep_b[j])
                j++;
            if (i == n || j == m)
                break;
            if (a[i] != b[j])
                break;
        }
        if (i != n || j != m)
            pairs = SIZE_MAX;
    }
    free(keep_a);
    free(keep_b);
    return pairs;
}

static void check_small(void)
{
    uint32_t state = 1;
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t a[MOST], b[MOST];
        size_t n = next_random(&state) >> 8 & 31, m = next_random(&state) >> 8 & 31;
        uint32_t letters = 1 + (next_random(&state) >> 8) % 6;
        for (size_t i = 0; i < n; i++)
            a[i] = (next_random(&state) >> 8) % letters;
        for (size_t i = 0; i < m; i++)
            b[i] = (next_random(&state) >> 8) % letters;
        size_t found = common(a, n, b, m), best = longest(a, n, b, m);
        if (found != best)
            CHECK_MSG(found == best, "round %u: %zu instead of %zu", round, found, best);
    }
    CHECK(state != 1);
}

static void check_large(void)
{
    enum { COUNT = 100000 };
    uint64_t *a = malloc(COUNT * sizeof *a), *b = malloc(COUNT * sizeof *b);
    CHECK(a && b);
    if (!a || !b)
        return;
    for (size_t i = 0; i < COUNT; i++)
        a[i] = b[i] = i;
    b[COUNT / 2] = COUNT + 1;
    CHECK(common(a, COUNT, b, COUNT) == COUNT - 1);
    CHECK(common(a, COUNT, b + 10, COUNT - 10) == COUNT - 11);
    for (size_t i = 0; i < COUNT; i++)
        b[i] += COUNT;
    CHECK(common(a, COUNT, b, COUNT) == 0); /* nothing in common, in time that does not grow with the square */
    for (size_t i = 0; i < COUNT; i += 2)
        b[i] = a[i];
    size_t pairs = common(a, COUNT, b, COUNT);
    CHECK_MSG(pairs != SIZE_MAX && pairs > COUNT / 4, "%zu", pairs);
    free(a);
    free(b);
}

int main(void)
{
    check_small();
    check_large();
    return TEST_END("lcs");
}
