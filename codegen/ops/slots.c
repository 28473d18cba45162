/* Slots of rings between groups of warps. */
#include "codegen/ops/slots.h"

#include "codegen/ptx/ptx.h"

cg_val cg_groups_slot(cg_func *c, const cg_ring *ring, cg_val number)
{
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", address, number, ring->slot_bytes, ring->base);
    return address;
}

cg_val cg_groups_barrier(cg_func *c, const cg_ring *ring, cg_val number, uint32_t offset)
{
    cg_val address = cg_new(c, CG_B32), at = cg_new(c, CG_B32);
    cg_ins(c, "mad.lo.u32 %v, %v, 8, %v", at, number, ring->full);
    if (!offset)
        return at;
    cg_ins(c, "add.u32 %v, %v, %u", address, at, offset);
    return address;
}

void cg_groups_free_last(cg_func *c, const cg_ring *ring)
{
    cg_val some = cg_new(c, CG_PRED), arrives = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", some, ring->freed);
    cg_ins(c, "and.pred %v, %v, %v", arrives, some, ring->arrives);
    cg_groups_arrive(c, ring, arrives, ring->freed);
}

void cg_groups_arrive(cg_func *c, const cg_ring *ring, cg_val arrives, cg_val barrier)
{
    cg_ins(c, "@%v mbarrier.arrive.%s.b64 _, [%v]", arrives, ring->to_all ? "shared::cluster" : "shared::cta", barrier);
}
