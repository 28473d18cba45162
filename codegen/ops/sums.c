/* The ops around sums in tensor memory: of all threads (codegen/ops/tcgen05.c), or of the issuer and the consumers
   (codegen/ops/turns.c). */
#include "codegen/ops/chains.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/tcgen05.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ops/turns.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* The result, and an operand if one is given, have the layout in which threads hold the sum. */
static void assign_like_sum(cg_func *c, const ct_op *op, const ct_value *operand)
{
    const cg_sum *s = cg_sum_of(c, op);
    cg_layout l;
    if (!s || !cg_mma_accumulator_layout(c, s->product, &l))
        return;
    cg_set_home(c, cg_result(op, 0), &l, CG_WEIGHT_MMA);
    if (operand)
        cg_want(c, operand, &l);
}

void cg_assign_sum(cg_func *c, const ct_op *op)
{
    assign_like_sum(c, op, op->operands[0]);
}

void cg_assign_scale_sum(cg_func *c, const ct_op *op)
{
    assign_like_sum(c, op, op->operands[1]);
}

void cg_assign_take(cg_func *c, const ct_op *op)
{
    assign_like_sum(c, op, NULL);
}

void cg_effects_sum(cg_func *c, ct_op *op)
{
    if (c->tensor->in_turn)
        return;
    if (cg_sum_of(c, op)->meets)
        cg_add_effect(c, op, CG_MEETS);
    if (!cg_sum_of(c, op)->issued)
        cg_add_effect(c, op, CG_MEETS);
}

void cg_lower_tensor(cg_func *c, const ct_op *op)
{
    (cg_has_issuer(c) ? cg_turns_tensor : cg_tensor_begin)(c, op);
}

void cg_lower_tensor_end(cg_func *c, const ct_op *op)
{
    (cg_has_issuer(c) ? cg_turns_tensor_end : cg_tensor_end)(c, op);
}

void cg_lower_sum(cg_func *c, const ct_op *op)
{
    (c->tensor->in_turn ? cg_turns_sum : cg_tensor_start)(c, op);
}

void cg_lower_take(cg_func *c, const ct_op *op)
{
    (c->tensor->in_turn ? cg_turns_take : cg_chains_take)(c, op);
}

bool cg_take_sum(cg_func *c, const ct_op *op)
{
    if (!cg_sum_of(c, op))
        return false;
    (c->tensor->in_turn ? cg_turns_full : cg_tensor_take)(c, op);
    return true;
}
