/* Chains of products by tcgen05 whose issuer has a program of its own (codegen/rewrite/chains.c). Each tile of rows has
   six barriers in shared memory: `full`, for the sum of the product that runs ahead, and `done`, for that of the other
   one, at which commits arrive; `taken` and `handed`, at which one thread of each of its consumer warps arrives; and
   two of `given`, at which these arrive in turn, if correctors multiply the other sum (codegen/rewrite/correct.c), who
   arrive at `handed`, too. Behind the barriers are the factors of all consumer threads, twice.
   Source: PTX ISA, "TensorCore 5th Generation Family Instructions", "mbarrier".

   In a pair of thread blocks, the leader's issuer starts the products of both. The warps of both arrive at `taken` and
   `handed` of the leader; commits arrive at `full` and `done` of both; `given` is the block's own.

   The rules of order, each of which the simulator checks (tests/ptxsim):
   - The issuer waits for `taken` before a product that runs ahead writes the sum again, and for `handed` before the
     other one, which reads the left operand and adds to the sum.
   - Consumers arrive at `taken` behind wait::ld, and at `handed` behind wait::st; fence::before_thread_sync precedes
     either, and fence::after_thread_sync follows the issuer's waits.
   - Consumers wait for `full` before they load the sum, and for `done` before they multiply, load or store the other
     sum, or store the left operand.
   - Correctors wait for `given`, which consumers reach behind their factors and behind the initial value of the sum,
     and for `done`, before they load the sum; and arrive at `handed` behind wait::st, with fences as above.
   - No thread may miss two phases of a barrier, which one bit tells apart: the issuer and the warps of a tile wait for
     each other in each iteration. Consumers may give factors again before correctors have seen the last ones; there are
     two barriers, and the issuer does not go on to the iteration after that without the correctors. */
#include "codegen/ops/chains.h"

#include "codegen/kernel/groups.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/slots.h"
#include "codegen/ops/tcgen05_flight.h"
#include "codegen/ops/tcgen05_pair.h"
#include "codegen/ops/tensor_move.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* Offsets in the memory of a tile. */
enum { DONE = 0, FULL = 8, TAKEN = 16, HANDED = 24, GIVEN = 32, OF_A_BARRIER = 8 };
enum { CORRECTOR_WARPS = 1 << CG_CORRECTOR_WARP_BITS };

static cg_val at(cg_func *c, uint32_t offset)
{
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", address, cg_tensor_state_of(c)->done, offset);
    return address;
}

static uint32_t memory_of(const cg_func *c, uint32_t tile)
{
    return cg_tensor_first_bytes(c) + tile * CG_TENSOR_TILE_BYTES;
}

void cg_chains_init(cg_func *c, cg_val memory)
{
    uint32_t warps = (cg_threads(c) >> CG_LANE_BITS) / c->tensor->tiles, blocks = cg_tensor_blocks(c);
    const uint32_t handed = warps + (c->tensor->corrects ? CORRECTOR_WARPS : 0),
                   arrivals[] = {[DONE / 8] = 1,
                                 [FULL / 8] = 1,
                                 [TAKEN / 8] = warps * blocks,
                                 [HANDED / 8] = handed * blocks,
                                 [GIVEN / 8] = warps,
                                 [GIVEN / 8 + 1] = warps};
    for (uint32_t tile = 0; tile < c->tensor->tiles; tile++)
        for (uint32_t i = 0; i < TV_COUNT(arrivals); i++)
            cg_ins(c, "mbarrier.init.shared::cta.b64 [%v+%u], %u", memory, memory_of(c, tile) + 8 * i, arrivals[i]);
}

static cg_val number(cg_func *c, uint32_t value)
{
    cg_val v = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, %u", v, value);
    return v;
}

/* The memory of the tile that the warp has. Further warpgroups have the next rows (cg_tcgen05_split). */
static cg_val own_memory(cg_func *c)
{
    if (c->tensor->tiles == 1)
        return at(c, memory_of(c, 0));
    cg_val tile = cg_new(c, CG_B32), own = cg_new(c, CG_B32), address = cg_new(c, CG_B32);
    cg_ins(c, "shr.u32 %v, %v, %u", tile, cg_tid(c), CG_WARPGROUP_BITS + CG_LANE_BITS);
    cg_ins(c, "and.b32 %v, %v, %u", own, tile, c->tensor->tiles - 1);
    cg_ins(c, "mad.lo.u32 %v, %v, %d, %v", address, own, CG_TENSOR_TILE_BYTES, at(c, memory_of(c, 0)));
    return address;
}

void cg_chains_begin(cg_func *c, const ct_op *op)
{
    struct cg_tensor_state *s = cg_tensor_state_of(c);
    s->base = s->allocated;
    s->phase = number(c, 0);
    s->ahead = number(c, cg_is_issued(op)); /* a sum that was never written is taken */
    if (cg_is_issued(op))
        return;
    s->owed = number(c, 0);
    s->given = number(c, 0);
    if (cg_is_of_group(op, CG_CORRECTORS))
        return;
    cg_val memory = s->done;
    s->done = own_memory(c);
    s->issuer = c->paired ? cg_pair_begin(c, memory) : cg_new(c, CG_PRED); /* of products that consumers start */
    if (!c->paired)
        cg_ins(c, "setp.eq.u32 %v, %v, 0", s->issuer, cg_tid(c));
}

static void flip(cg_func *c, cg_val phase)
{
    cg_ins(c, "xor.b32 %v, %v, 1", phase, phase);
}

/* The warp lets the issuer know, which is the leader's in a pair of thread blocks. */
static void tell(cg_func *c, cg_val barrier)
{
    (c->paired ? cg_pair_arrive : cg_tensor_arrive)(c, barrier);
}

/* ---- the issuer ---- */

void cg_chains_await(cg_func *c, const ct_op *product, uint32_t tile)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    cg_val told = at(c, memory_of(c, tile) + (product->ahead ? TAKEN : HANDED));
    (c->paired ? cg_pair_await : cg_await_phase)(c, told, product->ahead ? s->ahead : s->phase);
    cg_tensor_acquire(c); /* behind loads and stores of consumers */
}

void cg_chains_commit(cg_func *c, const ct_op *product, uint32_t tile)
{
    cg_tensor_commit(c, at(c, memory_of(c, tile) + (product->ahead ? FULL : DONE)), false);
}

void cg_chains_go_on(cg_func *c, const ct_op *product)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    flip(c, product->ahead ? s->ahead : s->phase);
}

/* ---- the consumers ---- */

void cg_chains_take(cg_func *c, const ct_op *op)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    cg_await_phase(c, at(c, FULL), s->ahead);
    flip(c, s->ahead);
    cg_tensor_acquire(c); /* behind the product */
    cg_tensor_load(c, cg_sum_of(c, op), cg_result(op, 0), NULL);
    cg_tensor_release(c); /* the thread's part is in registers */
    tell(c, at(c, TAKEN));
}

void cg_assign_hand(cg_func *c, const ct_op *op)
{
    const cg_sum *s = cg_sum_of(c, op);
    cg_product p = cg_product_of(c, s->product);
    cg_layout sum, left;
    if (!cg_mma_accumulator_layout(c, s->product, &sum))
        return;
    cg_tcgen05_split(c, &p);
    left = cg_tensor_left(c, s, &p).layout;
    cg_set_home(c, cg_result(op, 0), &sum, CG_WEIGHT_MMA);
    cg_want(c, op->operands[0], &left);
}

void cg_effects_hand(cg_func *c, ct_op *op)
{
    if (cg_sum_of(c, op)->meets)
        cg_add_effect(c, op, CG_MEETS);
}

void cg_lower_hand(cg_func *c, const ct_op *op)
{
    const cg_sum *s = cg_sum_of(c, op);
    cg_tensor_store_left(c, op, cg_settled_product(c, s->product), s);
    tell(c, at(c, HANDED));
    cg_tcgen05_owe(c);
}

/* ---- correctors ---- */

void cg_assign_give(cg_func *c, const ct_op *op)
{
    cg_layout l;
    if (cg_mma_accumulator_layout(c, cg_sum_of(c, op)->product, &l))
        cg_want(c, op->operands[0], &l);
}

void cg_assign_correct(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

/* The address of a consumer thread's factor, that of thread `first` more than the own one, in the place whose turn it
   is. */
static cg_val factor_at(cg_func *c, cg_val turn, uint32_t first)
{
    const uint32_t factors = memory_of(c, c->tensor->tiles), place = cg_threads(c) * CG_TENSOR_FACTOR_BYTES;
    cg_val memory = cg_new(c, CG_B32), of_place = cg_new(c, CG_B32), at = cg_new(c, CG_B32), own = cg_new(c, CG_B32);
    cg_ins(c, "mov.u32 %v, tv_tensor", memory);
    cg_ins(c, "mad.lo.u32 %v, %v, %u, %v", of_place, turn, place, memory);
    cg_ins(c, "mad.lo.u32 %v, %v, %d, %v", at, cg_tid(c), CG_TENSOR_FACTOR_BYTES, of_place);
    cg_ins(c, "add.u32 %v, %v, %u", own, at, factors + first * CG_TENSOR_FACTOR_BYTES);
    return own;
}

/* The place that is filled or read now, and the address of its barrier: `given` of the tile with that memory. */
static cg_val place_of(cg_func *c, cg_val memory, cg_val *out_barrier)
{
    cg_val turn = cg_new(c, CG_B32), barrier = cg_new(c, CG_B32);
    cg_ins(c, "and.b32 %v, %v, 1", turn, cg_tensor_state_of(c)->given);
    cg_ins(c, "mad.lo.u32 %v, %v, %d, %v", barrier, turn, OF_A_BARRIER, memory);
    *out_barrier = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %d", *out_barrier, barrier, GIVEN);
    return turn;
}

static void go_on(cg_func *c)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    cg_ins(c, "add.u32 %v, %v, 1", s->given, s->given);
}

/* All registers of a thread have the factor of its row. */
void cg_lower_give(cg_func *c, const ct_op *op)
{
    const cg_product *p = cg_settled_product(c, cg_sum_of(c, op)->product);
    const cg_val *factors = cg_get(c, op->operands[0], cg_value_of(c, p->result)->home);
    if (!factors)
        return;
    cg_val given, turn = place_of(c, cg_tensor_state_of(c)->done, &given);
    cg_val factor = cg_reg(c, factors[0]);
    cg_ins(c, "st.shared.b32 [%v], %v", factor_at(c, turn, 0), factor);
    cg_tensor_release(c); /* of the initial value, too */
    cg_warp_barrier(c);   /* all lanes have */
    cg_tensor_arrive(c, given);
    go_on(c);
}

/* The first column that the warpgroup with that number has of the sum: further warpgroups have further rows, or a part
   of the columns (codegen/ops/tensor_move.c). */
static uint32_t column_of(const cg_sum *s, const cg_product *p, uint32_t warpgroup)
{
    const uint32_t columns = cg_sum_columns(p), rows = p->along_m - CG_WARPGROUP_BITS, of_rows = (1u << rows) - 1;
    return s->column + ((warpgroup & of_rows) << columns) + (warpgroup >> rows << (columns - p->along_n));
}

/* Multiplies the part of a sum that a consumer warpgroup has, a few columns at a time. */
static void correct(cg_func *c, const cg_sum *s, const cg_product *p, uint32_t warpgroup, cg_val turn)
{
    enum { MOST = 16 };
    const uint32_t columns = 1u << (cg_sum_columns(p) - p->along_n), count = columns < MOST ? columns : MOST,
                   first = column_of(s, p, warpgroup);
    cg_val factor = cg_new(c, CG_B32), *regs = cg_vals(c, count), *scaled = cg_vals(c, count);
    if (!regs || !scaled)
        return;
    cg_ins(c, "ld.shared.b32 %v, [%v]", factor, factor_at(c, turn, warpgroup << (CG_WARPGROUP_BITS + CG_LANE_BITS)));
    uint32_t behind = cg_tensor_skip_ones(c, &factor, 1);
    cg_val at = cg_tensor_lanes(c, cg_tensor_state_of(c)->base, NULL, 0);
    for (uint32_t column = 0; column < columns; column += count) {
        for (uint32_t i = 0; i < count; i++) {
            regs[i] = cg_new(c, CG_B32);
            scaled[i] = cg_new(c, CG_B32);
        }
        cg_ins(c, "tcgen05.ld.sync.aligned.32x32b.x%u.b32 %V, [%v+%u]", count, regs, count, at, first + column);
        cg_ins(c, "tcgen05.wait::ld.sync.aligned");
        for (uint32_t i = 0; i < count; i++)
            cg_ins(c, "mul.rn.f32 %v, %v, %v", scaled[i], regs[i], factor);
        cg_ins(c, "tcgen05.st.sync.aligned.32x32b.x%u.b32 [%v+%u], %V", count, at, first + column, scaled, count);
    }
    cg_ins(c, "tcgen05.wait::st.sync.aligned");
    cg_place_label(c, behind);
}

/* The sum of the first iteration is there when consumers give its factors; that of the next ones, when the product of
   the last iteration is complete, also across the ends of tile blocks. */
void cg_lower_correct(cg_func *c, const ct_op *op)
{
    const struct cg_tensor_state *state = cg_tensor_state_of(c);
    const cg_sum *s = cg_sum_of(c, op);
    cg_product p = cg_product_of(c, s->product);
    cg_tcgen05_split(c, &p);
    const uint32_t warpgroups = cg_threads(c) >> (CG_WARPGROUP_BITS + CG_LANE_BITS), tiles = c->tensor->tiles;
    cg_val phase = cg_new(c, CG_B32), some = cg_new(c, CG_PRED);
    cg_ins(c, "bfe.u32 %v, %v, 1, 1", phase, state->given);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", some, state->owed);
    for (uint32_t tile = 0; tile < tiles; tile++) {
        uint32_t none = cg_label(c);
        cg_val given, memory = at(c, memory_of(c, tile)), turn = place_of(c, memory, &given);
        cg_await_phase(c, given, phase);
        cg_ins(c, "@!%v bra.uni %l", some, none);
        cg_await_phase(c, memory, state->phase); /* done */
        cg_place_label(c, none);
        cg_tensor_acquire(c);
        for (uint32_t warpgroup = tile; warpgroup < warpgroups; warpgroup += tiles)
            correct(c, s, &p, warpgroup, turn);
        cg_tensor_release(c); /* the sum is multiplied */
        tell(c, at(c, memory_of(c, tile) + HANDED));
    }
    cg_ins(c, "xor.b32 %v, %v, %v", state->phase, state->phase, state->owed);
    cg_ins(c, "mov.u32 %v, 1", state->owed);
    go_on(c);
}
