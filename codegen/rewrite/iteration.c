/* Repeats ops of loops for other iterations; see the header. Why it is right: the slice of a ring depends only on
   the loop's counter, values from outside, and the values that its sources have in that iteration, so that it gives the same results in front of the loop, or an
   iteration early, as in its own iteration (codegen/rewrite/slice.c, ahead.c); and a copy is executed only for
   iterations that exist. */
#include "codegen/rewrite/iteration.h"

#include "codegen/rewrite/ring.h"

/* Gives v all layouts of the other value. */
static void lie_alike(cg_func *c, const ct_value *v, const ct_value *like)
{
    cg_value *to = cg_value_of(c, v);
    *to = *cg_value_of(c, like);
    for (cg_variant **at = &to->variants; *at; at = &(*at)->next) {
        cg_variant *variant = bc_new(&c->arena, cg_variant, 1);
        if (!variant) {
            cg_no_memory(c);
            return;
        }
        *variant = **at;
        *at = variant;
    }
}

bool cg_iteration_at(cg_func *c, const ct_op *loop, ct_value *start, uint32_t n, ct_op *place, cg_iteration *out)
{
    *out = (cg_iteration){.later = loop ? cg_later_new(c, loop, start, n) : NULL};
    if ((loop && !out->later) || !ct_map_new(c->ir, &out->map)) {
        cg_no_memory(c);
        return false;
    }
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

void cg_iteration_slice(cg_func *c, cg_iteration *it, const cg_ring *ring, const ct_block *body, ct_op *place)
{
    for (ct_op *op = body->first; op && !c->failed; op = ct_next_op(op, body)) {
        if (!cg_is_in_slice(ring, op))
            continue;
        ct_op *clone = ct_clone(c->ir, op, &it->map);
        if (!clone) {
            cg_no_memory(c);
            return;
        }
        for (uint32_t i = 0; i < op->operand_count; i++)
            clone->uses[i].read = op->uses[i].read;
        if (c->values)
            lie_alike(c, &clone->results[0], &op->results[0]);
        ct_insert_before(clone, place);
    }
}

ct_op *cg_put_copy(cg_func *c, const cg_ring_copy *how, ct_value *ring, const cg_iteration *it, ct_value *whether,
                   ct_op *place)
{
    const ct_op *load = how->load->op;
    uint32_t count = load->from->operand_count;
    ct_op *op = ct_op_new(c->ir, CT_copy, load, count + 1 + (whether != NULL), 0);
    cg_ring_copy *copy = bc_new(c->ir->arena, cg_ring_copy, 1);
    if (!op || !copy) {
        cg_no_memory(c);
        return NULL;
    }
    *copy = *how;
    op->detail = copy;
    for (uint32_t i = 0; i < count; i++) {
        ct_value *v = load->operands[i], *to = it && v->id < it->map.count ? it->map.to[v->id] : NULL;
        ct_set_operand(op, i, to ? to : v);
    }
    ct_set_operand(op, count, ring);
    if (whether)
        ct_set_operand(op, count + 1, whether);
    ct_insert_before(op, place);
    return op;
}
