/* Loads through pointers that no view describes, such as those of rows that a table finds, but whose elements follow
   each other in memory along a dimension where indices do not wrap around (`% extent`).

   Why it is right: a number from 0 to below the extent is its own remainder. That all are is checked at run time in
   front of the loop (lift_checks.c); the load then has the same pointers, the same mask and the same place. */
#include "codegen/analysis/order.h"
#include "codegen/kernel/remarks.h"
#include "codegen/lift/lift.h"

/* Removes the positions along a dimension with a stride of 1. CG_NO_DIM: there are none. */
static uint8_t drop_contiguous(cg_poly *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        cg_term t = p->terms[i];
        if (t.dim == CG_NO_DIM || t.times != 1 || t.count)
            continue;
        cg_lift_drop_term(p, i);
        return t.dim;
    }
    return CG_NO_DIM;
}

bool cg_lift_find_wrapped(ct_op *load, cg_lifted *out)
{
    if (load->opcode != OP_load_ptr_tko || !cg_is_weak_access(load)
        || !bc_kind_memory_bytes(bc_elem_kind(load->results[0].type))
        || !cg_lift_feeds_product(&load->results[0], true, CG_LIFT_SEEN))
        return false;
    *out = (cg_lifted){.load = load, .affine = {.wraps = true}, .unwraps = true};
    if (!cg_pointers_of(&out->affine, ct_operand(load, F_load_ptr_tko_source), &out->base, &out->rest))
        return false;
    uint8_t along = drop_contiguous(&out->rest);
    for (uint32_t i = 0; along != CG_NO_DIM && i < out->affine.wrapped_count; i++) {
        cg_poly x = out->affine.wrapped[i].x;
        out->inside |= (uint32_t)(cg_lift_is_positive(&x) && drop_contiguous(&x) == along) << i;
    }
    out->byte_bits = cg_lift_known_bits(out);
    return out->inside && out->byte_bits >= CG_LIFT_LEAST_BITS && cg_lift_chunk_bits(out);
}

typedef struct unwrapping {
    ct_builder b;
    ct_map map; /* remainders to their dividends, and results of ops to those of their copies */
    bool *seen; /* values by id: their ops are copied if they depend on a remainder */
} unwrapping;

/* The value with dividends in place of remainders. Pure ops that read these are copied in front of the load. */
static ct_value *put_value(unwrapping *x, ct_value *v)
{
    const ct_op *op = v->op;
    bool differs = false;
    if (!op || x->seen[v->id] || !ct_is_pure(op) || op->result_count != 1 || op->region_count)
        return ct_mapped(&x->map, v);
    x->seen[v->id] = true;
    for (uint32_t i = 0; i < op->operand_count; i++)
        differs = put_value(x, op->operands[i]) != op->operands[i] || differs;
    ct_op *copy = differs && !x->b.failed ? ct_clone(x->b.f, op, &x->map) : NULL;
    x->b.failed = x->b.failed || (differs && !copy);
    if (copy)
        ct_insert_before(copy, x->b.place);
    return ct_mapped(&x->map, v);
}

void cg_lift_unwrap(cg_func *c, const cg_lifted *l)
{
    unwrapping x = {.b = {c->ir, l->load, false}};
    if (!ct_map_new(c->ir, &x.map) || !(x.seen = bc_new(&c->arena, bool, x.map.count)))
        return;
    for (uint32_t i = 0; i < l->affine.wrapped_count; i++)
        if (l->inside >> i & 1) {
            const ct_op *remainder = l->affine.wrapped[i].op;
            ct_map_set(&x.map, &remainder->results[0], remainder->operands[0]);
            x.seen[remainder->results[0].id] = true;
        }
    ct_value *pointers = put_value(&x, ct_operand(l->load, F_load_ptr_tko_source));
    if (x.b.failed)
        return;
    ct_set_operand(l->load, ct_operand_range(l->load, F_load_ptr_tko_source).first, pointers);
    cg_remark(c, l->load, CG_REMARK_Lifted, TV_REMARK_PASSED, "{What=%s}: loaded without them",
              "its indices modulo an extent stay below it");
}
