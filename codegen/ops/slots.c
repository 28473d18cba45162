/* Slots of rings between groups of warps. */
#include "codegen/ops/slots.h"

#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"

cg_val cg_tile_in_slot(const ct_op *staged)
{
    const cg_ring *ring = ct_ring_of(staged)->op->detail;
    return ring->state ? ring->state->tiles[(const cg_ring_load *)staged->detail - ring->loads] : (cg_val){0};
}

void cg_await_phase(cg_func *c, cg_val barrier, cg_val phase)
{
    uint32_t again = cg_label(c);
    cg_val done = cg_new(c, CG_PRED);
    cg_place_label(c, again);
    cg_ins(c, "mbarrier.try_wait.parity.shared::cta.b64 %v, [%v], %v", done, barrier, phase);
    cg_ins(c, "@!%v bra %l", done, again);
}

cg_val cg_groups_slot(cg_func *c, const cg_ring *ring, cg_val number)
{
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", address, number, ring->slot_bytes, ring->state->base);
    return address;
}

cg_val cg_groups_barrier(cg_func *c, const cg_ring *ring, cg_val number, uint32_t offset)
{
    cg_val address = cg_new(c, CG_B32), at = cg_new(c, CG_B32);
    cg_ins(c, "mad.lo.u32 %v, %v, 8, %v", at, number, ring->state->full);
    if (!offset)
        return at;
    cg_ins(c, "add.u32 %v, %v, %u", address, at, offset);
    return address;
}

void cg_groups_free_last(cg_func *c, const cg_ring *ring)
{
    cg_val some = cg_new(c, CG_PRED), arrives = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", some, ring->state->freed);
    cg_ins(c, "and.pred %v, %v, %v", arrives, some, ring->state->arrives);
    cg_groups_arrive(c, ring, arrives, ring->state->freed);
}

void cg_groups_arrive(cg_func *c, const cg_ring *ring, cg_val arrives, cg_val barrier)
{
    cg_ins(c, "@%v mbarrier.arrive.%s.b64 _, [%v]", arrives, cg_ring_to_all(ring) ? "shared::cluster" : "shared::cta",
           barrier);
}

/* What products read behind tiles, and where scales leave places empty, is initialised once, although no sum that
   anybody loads depends on it, so that they read nothing that was never written. */
bool cg_ring_zero_gaps(cg_func *c, const cg_ring *ring)
{
    bool any = false;
    for (uint32_t i = 0; i < ring->load_count; i++) {
        const cg_ring_load *load = &ring->loads[i];
        if (!load->zero_bytes)
            continue;
        cg_store_zeros(c, ring->state->base,
                       (cg_zeros){load->zero_at, load->zero_bytes, ring->slots, ring->slot_bytes});
        any = true;
    }
    if (any)
        cg_ins(c, "fence.proxy.async.shared::cta");
    return any;
}
