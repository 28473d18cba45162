/* Groups of warps, and rings between them. A slot has two barriers in shared memory (mbarrier): `full`, at which the
   copies of every producer thread arrive, and `empty`, at which one thread of each consumer warp arrives. Each is
   waited for by the parity of its phase, which changes whenever the ring has gone round. Source: PTX ISA, "mbarrier",
   "cp.async.mbarrier.arrive", "setmaxnreg". */
#include "codegen/kernel/groups.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/slots.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* ---- the groups ---- */

void cg_assign_groups(cg_func *c, const ct_op *op)
{
    uint32_t warp_bits = c->warp_bits;
    cg_assign_block(c, op->regions[0]);
    c->warp_bits = CG_PRODUCER_WARP_BITS;
    c->homes->remakes = true; /* scratch and its barriers are the consumers' */
    cg_assign_block(c, op->regions[1]);
    c->homes->remakes = false;
    c->warp_bits = warp_bits;
}

static void set_registers(cg_func *c, const char *way, uint32_t count)
{
    if (count)
        cg_ins(c, "setmaxnreg.%s.sync.aligned.u32 %u", way, count);
}

void cg_lower_groups(cg_func *c, const ct_op *op)
{
    const cg_groups *groups = op->detail;
    uint32_t producers = cg_label(c);
    cg_val is_producer = cg_new(c, CG_PRED), own = cg_new(c, CG_B32);
    cg_ins(c, "setp.ge.u32 %v, %v, %u", is_producer, cg_tid(c), cg_threads(c));
    cg_ins(c, "bar.sync 0");
    cg_ins(c, "@%v bra.uni %l", is_producer, producers);
    set_registers(c, "inc", groups->consumers);
    cg_block(c, op->regions[0]);
    cg_place_label(c, producers);
    set_registers(c, "dec", groups->producers);
    cg_ins_first(c, "sub.u32 %v, %v, %u", own, cg_tid(c), cg_threads(c));
    struct cg_thread *consumer = c->thread;
    uint32_t warp_bits = c->warp_bits;
    c->warp_bits = CG_PRODUCER_WARP_BITS;
    cg_thread_begin(c, own);
    cg_shared_group(c, 1);
    cg_block(c, op->regions[1]);
    cg_shared_group(c, 0);
    c->warp_bits = warp_bits;
    c->thread = consumer;
}

/* ---- rings ---- */

static cg_val register_of(cg_func *c, uint32_t value)
{
    cg_val r = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, %u", r, value);
    return r;
}

void cg_groups_ring(cg_func *c, cg_ring *ring)
{
    ring->base = cg_new(c, CG_B32);
    ring->full = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", ring->base, cg_ring_memory(c), ring->offset);
    cg_ins(c, "add.u32 %v, %v, %u", ring->full, cg_ring_memory(c), ring->barriers);
    ring->read = register_of(c, 0);
    ring->write = register_of(c, 0);
    ring->read_phase = register_of(c, 0);
    ring->write_phase = register_of(c, 1); /* slots that nobody has read are free */
    ring->freed = register_of(c, 0);
    if (ring->puts)
        ring->put_full = register_of(c, 0);
    cg_val is_first = cg_new(c, CG_PRED), lane = cg_new(c, CG_B32);
    ring->first_lane = cg_new(c, CG_PRED);
    cg_ins(c, "and.b32 %v, %v, 31", lane, cg_tid(c));
    cg_ins(c, "setp.eq.u32 %v, %v, 0", ring->first_lane, lane);
    cg_ins(c, "setp.eq.u32 %v, %v, 0", is_first, cg_tid(c));
    uint32_t arrivals = ring->puts ? 2 : 1; /* of a thread: when its copies are there, and when it has put the rest */
    for (uint32_t i = 0; i < ring->slots; i++) {
        cg_ins(c, "@%v mbarrier.init.shared::cta.b64 [%v+%u], %u", is_first, ring->full, 8 * i,
               CG_PRODUCER_THREADS * arrivals);
        cg_ins(c, "@%v mbarrier.init.shared::cta.b64 [%v+%u], %u", is_first, ring->full, 8 * (ring->slots + i),
               cg_threads(c) >> CG_LANE_BITS);
    }
}

static void wait(cg_func *c, cg_val barrier, cg_val phase)
{
    uint32_t again = cg_label(c);
    cg_val done = cg_new(c, CG_PRED);
    cg_place_label(c, again);
    cg_ins(c, "mbarrier.try_wait.parity.shared::cta.b64 %v, [%v], %v", done, barrier, phase);
    cg_ins(c, "@!%v bra %l", done, again);
}

static void advance(cg_func *c, const cg_ring *ring, cg_val number, cg_val phase)
{
    cg_val wraps = cg_new(c, CG_PRED), next = cg_new(c, CG_B32), flip = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, 1", next, number);
    cg_ins(c, "setp.eq.u32 %v, %v, %u", wraps, next, ring->slots);
    cg_ins(c, "selp.b32 %v, 0, %v, %v", number, next, wraps);
    cg_ins(c, "selp.b32 %v, 1, 0, %v", flip, wraps);
    cg_ins(c, "xor.b32 %v, %v, %v", phase, phase, flip);
}

void cg_groups_await(cg_func *c, cg_ring *ring, cg_val more)
{
    uint32_t behind = cg_label(c);
    if (!more.known)
        cg_ins(c, "@!%v bra.uni %l", more, behind);
    wait(c, cg_groups_barrier(c, ring, ring->read, 0), ring->read_phase);
    cg_ins(c, "fence.proxy.async.shared::cta");
    if (ring->in_flight && ring->product)
        cg_turned_begin(c, ring);
    if (!more.known)
        cg_place_label(c, behind);
}

static void arrive(cg_func *c, const cg_ring *ring, cg_val barrier)
{
    cg_ins(c, "@%v mbarrier.arrive.shared::cta.b64 _, [%v]", ring->first_lane, barrier);
}

void cg_groups_release(cg_func *c, cg_ring *ring, cg_val more)
{
    cg_val empty = cg_groups_barrier(c, ring, ring->read, 8 * ring->slots);
    advance(c, ring, ring->read, ring->read_phase);
    if (!ring->in_flight) {
        arrive(c, ring, empty);
        return;
    }
    cg_groups_await(c, ring, more); /* while this product runs */
    if (!ring->product) {           /* a turned one has done so behind its first piece */
        cg_ins(c, "wgmma.wait_group.sync.aligned 1");
        cg_groups_free_last(c, ring);
    }
    cg_ins(c, "mov.u32 %v, %v", ring->freed, empty);
}

void cg_groups_drain(cg_func *c, cg_ring *ring)
{
    cg_groups_free_last(c, ring);
    cg_ins(c, "mov.u32 %v, 0", ring->freed);
}

void cg_assign_acquire(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

void cg_lower_acquire(cg_func *c, const ct_op *op)
{
    const cg_ring *ring = cg_ring_of(op, 0);
    wait(c, cg_groups_barrier(c, ring, ring->write, 8 * ring->slots), ring->write_phase);
}

void cg_groups_commit(cg_func *c, cg_ring *ring)
{
    cg_val full = cg_groups_barrier(c, ring, ring->write, 0);
    cg_ins(c, "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%v]", full);
    advance(c, ring, ring->write, ring->write_phase);
}
