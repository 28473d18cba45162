/* Ends a loop before iterations that repeat the one before. If an index is clamped to the last tile, several
   iterations may be past it:

       for i in (0 to 4, step 1) {                     for i in (0 to 3, step 1) {
         k = min(i + 1, 3)                               k = min(i + 1, 3)
         store f(load v[k]), w[k]               ->       store f(load v[k]), w[k]
       }                                               }

   Why it is right: the loop carries nothing, and reads its counter only in minima that have their other operand from
   some iteration on. So these iterations access the same elements. They compute the same values, because no token can
   order a load of one of them after a store of another, and store them to the same places once more, by weak stores
   that nothing awaits in between. */
#include "codegen/passes/count.h"

#include "codegen/analysis/order.h"
#include "codegen/facts/facts.h"
#include "codegen/tile/build.h"

typedef struct clamped {
    int64_t first, end, step;
    int64_t last; /* the counter from which on all minima have their other operand */
} clamped;

/* Is the value, which is the counter and an amount, read only in minima with constants, and in sums of that kind? */
static bool is_clamped(clamped *x, const ct_value *v, int64_t amount)
{
    for (const ct_use *use = v->uses; use; use = use->next) {
        const ct_op *op = use->op;
        int64_t other = 0;
        const bool by = op->operand_count == 2 && ct_is_constant(op->operands[1 - use->index], &other),
                   is_sum = by && op->opcode == OP_addi && !amount && other > 0 && other < INT32_MAX - x->end,
                   is_least = by && op->opcode == OP_mini && ct_attr_u(op, F_mini_signedness) == BC_Signedness_signed;
        if (!is_sum && !is_least)
            return false;
        if (is_sum && !is_clamped(x, &op->results[0], other))
            return false;
        if (is_least && other - amount > x->last)
            x->last = other - amount;
    }
    return true;
}

/* May the ops of the loop be executed once more, or once less, without anybody noticing? */
static bool may_repeat(const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        const uint32_t effects = ct_info(op)->effects;
        if (effects && (!cg_is_weak_access(op) || (effects != BC_READS && effects != BC_WRITES)))
            return false;
    }
    return true;
}

bool cg_end_clamped(cg_func *c, ct_op *loop)
{
    clamped x;
    if (loop->opcode != OP_for || ct_attr_u(loop, F_for_unsigned_cmp) || bc_elem_kind(loop->operands[0]->type) != BC_I32
        || !ct_is_constant(loop->operands[0], &x.first) || !ct_is_constant(loop->operands[1], &x.end)
        || !ct_is_constant(loop->operands[2], &x.step) || x.first < 0 || x.step <= 0 || x.first >= x.end)
        return false;
    if (loop->operand_count > ct_first_carried(loop))
        return false; /* an iteration takes what the one before passed on */
    x.last = x.first;
    const ct_value *counter = &loop->regions[0]->args[0];
    if (!counter->uses || !is_clamped(&x, counter, 0) || !may_repeat(loop->regions[0]))
        return false;
    const int64_t kept = x.first + (x.last - x.first + x.step - 1) / x.step * x.step;
    if (kept + x.step >= x.end)
        return false;
    ct_builder b = {c->ir, loop, false};
    ct_value *end = ct_build_scalar(&b, BC_I32, kept + 1);
    if (end)
        ct_set_operand(loop, 1, end);
    return end;
}
