/* Products of a pair of thread blocks, which have the ranks 0 and 1 in their cluster. The first one, the leader, issues
   the instructions, which read the operands of both blocks and write the tensor memory of both. Everything that both
   must have done before is known to the leader's issuer by a barrier of the leader (`ready`), by those of rings, at
   which the copies of both blocks arrive, or by those of chains (codegen/ops/chains.c), at which the warps of both do.
   What both must know afterwards is told by commits to the same barrier in each block. Source: PTX ISA, "Memory
   allocation ... cta_group", "CTA pair", "cp.async.bulk.tensor". */
#include "codegen/ops/tcgen05_pair.h"

#include "codegen/analysis/tensor.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

/* Offsets: of the barrier `ready` behind `done` and the address of the allocation; and behind it, of the one for
   products that run ahead, for which the other block makes way before it waits for the product that was issued last.
   The latter is for the end, too, which may be of another program. */
enum { READY = 16, OF_AHEAD = 8 };

struct cg_pair_state {
    cg_val first, leads; /* predicates: the thread is the first one of its block; it is the leader's first one */
    cg_val ready, other; /* the block's barrier; that of the other block */
    cg_val phase, ahead; /* the phases of `ready` that are awaited next */
    cg_val flip;         /* what changes in them when the leader has waited */
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
    cg_ins(c, "mbarrier.init.shared::cta.b64 [%v+%u], 1", barriers, READY + OF_AHEAD);
    for (uint32_t i = 0; i < 2 && c->tensor->flies && !cg_has_issuer(c); i++)
        cg_ins(c, "mbarrier.init.shared::cta.b64 [%v+%u], 1", barriers, CG_PAIR_BYTES + 8 * i);
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
    if (!s)
        return rank;
    *s = (struct cg_pair_state){.first = cg_new(c, CG_PRED),
                                .leads = cg_new(c, CG_PRED),
                                .ready = cg_new(c, CG_B32),
                                .other = cg_new(c, CG_B32),
                                .phase = cg_new(c, CG_B32),
                                .ahead = cg_new(c, CG_B32),
                                .flip = cg_new(c, CG_B32)};
    cg_ins(c, "mov.u32 %v, %%cluster_ctarank", rank);
    cg_ins(c, "or.b32 %v, %v, %v", either, rank, cg_tid(c));
    cg_ins(c, "setp.eq.u32 %v, %v, 0", s->first, cg_tid(c));
    cg_ins(c, "setp.eq.u32 %v, %v, 0", s->leads, either);
    cg_ins(c, "xor.b32 %v, %v, 1", others_rank, rank);
    cg_ins(c, "add.u32 %v, %v, %u", s->ready, barriers, READY);
    cg_ins(c, "mapa.shared::cluster.u32 %v, %v, %v", s->other, s->ready, others_rank);
    cg_ins(c, "mov.u32 %v, 0", s->phase);
    cg_ins(c, "mov.u32 %v, 0", s->ahead);
    cg_ins(c, "mov.b32 %v, %v", s->flip, others_rank);
    return s->leads;
}

static void arrive(cg_func *c, const struct cg_pair_state *s, cg_val who, uint32_t offset)
{
    cg_ins(c, "@%v mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%v+%u]", who, s->other, offset);
}

static void wait(cg_func *c, cg_val barrier, uint32_t offset, cg_val phase)
{
    uint32_t again = cg_label(c);
    cg_val done = cg_new(c, CG_PRED);
    cg_place_label(c, again);
    cg_ins(c, "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %v, [%v+%u], %v", done, barrier, offset, phase);
    cg_ins(c, "@!%v bra %l", done, again);
}

void cg_pair_ready(cg_func *c, bool ahead)
{
    const struct cg_pair_state *s = c->tensor->pair;
    uint32_t behind = cg_label(c), offset = ahead ? OF_AHEAD : 0;
    cg_val others = cg_new(c, CG_PRED), phase = ahead ? s->ahead : s->phase;
    cg_ins(c, "xor.pred %v, %v, %v", others, s->first, s->leads);
    arrive(c, s, others, offset);
    cg_ins(c, "@!%v bra %l", s->leads, behind);
    wait(c, s->ready, offset, phase);
    cg_place_label(c, behind);
    cg_ins(c, "bar.warp.sync 0xffffffff"); /* whole warps come to the next barrier */
    cg_ins(c, "xor.b32 %v, %v, %v", phase, phase, s->flip);
}

void cg_pair_end(cg_func *c)
{
    const struct cg_pair_state *s = c->tensor->pair;
    arrive(c, s, s->first, OF_AHEAD);
    wait(c, s->ready, OF_AHEAD, s->ahead);
}

bool cg_pair_passes_on(const cg_func *c, const cg_ring *ring)
{
    return cg_pair_shares(c, ring) && cg_ring_is_of_threads(ring);
}

uint32_t cg_pair_begin_first(cg_func *c)
{
    uint32_t others = cg_label(c);
    cg_ins(c, "@!%v bra %l", c->tensor->pair->first, others);
    return others;
}

void cg_pair_pass_on(cg_func *c, cg_val barrier)
{
    cg_ins(c, "@!%v mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%v]", c->tensor->pair->leads,
           cg_pair_leader(c, barrier));
}

void cg_pair_arrive(cg_func *c, cg_val barrier)
{
    cg_val lane = cg_new(c, CG_B32), arrives = cg_new(c, CG_PRED);
    cg_ins(c, "and.b32 %v, %v, 31", lane, cg_tid(c));
    cg_ins(c, "setp.eq.u32 %v, %v, 0", arrives, lane);
    cg_ins(c, "@%v mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%v]", arrives, cg_pair_leader(c, barrier));
}

void cg_pair_await(cg_func *c, cg_val barrier, cg_val phase)
{
    wait(c, barrier, 0, phase);
}
