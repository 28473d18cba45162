#include "tests/common/counts.h"

#include <stdlib.h>
#include <string.h>

static int by_opcode(const void *a, const void *b)
{
    const ptxsim_use *x = a, *y = b;
    int order = strcmp(x->opcode, y->opcode);
    const uint32_t left[] = {x->m, x->n, x->k, x->a_in_shared}, right[] = {y->m, y->n, y->k, y->a_in_shared};
    for (unsigned i = 0; i < 4 && !order; i++)
        order = (left[i] > right[i]) - (left[i] < right[i]);
    return order;
}

void counts_print(const ptxsim *sim, bc_text *out)
{
    size_t count = ptxsim_use_count(sim);
    ptxsim_use *uses = malloc((count + 1) * sizeof *uses);
    for (size_t i = 0; i < count && uses; i++)
        uses[i] = *ptxsim_use_at(sim, i);
    if (uses)
        qsort(uses, count, sizeof *uses, by_opcode);
    for (size_t i = 0; i < count && uses;) {
        ptxsim_use sum = uses[i];
        size_t next = i + 1;
        for (; next < count && by_opcode(&uses[i], &uses[next]) == 0; next++) {
            sum.warps += uses[next].warps;
            sum.lanes += uses[next].lanes;
            sum.bytes += uses[next].bytes;
        }
        if (sum.warps)
            bc_text_printf(out, "%s %llu %llu %llu %u %u %u %d\n", sum.opcode, (unsigned long long)sum.warps,
                           (unsigned long long)sum.lanes, (unsigned long long)sum.bytes, (unsigned)sum.m,
                           (unsigned)sum.n, (unsigned)sum.k, sum.a_in_shared);
        i = next;
    }
    free(uses);
}
