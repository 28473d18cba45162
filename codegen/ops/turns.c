/* Two sums in turn. The issuer is a warp with a program of its own: one of its threads starts the products of a tile
   block after the other, and consumers take each sum while it goes on with the next one. Each of the two places of the
   sum has two barriers in shared memory: `full`, at which a commit arrives when the products are complete, and `empty`,
   at which one thread of each consumer warp arrives when it has loaded its part. Source: PTX ISA, "TensorCore 5th
   Generation Family Instructions", "mbarrier".

   The rules of order, each of which the simulator checks (tests/ptxsim):
   - The issuer waits for `empty` before the first product of a sum, which writes words that consumers have loaded.
   - Consumers wait for `full` before they load the sum, and arrive at `empty` behind wait::ld.
   - fence::after_thread_sync follows both waits, and fence::before_thread_sync precedes the arrival at `empty`.
   - No thread may miss two phases of a barrier, which one bit tells apart: a place is filled again only when every
     consumer warp has arrived, and taken again only when the issuer has filled it.
   - A sum to which no product was added has no words in tensor memory. Where that can happen, the issuer says so in
     shared memory, and arrives at `full` itself, too, which makes that visible. */
#include "codegen/ops/turns.h"

#include "codegen/kernel/groups.h"
#include "codegen/ops/chains.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/slots.h"
#include "codegen/ops/tcgen05_flight.h"
#include "codegen/ops/tcgen05_pair.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* Offsets in the kernel's memory for this: the barriers of both places, and whether something was written there. */
enum { FULL = CG_TENSOR_BYTES, EMPTY = FULL + 16, WRITTEN = EMPTY + 16, OF_A_BARRIER = 8, OF_A_FLAG = 4 };
enum { MEETING = 3 /* the number of the barrier of consumers and the issuer */ };

static void meet(cg_func *c)
{
    cg_ins(c, "bar.sync %d, %u", MEETING,
           cg_threads(c) + CG_ISSUER_THREADS + (c->tensor->corrects ? CG_CORRECTOR_THREADS : 0));
}

/* ---- the kernel's tensor memory ---- */

/* How often `full` is arrived at: by the commit, and by the issuer if it says whether something was written. */
static uint32_t arrivals_of(const cg_func *c)
{
    return cg_tensor_is_written(&c->tensor->sums[0]) ? 1 : 2;
}

static void init_places(cg_func *c, cg_val memory)
{
    for (uint32_t i = 0; i < CG_SUMS_IN_TURN; i++) {
        cg_ins(c, "mbarrier.init.shared::cta.b64 [%v+%u], %u", memory, FULL + i * OF_A_BARRIER, arrivals_of(c));
        cg_ins(c, "mbarrier.init.shared::cta.b64 [%v+%u], %u", memory, EMPTY + i * OF_A_BARRIER,
               cg_threads(c) >> CG_LANE_BITS);
    }
}

void cg_turns_init(cg_func *c, cg_val memory)
{
    (c->tensor->in_turn ? init_places : cg_chains_init)(c, memory);
}

/* The consumers get the address from the issuer, through shared memory. */
void cg_turns_tensor(cg_func *c, const ct_op *op)
{
    struct cg_tensor_state *s = cg_tensor_state_new(c);
    if (!s)
        return;
    cg_val first = cg_new(c, CG_PRED);
    s->allocated = cg_new(c, CG_B32);
    s->begun = cg_new(c, CG_B32);
    cg_tensor_memory(c);
    cg_ins(c, "mov.u32 %v, 0", s->begun);
    if (cg_is_issued(op)) {
        if (c->paired) /* of the leader's */
            first = cg_pair_begin(c, s->done);
        else
            cg_ins(c, "setp.eq.u32 %v, %v, 0", first, cg_tid(c));
        cg_tensor_allocate(c);
    }
    meet(c);
    cg_tensor_address(c, s->allocated);
    if (c->tensor->tiles)
        cg_chains_begin(c, op);
    if (!cg_is_issued(op))
        return;
    s->behind = cg_label(c);
    s->issuer = cg_const(CG_PRED, 1);
    cg_ins(c, "@!%v bra %l", first, s->behind);
}

/* The issuer's warp frees it when all consumers have taken the last sum. */
void cg_turns_tensor_end(cg_func *c, const ct_op *op)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    if (cg_is_issued(op)) {
        cg_place_label(c, s->behind);
        cg_warp_barrier(c);
    }
    cg_tensor_release(c);
    meet(c); /* no consumer loads a sum any more */
    cg_tensor_acquire(c);
    if (cg_is_issued(op) && c->paired) /* for both blocks */
        cg_pair_end(c);
    if (cg_is_issued(op))
        cg_tensor_free(c, s->allocated);
}

/* ---- turns ---- */

/* The place that a program has reached: its number, and the parity with which it is filled. */
typedef struct turn {
    cg_val number, phase, address; /* address: of the memory for barriers, plus those of earlier places */
} turn;

static turn turn_of(cg_func *c)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    turn t;
    t.number = cg_new(c, CG_B32);
    t.phase = cg_new(c, CG_B32);
    t.address = cg_new(c, CG_B32);
    cg_ins(c, "and.b32 %v, %v, 1", t.number, s->begun);
    cg_ins(c, "bfe.u32 %v, %v, 1, 1", t.phase, s->begun);
    cg_ins(c, "mad.lo.u32 %v, %v, %d, %v", t.address, t.number, OF_A_BARRIER, s->done);
    return t;
}

static cg_val at(cg_func *c, const turn *t, uint32_t offset)
{
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", address, t->address, offset);
    return address;
}

/* The address of the flag of the place. */
static cg_val flag_of(cg_func *c, const turn *t)
{
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "mad.lo.u32 %v, %v, %d, %v", address, t->number, OF_A_FLAG, cg_tensor_state_of(c)->done);
    return address;
}

/* The sum has the columns of the place from now on. */
static void go_to(cg_func *c, const turn *t)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", s->base, t->number, c->tensor->sums[0].columns, s->allocated);
}

static void go_on(cg_func *c)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    cg_ins(c, "add.u32 %v, %v, 1", s->begun, s->begun);
}

/* ---- the issuer ---- */

void cg_turns_sum(cg_func *c, const ct_op *op)
{
    cg_sum *sum = cg_sum_of(c, op);
    turn t = turn_of(c);
    cg_val phase = cg_new(c, CG_B32);
    cg_ins(c, "xor.b32 %v, %v, 1", phase, t.phase); /* places that were never filled are empty */
    cg_await_phase(c, at(c, &t, EMPTY), phase);
    cg_tensor_acquire(c); /* behind loads of consumers */
    go_to(c, &t);
    sum->adds = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ne.u32 %v, 0, 0", sum->adds);
}

void cg_turns_full(cg_func *c, const ct_op *op)
{
    const cg_sum *sum = cg_sum_of(c, op);
    turn t = turn_of(c);
    cg_val full = at(c, &t, FULL);
    if (!cg_tensor_is_written(sum)) {
        cg_val flag = cg_new(c, CG_B32), place = flag_of(c, &t);
        cg_ins(c, "selp.b32 %v, 1, 0, %v", flag, sum->adds);
        cg_ins(c, "st.shared.u32 [%v+%d], %v", place, WRITTEN, flag);
        cg_ins(c, "mbarrier.arrive.shared::cta.b64 _, [%v]", full);
    }
    cg_tensor_commit(c, full, false);
    go_on(c);
}

/* ---- the consumers ---- */

void cg_turns_take(cg_func *c, const ct_op *op)
{
    const cg_sum *sum = cg_sum_of(c, op);
    turn t = turn_of(c);
    cg_val written = cg_new(c, CG_PRED);
    bool is_written = cg_tensor_is_written(sum);
    cg_await_phase(c, at(c, &t, FULL), t.phase);
    cg_tensor_acquire(c); /* behind the products */
    if (!is_written) {
        cg_val flag = cg_new(c, CG_B32), place = flag_of(c, &t);
        cg_ins(c, "ld.shared.u32 %v, [%v+%d]", flag, place, WRITTEN);
        cg_ins(c, "setp.ne.u32 %v, %v, 0", written, flag);
    }
    go_to(c, &t);
    cg_tensor_load(c, sum, cg_result(op, 0), is_written ? NULL : &written);
    cg_tensor_release(c); /* the thread's part is in registers */
    cg_tensor_arrive(c, at(c, &t, EMPTY));
    go_on(c);
}
