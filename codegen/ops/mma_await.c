/* The end of products in flight: by wgmma, whose sums are in registers already, and by tcgen05. */
#include "codegen/analysis/product.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/tcgen05.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

void cg_assign_mma_await(cg_func *c, const ct_op *op)
{
    const cg_layout *l = cg_value_of(c, op->operands[0])->home;
    cg_set_home(c, cg_result(op, 0), l, CG_WEIGHT_MMA);
    cg_want(c, op->operands[0], l);
}

void cg_lower_mma_await(cg_func *c, const ct_op *op)
{
    if (cg_take_sum(c, op))
        return;
    const cg_pending *pending = op->detail;
    cg_ins(c, "wgmma.wait_group.sync.aligned %u", pending ? pending->others : 0);
    cg_set(c, cg_result(op, 0), cg_get(c, op->operands[0], cg_value_of(c, op->operands[0])->home));
}
