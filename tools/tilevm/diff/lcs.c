/* Longest common subsequence by divide and conquer: E. W. Myers, "An O(ND) difference algorithm and its variations",
   1986, section 4b. Space is linear; the search for a middle is cut off after COST_LIMIT steps. */
#include "tools/tilevm/diff/lcs.h"

#include <stdlib.h>
#include <string.h>

enum { COST_LIMIT = 512 };

typedef struct lcs_search {
    const uint64_t *a, *b;
    uint8_t *keep_a, *keep_b;
    ptrdiff_t *forward, *backward; /* furthest x on diagonal k, at index k + offset */
    ptrdiff_t offset;
} lcs_search;

/* A part of each sequence. */
typedef struct lcs_box {
    const uint64_t *a, *b;
    ptrdiff_t n, m;
} lcs_box;

typedef struct lcs_split {
    ptrdiff_t x, y; /* relative to the box */
} lcs_split;

/* The furthest x on diagonal k (x - y) that one more step reaches from its neighbours, or -1. */
static ptrdiff_t reach(const ptrdiff_t *v, ptrdiff_t k, ptrdiff_t n, ptrdiff_t m)
{
    ptrdiff_t down = v[k + 1], right = v[k - 1], x = -1;
    if (down >= 0 && down - k <= m)
        x = down;
    if (right >= 0 && right < n && right + 1 > x)
        x = right + 1;
    return x;
}

/* Extends the forward search to cost d. True when it met the backward search, which has cost d - 1. */
static bool go_forward(lcs_search *s, const lcs_box *box, ptrdiff_t d, lcs_split *out_meeting, lcs_split *best)
{
    ptrdiff_t *v = s->forward + s->offset, n = box->n, m = box->m, delta = n - m;
    const ptrdiff_t *other = s->backward + s->offset;
    v[-d - 1] = v[d + 1] = -1;
    for (ptrdiff_t k = -d; k <= d; k += 2) {
        ptrdiff_t x = d ? reach(v, k, n, m) : 0;
        while (x >= 0 && x < n && x - k < m && box->a[x] == box->b[x - k])
            x++;
        v[k] = x;
        if (x < 0)
            continue;
        *out_meeting = (lcs_split){x, x - k};
        ptrdiff_t opposite = delta - k;
        if ((delta & 1) && opposite > -d && opposite < d && other[opposite] >= 0 && x + other[opposite] >= n)
            return true;
        if (2 * x - k > best->x + best->y)
            *best = *out_meeting;
    }
    return false;
}

/* The same from the far corner, where x counts backwards; the forward search has cost d. */
static bool go_backward(lcs_search *s, const lcs_box *box, ptrdiff_t d, lcs_split *out_meeting)
{
    ptrdiff_t *v = s->backward + s->offset, n = box->n, m = box->m, delta = n - m;
    const ptrdiff_t *other = s->forward + s->offset;
    v[-d - 1] = v[d + 1] = -1;
    for (ptrdiff_t k = -d; k <= d; k += 2) {
        ptrdiff_t x = d ? reach(v, k, n, m) : 0;
        while (x >= 0 && x < n && x - k < m && box->a[n - 1 - x] == box->b[m - 1 - (x - k)])
            x++;
        v[k] = x;
        ptrdiff_t opposite = delta - k;
        *out_meeting = (lcs_split){n - x, m - (x - k)};
        if (x >= 0 && !(delta & 1) && opposite >= -d && opposite <= d && other[opposite] >= 0
            && x + other[opposite] >= n)
            return true;
    }
    return false;
}

/* A point on a shortest path through the box, or after COST_LIMIT steps the furthest that was reached. The sequences
   differ at both ends, so the point is not a corner. */
static lcs_split find_middle(lcs_search *s, const lcs_box *box)
{
    lcs_split meeting, best = {0, 0};
    for (ptrdiff_t d = 0; d <= COST_LIMIT; d++)
        if (go_forward(s, box, d, &meeting, &best) || go_backward(s, box, d, &meeting))
            return meeting;
    return best;
}

static void mark(lcs_search *s, size_t ax, size_t n, size_t bx, size_t m)
{
    for (;;) {
        while (n && m && s->a[ax] == s->b[bx]) {
            s->keep_a[ax++] = s->keep_b[bx++] = 1;
            n--, m--;
        }
        while (n && m && s->a[ax + n - 1] == s->b[bx + m - 1]) {
            s->keep_a[ax + n - 1] = s->keep_b[bx + m - 1] = 1;
            n--, m--;
        }
        if (!n || !m)
            return;
        lcs_split at = find_middle(s, &(lcs_box){s->a + ax, s->b + bx, (ptrdiff_t)n, (ptrdiff_t)m});
        size_t x = (size_t)at.x, y = (size_t)at.y;
        if ((x == 0 && y == 0) || (x == n && y == m))
            return;
        /* recurse into the smaller half, go on with the larger: depth stays logarithmic */
        if (x + y < n - x + m - y) {
            mark(s, ax, x, bx, y);
            ax += x, bx += y, n -= x, m -= y;
        } else {
            mark(s, ax + x, n - x, bx + y, m - y);
            n = x, m = y;
        }
    }
}

bool lcs_mark(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint8_t *keep_a, uint8_t *keep_b)
{
    memset(keep_a, 0, n);
    memset(keep_b, 0, m);
    size_t width = 2 * (size_t)COST_LIMIT + 8;
    ptrdiff_t *memory = calloc(2 * width, sizeof *memory);
    if (!memory)
        return false;
    lcs_search s = {.a = a,
                    .b = b,
                    .keep_a = keep_a,
                    .keep_b = keep_b,
                    .forward = memory,
                    .backward = memory + width,
                    .offset = COST_LIMIT + 3};
    mark(&s, 0, n, 0, m);
    free(memory);
    return true;
}
