/* The ops around sums in tensor memory: of all threads (codegen/ops/tcgen05.c), or of the issuer and the consumers
   (codegen/ops/turns.c). */
#include "codegen/ops/hooks.h"
#include "codegen/ops/tcgen05.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ops/turns.h"

void cg_lower_tensor(cg_func *c, const ct_op *op)
{
    (c->tensor->in_turn ? cg_turns_tensor : cg_tensor_begin)(c, op);
}

void cg_lower_tensor_end(cg_func *c, const ct_op *op)
{
    (c->tensor->in_turn ? cg_turns_tensor_end : cg_tensor_end)(c, op);
}

void cg_lower_sum(cg_func *c, const ct_op *op)
{
    (c->tensor->in_turn ? cg_turns_sum : cg_tensor_start)(c, op);
}

bool cg_take_sum(cg_func *c, const ct_op *op)
{
    if (!cg_sum_of(c, op))
        return false;
    (c->tensor->in_turn ? cg_turns_full : cg_tensor_take)(c, op);
    return true;
}
