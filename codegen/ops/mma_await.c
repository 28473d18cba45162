/* The end of products in flight: those whose sums are in registers already, and those by tcgen05. */
#include "codegen/analysis/product.h"
#include "codegen/analysis/tensor.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/tcgen05.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

void cg_assign_mma_await(cg_func *c, const ct_op *op)
{
    cg_layout ahead;
    const cg_sum *sum = cg_sum_of(c, op);
    bool runs = sum && sum->product->ahead && cg_mma_accumulator_layout(c, sum->product, &ahead);
    const cg_layout *l = runs ? &ahead : cg_value_of(c, op->operands[0])->home;
    cg_set_home(c, cg_result(op, 0), l, CG_WEIGHT_MMA);
    cg_want(c, op->operands[0], l);
}

void cg_lower_mma_await(cg_func *c, const ct_op *op)
{
    if (cg_take_sum(c, op))
        return;
    const cg_pending *pending = op->detail;
    cg_await_products(c, pending ? pending->others : 0);
    cg_set(c, cg_result(op, 0), cg_get(c, op->operands[0], cg_value_of(c, op->operands[0])->home));
}
