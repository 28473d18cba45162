/* The kernel's tensor memory: one warp allocates it when the kernel begins, and frees it when all threads have read the
   last sum. Source: PTX ISA, "tcgen05.alloc", "mbarrier.init". */
#include "codegen/ops/hooks.h"
#include "codegen/ops/tcgen05_pair.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/values.h"

void cg_assign_tensor(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_effects_tensor(cg_func *c, ct_op *op)
{
    if (!cg_has_issuer(c))
        cg_add_effect(c, op, CG_MEETS);
}

void cg_tensor_allocate(cg_func *c)
{
    cg_val at = cg_tensor_state_of(c)->done;
    cg_ins(c, "tcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 [%v+8], %u", cg_tensor_blocks(c), at,
           c->tensor->columns);
    cg_ins(c, "tcgen05.relinquish_alloc_permit.cta_group::%u.sync.aligned", cg_tensor_blocks(c));
}

void cg_tensor_memory(cg_func *c)
{
    cg_ins(c, "mov.u32 %v, tv_tensor", cg_tensor_state_of(c)->done);
}

void cg_tensor_address(cg_func *c, cg_val address)
{
    cg_ins(c, "ld.shared.u32 %v, [%v+8]", address, cg_tensor_state_of(c)->done);
}

void cg_tensor_free(cg_func *c, cg_val address)
{
    cg_ins(c, "tcgen05.dealloc.cta_group::%u.sync.aligned.b32 %v, %u", cg_tensor_blocks(c), address,
           c->tensor->columns);
}

/* Only the first warp executes what follows, up to the label. */
static uint32_t begin_first_warp(cg_func *c)
{
    uint32_t others = cg_label(c);
    cg_leave_from(c, cg_tid(c), 1u << CG_LANE_BITS, others);
    return others;
}

/* One warp allocates; the address comes through shared memory. */
void cg_tensor_begin(cg_func *c, const ct_op *op)
{
    struct cg_tensor_state *s = cg_tensor_state_new(c);
    if (!s)
        return;
    s->issuer = cg_new(c, CG_PRED);
    s->phase = cg_new(c, CG_B32);
    if (!c->paired)
        cg_ins(c, "setp.eq.u32 %v, %v, 0", s->issuer, cg_tid(c));
    cg_tensor_memory(c);
    cg_ins(c, "mov.u32 %v, 0", s->phase);
    if (c->tensor->flies) {
        s->begun = cg_new(c, CG_B32);
        cg_ins(c, "mov.u32 %v, 0", s->begun);
    }
    if (c->tensor->is_late) {
        s->owed = cg_new(c, CG_B32);
        cg_ins(c, "mov.u32 %v, 0", s->owed);
    }
    if (c->paired)
        s->issuer = cg_pair_begin(c, s->done);
    uint32_t others = begin_first_warp(c);
    if (!c->paired) {
        cg_ins(c, "@%v mbarrier.init.shared::cta.b64 [%v], 1", s->issuer, s->done);
        for (uint32_t i = 0; i < 2 && c->tensor->flies; i++)
            cg_ins(c, "@%v mbarrier.init.shared::cta.b64 [%v+%u], 1", s->issuer, s->done, CG_TENSOR_BYTES + 8 * i);
        cg_ins(c, "@%v fence.mbarrier_init.release.cluster", s->issuer);
    }
    cg_tensor_allocate(c);
    cg_place_label(c, others);
    cg_take_effect(c, op, CG_MEETS); /* the address is there */
    cg_tensor_address(c, s->base);
}

void cg_assign_tensor_end(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_effects_tensor_end(cg_func *c, ct_op *op)
{
    if (!cg_has_issuer(c))
        cg_add_effect(c, op, CG_MEETS);
}

/* The same warp frees it when all threads have read the last sum. */
void cg_tensor_end(cg_func *c, const ct_op *op)
{
    cg_tensor_meet(c, op);
    uint32_t others = begin_first_warp(c);
    if (c->paired) /* for both blocks, which have to be done */
        cg_pair_end(c);
    cg_tensor_free(c, cg_tensor_state_of(c)->base);
    cg_place_label(c, others);
}
