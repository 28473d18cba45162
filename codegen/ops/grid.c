/* What the size of the grid is at run time; see the header. */
#include "codegen/ops/grid.h"

#include "codegen/ops/hooks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

static cg_val special(cg_func *c, const char *name)
{
    cg_val number = cg_new(c, CG_B32), wide = cg_new(c, CG_B64);
    cg_ins(c, "mov.u32 %v, %%%s", number, name);
    cg_ins(c, "cvt.u64.u32 %v, %v", wide, number);
    return wide;
}

/* The product is computed in 64 bits, because it is at most 2^31 times 2^16 times 2^16. */
cg_val cg_has_few_blocks(cg_func *c)
{
    cg_val blocks = special(c, "nctaid.x"), few = cg_new(c, CG_PRED);
    cg_ins(c, "mul.lo.u64 %v, %v, %v", blocks, blocks, special(c, "nctaid.y"));
    cg_ins(c, "mul.lo.u64 %v, %v, %v", blocks, blocks, special(c, "nctaid.z"));
    cg_ins(c, "setp.le.u64 %v, %v, %v", few, blocks, special(c, "nsmid"));
    return few;
}

cg_val cg_part_number(cg_func *c)
{
    if (c->slices)
        return cg_slice_number(c);
    cg_val rank = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, %%cluster_ctarank", rank);
    return rank;
}

void cg_assign_few_blocks(cg_func *c, const ct_op *op)
{
    cg_set_scalars(c, op);
}

void cg_lower_few_blocks(cg_func *c, const ct_op *op)
{
    cg_val *few = cg_vals(c, 1);
    if (!few)
        return;
    few[0] = cg_has_few_blocks(c);
    cg_set(c, cg_result(op, 0), few);
}
