/* What the files that lower products by tcgen05 share: the state of a program, and the rules of order; see the header.
   Source: PTX ISA, "tcgen05.fence", "mbarrier.arrive". */
#include "codegen/ops/tensor_state.h"

#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/values.h"

struct cg_tensor_state *cg_tensor_state_new(cg_func *c)
{
    struct cg_tensor_state *s = c->tensor->state = bc_new(&c->arena, struct cg_tensor_state, 1);
    if (!s)
        return NULL;
    s->base = cg_new(c, CG_B32);
    s->done = cg_new(c, CG_B32);
    return s;
}

uint32_t cg_tensor_begin_issuer(cg_func *c)
{
    cg_val issuer = cg_tensor_state_of(c)->issuer;
    uint32_t others = issuer.known ? 0 : cg_label(c);
    if (others)
        cg_ins(c, "@!%v bra %l", issuer, others);
    return others;
}

void cg_tensor_end_issuer(cg_func *c, uint32_t others)
{
    if (others)
        cg_place_label(c, others);
}

void cg_tensor_release(cg_func *c)
{
    cg_ins(c, "tcgen05.fence::before_thread_sync");
}

void cg_tensor_acquire(cg_func *c)
{
    cg_ins(c, "tcgen05.fence::after_thread_sync");
}

void cg_tensor_meet(cg_func *c, const ct_op *op)
{
    cg_tensor_release(c);
    cg_take_effect(c, op, CG_MEETS);
    cg_tensor_acquire(c);
}

void cg_tensor_arrive(cg_func *c, cg_val barrier)
{
    cg_val lane = cg_new(c, CG_B32), arrives = cg_new(c, CG_PRED);
    cg_ins(c, "and.b32 %v, %v, 31", lane, cg_tid(c));
    cg_ins(c, "setp.eq.u32 %v, %v, 0", arrives, lane);
    cg_ins(c, "@%v mbarrier.arrive.shared::cta.b64 _, [%v]", arrives, barrier);
}
