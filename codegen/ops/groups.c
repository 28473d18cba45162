/* Groups of warps, and rings between them. A slot has two barriers in shared memory (mbarrier): `full`, at which the
   copies of every producer thread arrive, and `empty`, at which one thread of each consumer warp arrives. Each is
   waited for by the parity of its phase, which changes whenever the ring has gone round. Source: PTX ISA, "mbarrier",
   "cp.async.mbarrier.arrive", "setmaxnreg". */
#include "codegen/kernel/groups.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/slots.h"
#include "codegen/ops/tcgen05_flight.h"
#include "codegen/ops/tcgen05_pair.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ops/turns.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* ---- the groups ---- */

void cg_assign_groups(cg_func *c, const ct_op *op)
{
    uint32_t warp_bits = c->warp_bits;
    cg_assign_block(c, op->regions[CG_CONSUMERS]);
    c->homes->remakes = true;         /* scratch and its barriers are the consumers' */
    if (op->region_count > CG_ISSUER) /* its sums have the layouts of those who take them */
        cg_assign_block(c, op->regions[CG_ISSUER]);
    if (op->region_count > CG_CORRECTORS)
        cg_assign_block(c, op->regions[CG_CORRECTORS]);
    c->warp_bits = CG_PRODUCER_WARP_BITS;
    cg_assign_block(c, op->regions[CG_PRODUCERS]);
    c->warp_bits = CG_STARTER_WARP_BITS;
    if (op->region_count > CG_STARTERS && op->regions[CG_STARTERS])
        cg_assign_block(c, op->regions[CG_STARTERS]);
    c->homes->remakes = false;
    c->warp_bits = warp_bits;
}

static void set_registers(cg_func *c, const char *way, uint32_t count)
{
    if (count)
        cg_ins(c, "setmaxnreg.%s.sync.aligned.u32 %u", way, count);
}

static void init_barriers(cg_func *c, const cg_ring *ring)
{
    /* arrivals of a thread: one when its copies are complete, and one when it has written back the other tiles; with
       maps, one thread announces the bytes, and those that copy other tiles arrive */
    uint32_t of_copiers = cg_ring_is_of_threads(ring) ? CG_STARTER_THREADS : 0,
             full = ring->role == CG_RING_OF_MAPS ? 1 + of_copiers : CG_PRODUCER_THREADS * (cg_ring_puts(ring) ? 2 : 1);
    uint32_t of_block = ring->end == CG_FREE_WHEN_MULTIPLIED ? 1 : cg_threads(c) >> CG_LANE_BITS;
    uint32_t empty = of_block * (cg_ring_to_all(ring) ? c->cluster : 1);
    bool passes_on = cg_pair_passes_on(c, ring);
    cg_val of_pair = passes_on ? cg_new(c, CG_B32) : (cg_val){0};
    if (passes_on) /* the leader's has one arrival for those of the other block, where no bytes are announced */
        cg_ins(c, "selp.b32 %v, %u, %u, %v", of_pair, full + 1, of_copiers, ring->state->leads);
    for (uint32_t i = 0; i < ring->slots; i++) {
        if (passes_on)
            cg_ins(c, "mbarrier.init.shared::cta.b64 [%v+%u], %v", ring->state->full, 8 * i, of_pair);
        else
            cg_ins(c, "mbarrier.init.shared::cta.b64 [%v+%u], %u", ring->state->full, 8 * i, full);
        cg_ins(c, "mbarrier.init.shared::cta.b64 [%v+%u], %u", ring->state->full, 8 * (ring->slots + i), empty);
    }
}

/* Initialises the barriers of all rings, which are in front of the groups, in one branch: for each separate
   condition, ptxas would emit a branch and a fence. */
static void init_rings(cg_func *c, const ct_op *groups)
{
    uint32_t others = cg_label(c);
    cg_val is_other = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", is_other, cg_tid(c));
    cg_ins(c, "@%v bra %l", is_other, others);
    for (const ct_op *op = groups->prev; op && op->opcode == CT_ring; op = op->prev)
        init_barriers(c, op->detail);
    bool issues = c->tensor && cg_has_issuer(c);
    if (c->paired || issues) {
        cg_val barriers = cg_new(c, CG_B32);
        cg_ins(c, "mov.u32 %v, tv_tensor", barriers);
        if (issues)
            cg_turns_init(c, barriers);
        if (c->paired)
            cg_pair_init(c, barriers);
    }
    cg_place_label(c, others);
    for (const ct_op *op = groups->prev; op && op->opcode == CT_ring; op = op->prev)
        cg_ring_zero_gaps(c, op->detail);
}

/* Makes the initialised barriers of all rings visible, to the copy engine, too, and to all blocks that copies or
   consumers reach. */
static void meet(cg_func *c, const cg_groups *groups)
{
    if (groups->by_maps)
        cg_ins(c, "fence.mbarrier_init.release.cluster");
    if (groups->to_all || c->paired)
        cg_pair_meet(c);
    else
        cg_ins(c, "bar.sync 0");
}

/* Lowers the program of one group, whose threads are numbered from 0. */
static void lower_group(cg_func *c, const ct_block *program, uint32_t warp_bits, cg_val thread)
{
    struct cg_thread *thread_before = c->thread;
    uint32_t warp_bits_before = c->warp_bits;
    c->warp_bits = warp_bits;
    cg_thread_begin(c, thread);
    cg_shared_group(c, 1);
    cg_block(c, program);
    cg_shared_group(c, 0);
    c->warp_bits = warp_bits_before;
    c->thread = thread_before;
}

/* A program whose sums have the layouts of the consumers' warps; first: its first thread. */
static void lower_on_sums(cg_func *c, const ct_block *program, cg_val thread, uint32_t first)
{
    cg_val own = cg_new(c, CG_B32);
    cg_ins_first(c, "sub.u32 %v, %v, %u", own, thread, first);
    lower_group(c, program, c->warp_bits, own);
}

static void lower_starters(cg_func *c, const ct_block *program, cg_val thread)
{
    enum { FIRST = 1 << CG_LANE_BITS };
    cg_val own = cg_new(c, CG_B32);
    cg_leave_from(c, thread, FIRST + CG_STARTER_THREADS, 0);
    cg_ins_first(c, "sub.u32 %v, %v, %u", own, thread, FIRST);
    if (c->groups->starts)
        cg_starts_begin(c);
    lower_group(c, program, CG_STARTER_WARP_BITS, own);
}

void cg_lower_groups(cg_func *c, const ct_op *op)
{
    const cg_groups *groups = op->detail;
    const ct_block *starts = op->region_count > CG_STARTERS ? op->regions[CG_STARTERS] : NULL,
                   *issues = op->region_count > CG_ISSUER ? op->regions[CG_ISSUER] : NULL,
                   *corrects = op->region_count > CG_CORRECTORS ? op->regions[CG_CORRECTORS] : NULL;
    uint32_t producers = cg_label(c), starters = 0, issuer = 0, correctors = 0;
    if (starts)
        starters = cg_label(c);
    if (issues)
        issuer = cg_label(c);
    if (corrects)
        correctors = cg_label(c);
    cg_val is_producer = cg_new(c, CG_PRED), own = cg_new(c, CG_B32);
    cg_ins(c, "setp.ge.u32 %v, %v, %u", is_producer, cg_tid(c), cg_threads(c));
    init_rings(c, op);
    meet(c, groups);
    cg_ins(c, "@%v bra.uni %l", is_producer, producers);
    set_registers(c, "inc", groups->consumers);
    cg_block(c, op->regions[CG_CONSUMERS]);
    cg_place_label(c, producers);
    cg_ins_first(c, "sub.u32 %v, %v, %u", own, cg_tid(c), cg_threads(c));
    if (correctors)
        cg_leave_from(c, own, CG_PRODUCER_THREADS, correctors);
    set_registers(c, "dec", groups->producers);
    if (issuer)
        cg_leave_from(c, own, CG_ISSUER_WARP << CG_LANE_BITS, issuer);
    if (groups->by_maps)
        cg_leave_from(c, own, 1u << CG_LANE_BITS, starters);
    lower_group(c, op->regions[CG_PRODUCERS], CG_PRODUCER_WARP_BITS, own);
    if (starters) {
        cg_place_label(c, starters);
        lower_starters(c, starts, own);
    }
    if (issuer) {
        cg_place_label(c, issuer);
        lower_on_sums(c, issues, own, CG_ISSUER_WARP << CG_LANE_BITS);
    }
    if (correctors) {
        cg_place_label(c, correctors);
        set_registers(c, "dec", groups->correctors);
        lower_on_sums(c, corrects, own, CG_PRODUCER_THREADS);
    }
}

/* ---- rings ---- */

static cg_val register_of(cg_func *c, uint32_t value)
{
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, %u", r, value);
    return r;
}

/* The first lane of a consumer warp signals that a slot is free. If blocks write to each other's slots, as many
   lanes as there are blocks signal, each to one block. */
static void find_arrivals(cg_func *c, cg_ring *ring, cg_val lane)
{
    ring->state->empty = ring->state->full;
    if (!cg_ring_to_all(ring)) {
        cg_ins(c, "setp.eq.u32 %v, %v, 0", ring->state->arrives, lane);
        return;
    }
    cg_val block = cg_new(c, CG_B32);
    ring->state->empty = cg_new(c, CG_B32);
    cg_ins(c, "setp.lt.u32 %v, %v, %u", ring->state->arrives, lane, c->cluster);
    cg_ins(c, "min.u32 %v, %v, %u", block, lane, c->cluster - 1);
    cg_ins(c, "mapa.shared::cluster.u32 %v, %v, %v", ring->state->empty, ring->state->full, block);
}

void cg_groups_ring(cg_func *c, cg_ring *ring)
{
    ring->state->base = cg_new(c, CG_B32);
    ring->state->full = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", ring->state->base, cg_ring_memory(c), ring->offset);
    cg_ins(c, "add.u32 %v, %v, %u", ring->state->full, cg_ring_memory(c), ring->barriers);
    ring->state->read = register_of(c, 0);
    ring->state->write = register_of(c, 0);
    ring->state->read_phase = register_of(c, 0);
    ring->state->write_phase = register_of(c, 1); /* slots that were never read are free */
    ring->state->freed = register_of(c, 0);
    if (ring->at_start)
        ring->state->left = register_of(c, ring->at_start);
    if (cg_ring_puts(ring)) {
        ring->state->put = register_of(c, 0);
        ring->state->put_count = register_of(c, 0);
    }
    if (cg_pair_shares(c, ring)) {
        cg_val rank = cg_new(c, CG_B32);
        ring->state->leads = cg_new(c, CG_PRED);
        cg_ins(c, "mov.u32 %v, %%cluster_ctarank", rank);
        cg_ins(c, "setp.eq.u32 %v, %v, 0", ring->state->leads, rank);
    }
    cg_val lane = cg_new(c, CG_B32);
    ring->state->arrives = cg_new(c, CG_PRED);
    cg_ins(c, "and.b32 %v, %v, 31", lane, cg_tid(c));
    find_arrivals(c, ring, lane);
}

/* Advances to the next slot. True: it is the first one again. */
static cg_val next_slot(cg_func *c, const cg_ring *ring, cg_val number)
{
    cg_val wraps = cg_new(c, CG_PRED), next = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, 1", next, number);
    cg_ins(c, "setp.eq.u32 %v, %v, %u", wraps, next, ring->slots);
    cg_ins(c, "selp.b32 %v, 0, %v, %v", number, next, wraps);
    return wraps;
}

static void advance(cg_func *c, const cg_ring *ring, cg_val number, cg_val phase)
{
    cg_val wraps = next_slot(c, ring, number), flip = cg_new(c, CG_B32);
    cg_ins(c, "selp.b32 %v, 1, 0, %v", flip, wraps);
    cg_ins(c, "xor.b32 %v, %v, %v", phase, phase, flip);
}

void cg_groups_put_next(cg_func *c, const cg_ring *ring)
{
    next_slot(c, ring, ring->state->put);
    cg_ins(c, "sub.u32 %v, %v, 1", ring->state->put_count, ring->state->put_count);
}

void cg_groups_await(cg_func *c, const ct_op *op, cg_val more)
{
    cg_ring *ring = cg_ring_of(op, 0);
    bool by_one = ring->end == CG_FREE_WHEN_MULTIPLIED, /* of a pair, the leader's */
        passes_on = cg_pair_passes_on(c, ring);
    /* other threads could miss two phases, since no slot waits for them */
    uint32_t behind = passes_on ? cg_pair_begin_first(c) : by_one ? cg_tensor_begin_issuer(c) : cg_label(c);
    if (!by_one && !more.known)
        cg_ins(c, "@!%v bra.uni %l", more, behind);
    cg_val full = cg_groups_barrier(c, ring, ring->state->read, 0);
    (passes_on ? cg_pair_await : cg_await_phase)(c, full, ring->state->read_phase);
    if (cg_ring_is_of_threads(ring))
        cg_take_effect(c, op, CG_WRITTEN);
    if (passes_on)
        cg_pair_pass_on(c, full);
    if (ring->end == CG_FREE_ITERATION_LATER && ring->product)
        cg_turned_begin(c, ring);
    if (by_one)
        cg_tensor_end_issuer(c, behind);
    else if (!more.known)
        cg_place_label(c, behind);
}

/* The barrier at which consumers signal that the slot that is read is free. */
static cg_val empty_barrier(cg_func *c, const cg_ring *ring)
{
    cg_val address = cg_new(c, CG_B32), at = cg_new(c, CG_B32);
    cg_ins(c, "mad.lo.u32 %v, %v, 8, %v", at, ring->state->read, ring->state->empty);
    cg_ins(c, "add.u32 %v, %v, %u", address, at, 8 * ring->slots);
    return address;
}

void cg_groups_release(cg_func *c, const ct_op *op, cg_val more)
{
    cg_ring *ring = cg_ring_of(op, 0);
    if (ring->end == CG_FREE_WHEN_MULTIPLIED) {
        cg_tensor_commit(c, cg_groups_barrier(c, ring, ring->state->read, 8 * ring->slots), cg_ring_to_all(ring));
        advance(c, ring, ring->state->read, ring->state->read_phase);
        return;
    }
    cg_val empty = empty_barrier(c, ring);
    advance(c, ring, ring->state->read, ring->state->read_phase);
    if (ring->end != CG_FREE_ITERATION_LATER) {
        cg_groups_arrive(c, ring, ring->state->arrives, empty);
        return;
    }
    cg_groups_await(c, op, more); /* while this product runs */
    if (!ring->product) {         /* a transposed product has done so after its first piece */
        cg_await_products(c, 1);
        cg_groups_free_last(c, ring);
    }
    cg_ins(c, "mov.u32 %v, %v", ring->state->freed, empty);
}

void cg_groups_drain(cg_func *c, cg_ring *ring)
{
    cg_groups_free_last(c, ring);
    cg_ins(c, "mov.u32 %v, 0", ring->state->freed);
}

/* Waits until the slot that is written next is free. */
static void await_free(cg_func *c, const cg_ring *ring)
{
    cg_await_phase(c, cg_groups_barrier(c, ring, ring->state->write, 8 * ring->slots), ring->state->write_phase);
}

void cg_assign_acquire(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

/* Is the op of a program in which threads copy, not the copy engine? */
static bool are_threads(const ct_op *op)
{
    const ct_block *program = op->block;
    while (program->parent->opcode != CT_groups)
        program = program->parent->block;
    const ct_op *groups = program->parent;
    return cg_ring_of(op, 0)->role != CG_RING_OF_MAPS
           || (groups->region_count > CG_STARTERS && program == groups->regions[CG_STARTERS]);
}

/* One thread announces the bytes that will arrive, the leader's those of both blocks of a pair. */
static void expect(cg_func *c, const cg_ring *ring)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < ring->load_count; i++)
        bytes += cg_is_copied_by_threads(ring, &ring->loads[i]) ? 0 : cg_ring_load_bytes(&ring->loads[i]);
    cg_val full = cg_groups_barrier(c, ring, ring->state->write, 0);
    if (cg_pair_shares(c, ring))
        cg_ins(c, "@%v mbarrier.arrive.expect_tx.shared::cta.b64 _, [%v], %u", ring->state->leads, full,
               CG_PAIR_BLOCKS * bytes);
    else
        cg_ins(c, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%v], %u", full, bytes);
}

/* For a ring with one slot that is not between groups: the slot is free when all threads have read it. */
void cg_effects_acquire(cg_func *c, ct_op *op)
{
    if (!cg_is_between_groups(cg_ring_of(op, 0)))
        cg_add_effect(c, op, CG_MEETS);
}

void cg_lower_acquire(cg_func *c, const ct_op *op)
{
    cg_ring *ring = cg_ring_of(op, 0);
    if (!cg_is_between_groups(ring)) {
        cg_take_effect(c, op, CG_MEETS);
        return;
    }
    /* The first slots are not awaited, because threads fill them while the maps are built: they may already have been
       filled and freed, and waiting for a phase that has not begun would never end. */
    uint32_t behind = ring->at_start ? cg_label(c) : 0;
    if (behind) {
        ring->state->takes = cg_new(c, CG_PRED);
        cg_ins(c, "setp.eq.u32 %v, %v, 0", ring->state->takes, ring->state->left);
        cg_ins(c, "@!%v bra.uni %l", ring->state->takes, behind);
    }
    await_free(c, ring);
    if (!are_threads(op))
        expect(c, ring);
    if (behind)
        cg_place_label(c, behind);
}

void cg_groups_empty(cg_func *c, cg_ring *ring)
{
    uint32_t again = cg_label(c);
    cg_val left = register_of(c, ring->slots), more = cg_new(c, CG_PRED);
    cg_place_label(c, again);
    await_free(c, ring);
    advance(c, ring, ring->state->write, ring->state->write_phase);
    cg_ins(c, "sub.u32 %v, %v, 1", left, left);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", more, left);
    cg_ins(c, "@%v bra %l", more, again);
}

void cg_groups_commit(cg_func *c, const ct_op *op)
{
    cg_ring *ring = cg_ring_of(op, 0);
    if (are_threads(op))
        cg_ins(c, "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%v]",
               cg_groups_barrier(c, ring, ring->state->write, 0));
    if (ring->at_start)
        cg_ins(c, "@!%v sub.u32 %v, %v, 1", ring->state->takes, ring->state->left, ring->state->left);
    advance(c, ring, ring->state->write, ring->state->write_phase);
}
