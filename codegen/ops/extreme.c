/* The smallest or largest of many registers; see the header. */
#include "codegen/ops/extreme.h"

#include "codegen/ptx/ptx.h"

static cg_val join(cg_func *c, const cg_extreme *x, cg_val a, cg_val b)
{
    cg_val both = cg_new(c, CG_B32);
    cg_ins(c, "%s %v, %v, %v", x->ins, both, a, b);
    return both;
}

void cg_extreme_take(cg_func *c, cg_extreme *x, cg_val value)
{
    cg_val *lane = &x->lanes[x->count % CG_EXTREME_LANES];
    *lane = x->count++ < CG_EXTREME_LANES ? value : join(c, x, *lane, value);
}

cg_val cg_extreme_of(cg_func *c, const cg_extreme *x)
{
    cg_val all = x->lanes[0];
    for (uint32_t i = 1; i < x->count && i < CG_EXTREME_LANES; i++)
        all = join(c, x, all, x->lanes[i]);
    return all;
}
