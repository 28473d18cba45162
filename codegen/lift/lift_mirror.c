/* Loops that take tiles from the last one down: a term that decreases with the iteration number is expressed as one
   that increases with the number of remaining iterations.

       rows - 64 * i    ->    rows - 64 * last + 64 * left        left = last - i, of i in (0 to last + 1, step 1)

   Why it is right: both are the same number in every iteration of the loop, where i is at most `last`, and the term is
   not used anywhere else. */
#include "codegen/facts/facts.h"
#include "codegen/lift/lift.h"

/* v with facts, as if it had existed when facts were computed. NULL: out of memory. */
static ct_value *learnt(cg_func *c, ct_value *v)
{
    if (!v || v->fact || !v->op)
        return v;
    for (uint32_t i = 0; i < v->op->operand_count; i++)
        if (!learnt(c, v->op->operands[i]))
            return NULL;
    if (!(v->fact = bc_new(&c->arena, cg_fact, 1)))
        return NULL;
    cg_learn(v->op, &c->arena);
    return v;
}

static bool is_last(const ct_value *v, const ct_value *end)
{
    int64_t by;
    if (v->fact && v->fact->constant)
        return end->fact && end->fact->constant && v->fact->value == end->fact->value - 1;
    return v->op && v->op->opcode == OP_subi && v->op->operands[0] == end && ct_is_constant(v->op->operands[1], &by)
           && by == 1;
}

/* The number of remaining iterations, if the loop computes it already. NULL: it does not. */
static ct_value *find_left(const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    for (const ct_op *op = body->first; op; op = op->next) {
        const ct_op *sub = op->opcode == OP_assume ? op->operands[0]->op : NULL;
        if (sub && sub->opcode == OP_subi && sub->operands[1] == &body->args[0] && op->results[0].fact
            && cg_range_of(&op->results[0]).low >= 0 && is_last(sub->operands[0], loop->operands[1]))
            return &op->results[0];
    }
    return NULL;
}

static ct_value *put_left(cg_func *c, ct_op *loop)
{
    ct_builder before = {c->ir, loop, false}, in = {c->ir, loop->regions[0]->first, false};
    ct_value *counter = &loop->regions[0]->args[0];
    bc_kind kind = bc_elem_kind(counter->type);
    ct_value *last = ct_build_sub(&before, loop->operands[1], ct_build_scalar(&before, kind, 1));
    ct_value *left = ct_build(&in, OP_subi, counter->type, (ct_value *const[]){last, counter}, 2);
    return learnt(c, ct_build_bounded(&in, left, 0, INT32_MAX));
}

/* The loop whose 32-bit counter is the factor and equals the number of the iteration. NULL: there is none. */
static ct_op *loop_of(const ct_value *factor)
{
    int64_t step;
    const ct_op *loop = cg_counted_loop(factor, &step);
    bool is_plain = loop && step == 1 && bc_elem_kind(factor->type) == BC_I32 && loop->operands[0]->fact
                    && loop->operands[0]->fact->constant && loop->operands[0]->fact->value == 0;
    return is_plain ? (ct_op *)(uintptr_t)loop : NULL;
}

/* Replaces a term that decreases with a counter by one that increases with the remaining iterations and one that
   does not depend on the counter. */
static bool mirror(cg_func *c, const cg_term *t, bool cancels, cg_poly *out)
{
    ct_op *loop = NULL;
    uint32_t at = 0;
    while (at < t->count && !(loop = loop_of(t->factors[at])))
        at++;
    ct_value *left = loop ? find_left(loop) : NULL;
    if (loop && !left)
        left = put_left(c, loop);
    if (!left)
        return false;
    cg_term rest = *t;
    for (uint32_t i = at; i + 1 < rest.count; i++)
        rest.factors[i] = rest.factors[i + 1];
    rest.count--;
    const cg_poly others = {1, {rest}};
    const cg_term fewer = {.times = -1, .count = 1, .dim = CG_NO_DIM, .factors = {left}};
    ct_value *last = left->op->operands[0]->op->operands[0];
    cg_poly both = {1, {{.times = 1, .count = 1, .dim = CG_NO_DIM, .factors = {last}}}};
    cg_affine none = {0};
    if ((cancels && !cg_poly_of(&none, last, &both)) || !cg_poly_add_term(&both, &fewer))
        return false;
    return cg_poly_multiply(&others, &both, out);
}

bool cg_lift_mirror(cg_func *c, cg_poly *p, bool cancels)
{
    cg_poly sum = {0}, more;
    for (uint32_t i = 0; i < p->count; i++) {
        const cg_term *t = &p->terms[i];
        bool falls = t->times < 0 && t->dim == CG_NO_DIM && mirror(c, t, cancels, &more);
        if (falls ? !cg_poly_add(&sum, &more, 1) : !cg_poly_add_term(&sum, t))
            return false;
    }
    *p = sum;
    return true;
}
