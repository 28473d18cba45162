/* Products by tcgen05 in flight whose completion all threads await later; see the header. */
#include "codegen/ops/tcgen05_flight.h"

#include "codegen/ops/slots.h"
#include "codegen/ops/tcgen05.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

/* Two barriers tell the phases of products apart: a product is issued when all threads have met in its iteration, so
   they have waited for the last but one, which had the same barrier. */
static cg_val landing_of(cg_func *c, cg_val number)
{
    cg_val which = cg_new(c, CG_B32), at = cg_new(c, CG_B32), barrier = cg_new(c, CG_B32);
    cg_ins(c, "and.b32 %v, %v, 1", which, number);
    cg_ins(c, "mad.lo.u32 %v, %v, 8, %v", at, which, cg_tensor_state_of(c)->done);
    cg_ins(c, "add.u32 %v, %v, %u", barrier, at, (uint32_t)CG_TENSOR_BYTES);
    return barrier;
}

void cg_tcgen05_await_landing(cg_func *c, uint32_t back)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    uint32_t none = cg_label(c);
    cg_val some = cg_new(c, CG_PRED), number = cg_new(c, CG_B32), phase = cg_new(c, CG_B32);
    cg_ins(c, "setp.ge.u32 %v, %v, %u", some, s->begun, back);
    cg_ins(c, "@!%v bra.uni %l", some, none);
    cg_ins(c, "sub.u32 %v, %v, %u", number, s->begun, back);
    cg_ins(c, "bfe.u32 %v, %v, 1, 1", phase, number);
    cg_await_phase(c, landing_of(c, number), phase);
    cg_place_label(c, none);
}

void cg_tcgen05_leave_in_flight(cg_func *c)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    cg_tensor_commit(c, landing_of(c, s->begun), false);
    cg_ins(c, "add.u32 %v, %v, 1", s->begun, s->begun);
}
