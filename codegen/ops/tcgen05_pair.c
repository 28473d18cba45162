/* Products of a pair of thread blocks, which have the ranks 0 and 1 in their cluster. The first one, the leader, issues
   the instructions, which read the operands of both blocks and write the tensor memory of both. Everything that both
   must have done before is known to the leader's issuer by a barrier of the leader (`ready`), or by those of rings, at
   which the copies of both blocks arrive. What both must know afterwards is told by commits to the same barrier in each
   block. Source: PTX ISA, "Memory allocation ... cta_group", "CTA pair", "cp.async.bulk.tensor". */
#include "codegen/ops/tcgen05_pair.h"

#include "codegen/analysis/tensor.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

enum { READY = 16 /* offset behind the barrier `done` and the address of the allocation */ };

struct cg_pair_state {
    cg_val first, leads; /* predicates: the thread is the first one of its block; it is the leader's first one */
    cg_val ready, other; /* the block's barrier; that of the other block */
    cg_val phase, flip;  /* the phase of `ready` that is awaited next; what changes when the leader has waited */
};

bool cg_pair_shares(const cg_func *c, const cg_ring *ring)
{
    return c->paired && ring->end == CG_FREE_WHEN_MULTIPLIED;
}

cg_val cg_pair_leader(cg_func *c, cg_val barrier)
{
    cg_val leaders = cg_new(c, CG_B32);
    cg_ins(c, "mapa.shared::cluster.u32 %v, %v, 0", leaders, barrier);
    return leaders;
}

void cg_pair_init(cg_func *c, cg_val barriers)
{
    cg_ins(c, "mbarrier.init.shared::cta.b64 [%v], 1", barriers);
    cg_ins(c, "mbarrier.init.shared::cta.b64 [%v+%u], 1", barriers, READY);
    cg_ins(c, "fence.mbarrier_init.release.cluster");
}

void cg_pair_meet(cg_func *c)
{
    cg_ins(c, "barrier.cluster.arrive.release.aligned");
    cg_ins(c, "barrier.cluster.wait.acquire.aligned");
}

cg_val cg_pair_begin(cg_func *c, cg_val barriers)
{
    struct cg_pair_state *s = c->tensor->pair = bc_new(&c->arena, struct cg_pair_state, 1);
    if (!c->groups) { /* otherwise the blocks have met before the groups part */
        uint32_t others = cg_label(c);
        cg_val is_other = cg_new(c, CG_PRED);
        cg_ins(c, "setp.ne.u32 %v, %v, 0", is_other, cg_tid(c));
        cg_ins(c, "@%v bra %l", is_other, others);
        cg_pair_init(c, barriers);
        cg_place_label(c, others);
        cg_pair_meet(c);
    }
    cg_val rank = cg_new(c, CG_B32), either = cg_new(c, CG_B32), others_rank = cg_new(c, CG_B32);
    if (!s) {
        cg_no_memory(c);
        return rank;
    }
    *s = (struct cg_pair_state){cg_new(c, CG_PRED), cg_new(c, CG_PRED), cg_new(c, CG_B32),
                                cg_new(c, CG_B32),  cg_new(c, CG_B32),  cg_new(c, CG_B32)};
    cg_ins(c, "mov.u32 %v, %%cluster_ctarank", rank);
    cg_ins(c, "or.b32 %v, %v, %v", either, rank, cg_tid(c));
    cg_ins(c, "setp.eq.u32 %v, %v, 0", s->first, cg_tid(c));
    cg_ins(c, "setp.eq.u32 %v, %v, 0", s->leads, either);
    cg_ins(c, "xor.b32 %v, %v, 1", others_rank, rank);
    cg_ins(c, "add.u32 %v, %v, %u", s->ready, barriers, READY);
    cg_ins(c, "mapa.shared::cluster.u32 %v, %v, %v", s->other, s->ready, others_rank);
    cg_ins(c, "mov.u32 %v, 0", s->phase);
    cg_ins(c, "mov.b32 %v, %v", s->flip, others_rank);
    return s->leads;
}

static void arrive(cg_func *c, const struct cg_pair_state *s, cg_val who)
{
    cg_ins(c, "@%v mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%v]", who, s->other);
}

static void wait(cg_func *c, const struct cg_pair_state *s)
{
    uint32_t again = cg_label(c);
    cg_val done = cg_new(c, CG_PRED);
    cg_place_label(c, again);
    cg_ins(c, "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %v, [%v], %v", done, s->ready, s->phase);
    cg_ins(c, "@!%v bra %l", done, again);
}

void cg_pair_ready(cg_func *c)
{
    const struct cg_pair_state *s = c->tensor->pair;
    uint32_t behind = cg_label(c);
    cg_val others = cg_new(c, CG_PRED);
    cg_ins(c, "xor.pred %v, %v, %v", others, s->first, s->leads);
    arrive(c, s, others);
    cg_ins(c, "@!%v bra %l", s->leads, behind);
    wait(c, s);
    cg_place_label(c, behind);
    cg_ins(c, "bar.warp.sync 0xffffffff"); /* whole warps come to the next barrier */
    cg_ins(c, "xor.b32 %v, %v, %v", s->phase, s->phase, s->flip);
}

void cg_pair_end(cg_func *c)
{
    const struct cg_pair_state *s = c->tensor->pair;
    arrive(c, s, s->first);
    wait(c, s);
}
