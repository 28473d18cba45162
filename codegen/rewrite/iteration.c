/* Repeats ops of loops for other iterations; see the header. Why it is right: what is repeated depends only on the
   loop's counter, on values that the loop passes on, and on values from outside, so that it gives the same results in
   front of the loop, or an iteration early, as in its own iteration (codegen/rewrite/slice.c,
   codegen/plan/early_find.c, ahead.c). */
#include "codegen/rewrite/iteration.h"

#include "codegen/rewrite/ring.h"
#include "codegen/tile/build.h"

/* Gives v all layouts of the other value. */
static void lie_alike(cg_func *c, const ct_value *v, const ct_value *like)
{
    cg_value *to = cg_value_of(c, v);
    *to = *cg_value_of(c, like);
    for (cg_variant **at = &to->variants; *at; at = &(*at)->next) {
        cg_variant *variant = bc_new(&c->arena, cg_variant, 1);
        if (!variant)
            return;
        *variant = **at;
        *at = variant;
    }
}

bool cg_iteration_at(cg_func *c, const ct_op *loop, ct_value *start, uint32_t n, ct_op *place, cg_iteration *out)
{
    *out = (cg_iteration){.loop = loop, .later = loop ? cg_later_new(c, loop, start, n) : NULL, .ahead = n};
    if ((loop && !out->later) || !ct_map_new(c->ir, &out->map))
        return false;
    if (!loop)
        return true;
    const ct_value *counter = &loop->regions[0]->args[0];
    for (uint32_t i = 0; c->values && i < out->later->result_count; i++)
        lie_alike(c, &out->later->results[i], counter);
    ct_insert_before(out->later, place);
    ct_map_set(&out->map, counter, &out->later->results[0]);
    out->exists = &out->later->results[1];
    return true;
}

ct_op *cg_iteration_repeat(cg_func *c, cg_iteration *it, const ct_op *op, ct_op *place)
{
    ct_op *clone = ct_clone(c->ir, op, &it->map);
    if (!clone)
        return NULL;
    for (uint32_t i = 0; i < op->operand_count; i++)
        clone->uses[i].read = op->uses[i].read;
    for (uint32_t i = 0; c->values && i < op->result_count; i++)
        lie_alike(c, &clone->results[i], &op->results[i]);
    ct_insert_before(clone, place);
    return clone;
}

/* The token that an op of the loop is ordered after if it stands at `place`: the ordering that the loop carries, in
   front of the loop or inside it. It need not be ordered after the token that it consumes within the iteration: nothing
   there holds it back (codegen/analysis/order.h). NULL: out of memory. */
static ct_value *token_at(cg_func *c, const ct_op *loop, const bc_type *type, ct_op *place)
{
    const ct_block *body = loop->regions[0];
    bool inside = ct_is_inside(place->block, body);
    ct_value *token = NULL;
    ct_builder b = {c->ir, place, false};
    for (uint32_t i = 1; i < body->arg_count && !b.failed; i++) {
        ct_value *next = inside ? &body->args[i] : loop->operands[ct_first_carried(loop) + i - 1];
        if (next->type->kind != BC_TOKEN || next == token)
            continue;
        token = !token
                    ? next
                    : ct_build_op(&b, ct_made_new(c->ir, OP_join_tokens, loop, type, (ct_value *[]){token, next}, 2));
    }
    return token || b.failed ? token : ct_build_op(&b, ct_token_new(c->ir, loop, type));
}

bool cg_is_carried(const ct_value *v, const ct_block *body)
{
    return !v->op && v->block == body && v->number > 0;
}

/* The value of what the loop carries: what each iteration in between passes on for it is what the next one carries, up
   to a value of the iteration in which this one is seen, or to an initial value. NULL: an iteration in between would
   have to compute it. */
static ct_value *carried_value(cg_func *c, cg_iteration *it, ct_value *v, ct_op *place)
{
    const ct_block *body = it->loop->regions[0];
    uint32_t left = it->ahead;
    for (; left && cg_is_carried(v, body); left--)
        v = body->last->operands[v->number - 1];
    if (left)
        return NULL;
    if (it->before)
        return cg_iteration_value(c, it->before, v, place);
    if (!it->later)
        return v;
    return cg_is_carried(v, body) ? it->loop->operands[ct_first_carried(it->loop) + v->number - 1] : NULL;
}

ct_value *cg_iteration_value(cg_func *c, cg_iteration *it, ct_value *v, ct_op *place)
{
    const ct_block *body = it->loop->regions[0];
    ct_value *to = ct_mapped(&it->map, v);
    if (to != v || !ct_is_inside(v->block, body))
        return to;
    if (v->type->kind == BC_TOKEN) {
        to = token_at(c, it->loop, v->type, place);
    } else if (!v->op) {
        to = carried_value(c, it, v, place);
    } else {
        bool has = true;
        for (uint32_t i = 0; i < v->op->operand_count && has; i++)
            has = cg_iteration_value(c, it, v->op->operands[i], place);
        return has && cg_iteration_repeat(c, it, v->op, place) ? ct_mapped(&it->map, v) : NULL;
    }
    if (to)
        ct_map_set(&it->map, v, to);
    return to;
}

ct_op *cg_put_copy(cg_func *c, const cg_ring_copy *how, ct_value *ring, const cg_iteration *it, ct_value *whether,
                   ct_op *place)
{
    const ct_op *load = how->load->op;
    uint32_t count = load->from->operand_count;
    ct_op *op = ct_op_new(c->ir, CT_copy, load, count + 1 + (whether != NULL), 0);
    cg_ring_copy *copy = bc_new(c->ir->arena, cg_ring_copy, 1);
    if (!op || !copy)
        return NULL;
    *copy = *how;
    op->detail = copy;
    for (uint32_t i = 0; i < count; i++)
        ct_set_operand(op, i, it ? ct_mapped(&it->map, load->operands[i]) : load->operands[i]);
    ct_set_operand(op, count, ring);
    if (whether)
        ct_set_operand(op, count + 1, whether);
    ct_insert_before(op, place);
    return op;
}
