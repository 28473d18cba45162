/* When products by tcgen05 are complete; see the header. Source: PTX ISA, "tcgen05.commit". */
#include "codegen/ops/tcgen05_flight.h"

#include "codegen/ops/slots.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

static const char commit[] = "mbarrier::arrive::one.shared::cluster";

void cg_tensor_commit(cg_func *c, cg_val barrier, bool to_all)
{
    cg_val issuer = cg_tensor_state_of(c)->issuer;
    if (!to_all && !c->paired && issuer.known) {
        cg_ins(c, "tcgen05.commit.cta_group::1.%s.b64 [%v]", commit, barrier);
        return;
    }
    if (!to_all && !c->paired) {
        cg_ins(c, "@%v tcgen05.commit.cta_group::1.%s.b64 [%v]", issuer, commit, barrier);
        return;
    }
    cg_val blocks = cg_new(c, CG_B16);
    cg_ins(c, "mov.b16 %v, %u", blocks, (1u << c->cluster) - 1);
    cg_ins(c, "@%v tcgen05.commit.cta_group::%u.%s.multicast::cluster.b64 [%v], %v", cg_reg(c, issuer),
           cg_tensor_blocks(c), commit, barrier, blocks);
}

static void commit_done(cg_func *c, cg_val barrier)
{
    if (c->paired)
        cg_tensor_commit(c, barrier, true);
    else
        cg_ins(c, "tcgen05.commit.cta_group::1.%s.b64 [%v]", commit, barrier);
}

void cg_tcgen05_commit_done(cg_func *c)
{
    commit_done(c, cg_tensor_state_of(c)->done);
    for (uint32_t tile = 1; tile < c->tensor->tiles; tile++) { /* of which other warps wait for their own */
        cg_val barrier = cg_new(c, CG_B32);
        cg_ins(c, "add.u32 %v, %v, %u", barrier, cg_tensor_state_of(c)->done, tile * CG_TENSOR_TILE_BYTES);
        commit_done(c, barrier);
    }
}

/* Two barriers tell the phases of products apart: a product is issued when all threads have met in its iteration, so
   they have waited for the last but one, which had the same barrier. */
static cg_val landing_of(cg_func *c, cg_val number)
{
    cg_val which = cg_new(c, CG_B32), at = cg_new(c, CG_B32), barrier = cg_new(c, CG_B32);
    cg_ins(c, "and.b32 %v, %v, 1", which, number);
    cg_ins(c, "mad.lo.u32 %v, %v, 8, %v", at, which, cg_tensor_state_of(c)->done);
    cg_ins(c, "add.u32 %v, %v, %u", barrier, at, cg_tensor_first_bytes(c));
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

void cg_tcgen05_await_done(cg_func *c)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    cg_await_phase(c, s->done, s->phase);
    cg_ins(c, "xor.b32 %v, %v, 1", s->phase, s->phase);
}

void cg_tcgen05_owe(cg_func *c)
{
    cg_ins(c, "mov.u32 %v, 1", cg_tensor_state_of(c)->owed);
}

void cg_tcgen05_await_owed(cg_func *c)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    uint32_t none = cg_label(c);
    cg_val some = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", some, s->owed);
    cg_ins(c, "@!%v bra.uni %l", some, none);
    cg_tcgen05_await_done(c);
    cg_ins(c, "mov.u32 %v, 0", s->owed);
    cg_place_label(c, none);
}
