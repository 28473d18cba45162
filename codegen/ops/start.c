/* Fills the first slots of rings whose other slots the copy engine fills: until the tensor maps exist, threads copy.
   They start the copies of all these slots, and then hand each slot over as the copy engine would: by one arrival,
   after a fence that makes the threads' writes visible to products. Source: PTX ISA, "Async proxy",
   "cp.async.wait_group". */
#include "codegen/kernel/groups.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

/* The barriers of the filled slots in order, the latest one last, 0: none; the label at which the program continues
   when all copies are started. */
struct cg_starts_state {
    cg_val full[CG_MOST_STARTS];
    uint32_t landed;
    bool is_placed;
};

void cg_starts_begin(cg_func *c)
{
    cg_starts *starts = c->groups->starts;
    struct cg_starts_state *s = starts->state = bc_new(&c->arena, struct cg_starts_state, 1);
    if (!s)
        return;
    s->landed = cg_label(c);
    for (uint32_t i = 0; i < starts->count; i++) {
        s->full[i] = cg_new(c, CG_B32);
        cg_ins(c, "mov.u32 %v, 0", s->full[i]);
    }
}

uint32_t cg_starts_unless_done(cg_func *c, const cg_ring *ring)
{
    uint32_t behind = cg_label(c);
    cg_val done = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ge.u32 %v, %v, %u", done, ring->state->write, ring->at_start);
    cg_ins(c, "@%v bra.uni %l", done, behind);
    return behind;
}

void cg_assign_started(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

/* Shifts the filled slots by one place and appends the new one; once the first place is occupied, all slots are
   filled. */
void cg_lower_started(cg_func *c, const ct_op *op)
{
    const struct cg_starts_state *s = c->groups->starts->state;
    const uint32_t count = c->groups->starts->count;
    const cg_ring *ring = cg_ring_of(op, 0);
    uint32_t behind = cg_starts_unless_done(c, ring);
    cg_val all = cg_new(c, CG_PRED);
    cg_ins(c, "cp.async.commit_group");
    for (uint32_t i = 0; i + 1 < count; i++)
        cg_ins(c, "mov.u32 %v, %v", s->full[i], s->full[i + 1]);
    cg_ins(c, "mov.u32 %v, %v", s->full[count - 1], cg_groups_barrier(c, ring, ring->state->write, 0));
    cg_ins(c, "add.u32 %v, %v, 1", ring->state->write, ring->state->write);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", all, s->full[0]);
    cg_ins(c, "@%v bra.uni %l", all, s->landed);
    cg_place_label(c, behind);
}

void cg_assign_landed(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

/* Skips slots that were not filled: they have no copies to await. */
void cg_lower_landed(cg_func *c, const ct_op *op)
{
    (void)op;
    struct cg_starts_state *s = c->groups->starts->state;
    const uint32_t count = c->groups->starts->count;
    if (!s->is_placed)
        cg_place_label(c, s->landed);
    s->is_placed = true;
    cg_val is_first = cg_new(c, CG_PRED);
    cg_ins(c, "setp.eq.u32 %v, %v, 0", is_first, cg_tid(c));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = cg_label(c);
        cg_val none = cg_new(c, CG_PRED);
        cg_ins(c, "setp.eq.u32 %v, %v, 0", none, s->full[i]);
        cg_ins(c, "@%v bra.uni %l", none, next);
        cg_ins(c, "cp.async.wait_group %u", count - 1 - i);
        cg_ins(c, "fence.proxy.async.shared::cta");
        cg_barrier(c);
        cg_ins(c, "@%v mbarrier.arrive.shared::cta.b64 _, [%v]", is_first, s->full[i]);
        cg_place_label(c, next);
    }
}
