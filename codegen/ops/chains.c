/* Chains of products by tcgen05 whose issuer has a program of its own (codegen/rewrite/chains.c). Each tile of rows has
   four barriers in shared memory: `full`, for the sum of the product that runs ahead, and `done`, for that of the other
   one, at which commits arrive; `taken` and `handed`, at which one thread of each of its consumer warps arrives.
   Source: PTX ISA, "TensorCore 5th Generation Family Instructions", "mbarrier".

   The rules of order, each of which the simulator checks (tests/ptxsim):
   - The issuer waits for `taken` before a product that runs ahead writes the sum again, and for `handed` before the
     other one, which reads the left operand and adds to the sum.
   - Consumers arrive at `taken` behind wait::ld, and at `handed` behind wait::st; fence::before_thread_sync precedes
     either, and fence::after_thread_sync follows the issuer's waits.
   - Consumers wait for `full` before they load the sum, and for `done` before they multiply, load or store the other
     sum, or store the left operand.
   - No thread may miss two phases of a barrier, which one bit tells apart: the issuer and the warps of a tile wait for
     each other in each iteration. */
#include "codegen/ops/chains.h"

#include "codegen/ops/hooks.h"
#include "codegen/ops/mma.h"
#include "codegen/ops/slots.h"
#include "codegen/ops/tcgen05_flight.h"
#include "codegen/ops/tensor_move.h"
#include "codegen/ops/tensor_state.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* Offsets in the memory of a tile. */
enum { DONE = 0, FULL = 8, TAKEN = 16, HANDED = 24 };

static cg_val at(cg_func *c, uint32_t offset)
{
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", address, cg_tensor_state_of(c)->done, offset);
    return address;
}

static uint32_t memory_of(uint32_t tile)
{
    return CG_TENSOR_BYTES + tile * CG_TENSOR_TILE_BYTES;
}

void cg_chains_init(cg_func *c, cg_val first)
{
    uint32_t warps = (cg_threads(c) >> CG_LANE_BITS) / c->tensor->tiles;
    const uint32_t arrivals[] = {[DONE / 8] = 1, [FULL / 8] = 1, [TAKEN / 8] = warps, [HANDED / 8] = warps};
    for (uint32_t tile = 0; tile < c->tensor->tiles; tile++)
        for (uint32_t i = 0; i < TV_COUNT(arrivals); i++)
            cg_ins(c, "@%v mbarrier.init.shared::cta.b64 [%v+%u], %u", first, cg_tensor_state_of(c)->done,
                   memory_of(tile) + 8 * i, arrivals[i]);
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
        return at(c, memory_of(0));
    cg_val tile = cg_new(c, CG_B32), own = cg_new(c, CG_B32), address = cg_new(c, CG_B32);
    cg_ins(c, "shr.u32 %v, %v, %u", tile, cg_tid(c), CG_WARPGROUP_BITS + CG_LANE_BITS);
    cg_ins(c, "and.b32 %v, %v, %u", own, tile, c->tensor->tiles - 1);
    cg_ins(c, "mad.lo.u32 %v, %v, %d, %v", address, own, CG_TENSOR_TILE_BYTES, at(c, memory_of(0)));
    return address;
}

void cg_chains_begin(cg_func *c, bool issues)
{
    struct cg_tensor_state *s = cg_tensor_state_of(c);
    s->base = s->allocated;
    s->phase = number(c, 0);
    s->ahead = number(c, issues); /* a sum that was never written is taken */
    if (issues)
        return;
    s->owed = number(c, 0);
    s->done = own_memory(c);
    s->issuer = cg_new(c, CG_PRED); /* of products that consumers start */
    cg_ins(c, "setp.eq.u32 %v, %v, 0", s->issuer, cg_tid(c));
}

static void flip(cg_func *c, cg_val phase)
{
    cg_ins(c, "xor.b32 %v, %v, 1", phase, phase);
}

/* ---- the issuer ---- */

void cg_chains_await(cg_func *c, const ct_op *product, uint32_t tile)
{
    const struct cg_tensor_state *s = cg_tensor_state_of(c);
    cg_await_phase(c, at(c, memory_of(tile) + (product->ahead ? TAKEN : HANDED)), product->ahead ? s->ahead : s->phase);
    cg_tensor_acquire(c); /* behind loads and stores of consumers */
}

void cg_chains_commit(cg_func *c, const ct_op *product, uint32_t tile)
{
    cg_tensor_commit(c, at(c, memory_of(tile) + (product->ahead ? FULL : DONE)), false);
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
    cg_tensor_arrive(c, at(c, TAKEN));
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
    cg_tensor_arrive(c, at(c, HANDED));
    cg_tcgen05_owe(c);
}
