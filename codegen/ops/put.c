/* Tiles that go to a ring between groups through the producers' registers, since copies do not round (a product's left
   operand, of f32 for tf32). An iteration puts what the one before has fetched, into the slot of then: loads are on
   their way for a whole iteration. A slot's barrier counts two arrivals of each thread then, the second one here. */
#include "codegen/access/view_vectors.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* ---- to registers ---- */

void cg_assign_fetch(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

static void fetch_vector(cg_func *c, void *user, const cg_tile_vector *vector)
{
    const cg_val *fetched = user;
    cg_val loaded[CG_MAX_VECTOR];
    cg_access a = {.kind = BC_F32,
                   .space = "global",
                   .order = "",
                   .address = vector->address,
                   .offset = vector->offset,
                   .predicate = vector->inside};
    cg_load_vector(c, &a, vector->count, NULL, loaded);
    for (uint32_t i = 0; i < vector->count; i++)
        cg_ins(c, "mov.b32 %v, %v", fetched[vector->reg[i]], loaded[i]);
}

/* Every `fetch` of a ring loads to the same registers. */
static bool make_registers(cg_func *c, cg_ring *ring, const cg_layout *l)
{
    if (ring->fetched)
        return true;
    ring->fetched = cg_vals(c, cg_layout_regs(l));
    for (uint32_t i = 0; ring->fetched && i < cg_layout_regs(l); i++)
        ring->fetched[i] = cg_new(c, cg_class_of(BC_F32));
    ring->put_to = cg_new(c, CG_B32);
    return ring->fetched;
}

void cg_lower_fetch(cg_func *c, const ct_op *op)
{
    const cg_ring_copy *copy = op->detail;
    cg_ring *ring = cg_ring_of(op, op->from->operand_count);
    const cg_layout *l = &copy->load->layout;
    cg_view_op v = cg_view_op_of(op);
    v.in_turn = true;
    v.cursor = copy->cursor ? &copy->cursor->at : NULL;
    if (!make_registers(c, ring, l))
        return;
    cg_view_vectors(c, &v, l, cg_chunk_bits(v.tile_type), NULL, ring->fetched, fetch_vector);
    if (copy->cursor)
        cg_cursor_advance(c, &copy->cursor->at);
    cg_ins(c, "add.u32 %v, %v, %u", ring->put_to, cg_groups_slot(c, ring, ring->write), copy->load->offset);
    cg_ins(c, "mov.u32 %v, %v", ring->put_full, cg_groups_barrier(c, ring, ring->write, 0));
}

/* ---- from registers ---- */

void cg_assign_put(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

static const cg_ring_load *load_that_is_put(const cg_ring *ring)
{
    const cg_ring_load *load = ring->loads;
    while (!load->is_put)
        load++;
    return load;
}

void cg_lower_put(cg_func *c, const ct_op *op)
{
    cg_ring *ring = cg_ring_of(op, 0);
    const cg_ring_load *load = load_that_is_put(ring);
    const cg_layout *l = &load->layout;
    cg_encoding encoding = load->encoding;
    cg_val *rounded = cg_vals(c, cg_layout_regs(l)), some = cg_new(c, CG_PRED);
    uint32_t behind = cg_label(c);
    if (!rounded || !make_registers(c, ring, l))
        return;
    cg_ins(c, "setp.ne.u32 %v, %v, 0", some, ring->put_full);
    cg_ins(c, "@!%v bra.uni %l", some, behind);
    for (uint32_t i = 0; i < cg_layout_regs(l); i++) {
        rounded[i] = cg_new(c, CG_B32);
        cg_ins(c, "cvt.rn.tf32.f32 %v, %v", rounded[i], ring->fetched[i]);
    }
    encoding.base = ring->put_to;
    cg_encode(c, &encoding, BC_F32, l, rounded, 0, 0);
    cg_ins(c, "mbarrier.arrive.shared::cta.b64 _, [%v]", ring->put_full);
    cg_ins(c, "mov.u32 %v, 0", ring->put_full);
    cg_place_label(c, behind);
}
