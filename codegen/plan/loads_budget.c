/* How far loads run ahead in loops with products, and with other loads, which each thread copies for itself; see
   codegen/passes/loads.c. */
#include "codegen/analysis/bands.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/analysis/shared.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/choices.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/loads.h"

const cg_ring_load *cg_ring_load_for(const cg_ring *ring, const ct_value *operand)
{
    const ct_op *op = cg_source_of(operand)->op;
    for (uint32_t i = 0; i < ring->load_count; i++)
        if (ring->loads[i].op == op)
            return &ring->loads[i];
    return NULL;
}

uint32_t cg_words_of_thread(const cg_func *c, const bc_type *tile)
{
    return (cg_memory_bytes(bc_elem_kind(tile)) << cg_shape_of(tile).tile_bits) / (4 * cg_threads(c));
}

/* The cycles of the body's products if none has an instruction, or all multiply f64, which takes as long; else 0. */
static double slow_cycles(const cg_func *c, const ct_block *body)
{
    double rate = cg_machine_of(c->target)->issue * (1 << CG_LANE_BITS), cycles = 0;
    for (const ct_op *op = body->first; op; op = op->next) {
        const bc_type *left = cg_is_product(op) ? op->operands[0]->type : NULL;
        if (left && bc_elem_kind(left) != BC_F64 && cg_product_of(c, op).instruction != CG_BY_BLOCKS)
            return 0;
        cycles += left ? (double)((uint64_t)left->shape[left->rank - 1] << cg_shape_of(op->results[0].type).tile_bits)
                             / rate
                       : 0;
    }
    return cycles;
}

cg_slot_kind cg_kind_of_products(const cg_func *c, const ct_block *body)
{
    return slow_cycles(c, body) >= cg_machine_of(c->target)->dram_latency ? CG_SLOW_PRODUCTS
           : cg_has_blocked(c, body)                                      ? CG_BLOCKED
                                                                          : CG_PRODUCTS;
}

/* Registers of a thread for the operands that the body computes for a product; the most of all products. */
static uint32_t operand_words(const cg_func *c, const ct_block *body, const cg_ring *ring)
{
    uint32_t most = 0;
    for (const ct_op *op = body->first; op; op = op->next) {
        uint32_t made = 0;
        for (uint32_t i = 0; i < 2 && cg_is_product(op); i++)
            made += cg_ring_load_for(ring, op->operands[i]) ? 0 : cg_words_of_thread(c, op->operands[i]->type);
        most = made > most ? made : most;
    }
    return most;
}

/* Registers of a thread: what the loop carries, what a thread reads from the stages, and the operands that it
   computes from that for a product. */
static uint32_t registers_of(const cg_func *c, const ct_block *body, const cg_ring *ring, const cg_ring *own)
{
    uint32_t all = (uint32_t)cg_machine_of(c->target)->registers_loop + operand_words(c, body, ring);
    for (uint32_t i = 1; i < body->arg_count; i++)
        all += bc_is_tile(body->args[i].type) ? cg_words_of_thread(c, body->args[i].type) : 0;
    for (uint32_t i = 0; i < own->load_count; i++)
        all += cg_words_of_thread(c, own->loads[i].op->results[0].type);
    return all < CG_THREAD_REGISTERS ? all : CG_THREAD_REGISTERS;
}

/* Does the body have reordered products, whose operands stay in their threads' registers? Other operands reach
   products through shared memory. */
static bool has_reordered(const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = op->next)
        if (op->way == CT_REORDERED)
            return true;
    return false;
}

enum { LEAST_SLOTS = 2 };

/* The number of stages, at most `most`, that fit if so many blocks share a multiprocessor. used: bytes of shared memory
   that each block takes besides them. */
static uint32_t slots_beside(cg_func *c, uint32_t blocks, uint32_t used, const cg_slot_work *work, uint32_t most)
{
    uint32_t share = cg_room_beside(c, blocks * cg_threads(c)), room = share > used ? share - used : 0;
    room = room < work->fits ? room : work->fits;
    return room / work->slot_bytes < most ? room / work->slot_bytes : most;
}

/* May the block have a multiprocessor for itself, so that the tiles that its threads read have stages? It may if it has
   as many warps as several blocks usually have, or if the other ring, with as many stages as it needs, leaves no room
   for another block. Four warps alone, whose tiles have stages, are slower than eight whose tiles have none (0.65 to
   0.84 of the speed on an H200). */
static bool may_be_alone(const cg_func *c, const cg_ring *ring)
{
    uint32_t half = ((uint32_t)c->target->shared_kib << 10) / CG_FEW_BLOCKS;
    return cg_threads(c) >= CG_FEW_BLOCKS << (CG_USUAL_WARPS + CG_LANE_BITS)
           || CG_SLOTS_IN_FLIGHT * ring->slot_bytes > half;
}

/* The number of stages for a loop whose threads also read tiles that they copied for themselves: as many as leave
   shared memory for all blocks on a multiprocessor for which there are registers. The estimate of registers may
   exceed the limit by an eighth, which ptxas saves. Such loops convert tiles between copies and products, while
   other blocks multiply. Two blocks suffice for that; more are worthwhile only if each has three stages. If two have
   no stages, a block that may be alone gets three. Reordered
   products with few rows are limited by memory bandwidth: each block gets stages for the bytes of weights that must
   be in flight if it has the multiprocessor for itself. */
cg_slot_budget cg_budget_with_own(cg_func *c, const ct_block *body, const cg_ring *ring, const cg_ring *own,
                                  const cg_slot_work *work)
{
    const cg_machine *m = cg_machine_of(c->target);
    uint32_t registers = (uint32_t)m->registers, on_their_way = (uint32_t)m->bytes_ahead / cg_slices(c);
    bool reordered = has_reordered(body);
    uint32_t paced = reordered ? on_their_way / own->slot_bytes + 1 : 0,
             enough = paced > CG_SLOTS_IN_FLIGHT ? paced : CG_SLOTS_IN_FLIGHT,
             most = enough > CG_MOST_OWN_SLOTS ? enough : CG_MOST_OWN_SLOTS, least = cg_shared_most(c) - work->fits,
             operand = reordered ? 0 : 4 * operand_words(c, body, ring) * cg_threads(c),
             used = CG_SYSTEM_SHARED + (operand > least ? operand : least),
             blocks = (registers + registers / (uint32_t)m->registers_saved) / registers_of(c, body, ring, own)
                      / cg_threads(c);
    cg_slot_budget b = {.room = work->fits, .why = "as many as leave room for the blocks that registers allow"};
    for (blocks = blocks < CG_MOST_BLOCKS ? blocks + !blocks : CG_MOST_BLOCKS; blocks; blocks--) {
        b.slots = slots_beside(c, blocks, used, work, most);
        if (b.slots >= enough || blocks <= CG_FEW_BLOCKS)
            break;
    }
    uint32_t alone = slots_beside(c, 1, used, work, most);
    if (b.slots < LEAST_SLOTS && alone >= enough && may_be_alone(c, ring)) {
        b.slots = alone;
        b.why = "as many as fit, because two blocks would have too few";
    }
    return b;
}

bool cg_is_narrow_ring(const ct_block *body, const cg_ring *ring)
{
    const ct_op *product = cg_only_product(body);
    const bc_type *type = product ? product->results[0].type : NULL;
    bool narrow = false;
    for (uint32_t i = 1; type && ring->async && i <= 2; i++)
        narrow = narrow || type->shape[type->rank - i] <= CG_NARROW_SIDE;
    for (uint32_t i = 0; i < ring->load_count; i++)
        narrow = narrow
                 && (cg_is_read_by_threads(&ring->loads[i])
                     || ring->loads[i].vector_bits == cg_chunk_bits(ring->loads[i].op->results[0].type));
    return narrow;
}

bool cg_has_chain(const ct_block *body)
{
    uint32_t count = 0;
    for (const ct_op *op = body->first; op; op = op->next)
        count += cg_is_product(op);
    return count > 1;
}

/* Does a product of the loop have fewer rows than an instruction multiplies? */
static bool has_few_rows(const ct_block *body)
{
    bool few = false;
    for (const ct_op *op = body->first; op; op = op->next) {
        const bc_type *type = cg_is_product(op) ? op->results[0].type : NULL;
        few = few || (type && type->shape[type->rank - 2] < 1 << CG_ATOM_ROW_BITS);
    }
    return few;
}

/* The registers of a thread that adds up results and computes addresses. */
static uint32_t registers_beside_sums(const cg_func *c)
{
    const cg_machine *m = cg_machine_of(c->target);
    return cg_sum_registers(c) - (uint32_t)m->registers_mma + (uint32_t)m->registers_usual;
}

/* Would stages leave a block alone on its multiprocessor, with one warp for each scheduler, although two blocks fit if
   each has a single slot? The warps of such a block wait for each product of a chain, and for each other between them:
   other blocks save more time than stages do. A hint for more blocks than have room for a slot asks for two. On an
   H200, microseconds with three stages and with a single slot: f16 32x128x128 aligned to 8 bytes 360 and 225, bf16
   16x64x256 aligned to 4 bytes 433 and 358, 32x64x256 216 and 179. But if each block reads tiles of its own, as in
   decoding, stages keep DRAM busy (16x128x128: 136 and 141; by pages: 250 and 267). A product with fewer rows than an
   instruction multiplies has little to do but wait for its tiles, even if the other block reads the same (32 blocks of
   1x128x128 in f16: 14 and 20; 256 blocks: 45 and 44). */
static bool prefers_blocks(cg_func *c, const ct_block *body, const cg_ring *ring, uint32_t used,
                           const cg_slot_work *work)
{
    const uint32_t one = used + work->slot_bytes, asked = cg_room_beside(c, CG_FEW_BLOCKS * cg_threads(c)),
                   share = asked < one ? ((uint32_t)c->target->shared_kib << 10) / CG_FEW_BLOCKS : asked;
    bool shared = false;
    if (!work->may_refill || ring->async || cg_threads(c) > 1u << (CG_USUAL_WARPS + CG_LANE_BITS) || one > share
        || one + work->slot_bytes <= share || work->fits < work->slot_bytes || has_few_rows(body))
        return false;
    if (!cg_find_shared_tiles(c->ir, &c->arena, body, &shared))
        cg_no_memory(c);
    return shared;
}

/* Fewer stages, though enough of them, where that leaves shared memory for one more block on a multiprocessor: *slots.
   Between the products of a chain, a block waits for its own results, and other blocks multiply. A single product gains
   only if a launch has so many blocks, and else loses the stages. */
static bool leaves_a_block(cg_func *c, const cg_ring *ring, uint32_t used, const cg_slot_work *work, uint32_t *slots)
{
    uint32_t most = (uint32_t)cg_machine_of(c->target)->registers / registers_beside_sums(c) / cg_threads(c),
             blocks = 1, before = *slots;
    while (blocks < most && slots_beside(c, blocks + 1, used, work, before) == before)
        blocks++;
    uint32_t fewer = ring->async || blocks == most ? 0 : slots_beside(c, blocks + 1, used, work, before);
    if (fewer < CG_SLOTS_IN_FLIGHT || fewer == before)
        return false;
    *slots = fewer;
    return true;
}

/* Fewer stages than would leave a block alone on a multiprocessor: *slots. Warps wait for each instruction of mma.sync,
   and at the barrier of each iteration, while those of another block multiply. */
static bool leaves_two_blocks(cg_func *c, uint32_t used, const cg_slot_work *work, uint32_t *slots)
{
    uint32_t shared = slots_beside(c, CG_FEW_BLOCKS, used, work, *slots);
    if (shared < LEAST_SLOTS || shared == *slots)
        return false;
    *slots = shared;
    return true;
}

/* The number of stages of a loop whose products read all that is prefetched: as a row of budget.def says. In narrow
   kernels, each block should have enough bytes in flight for its multiprocessor, as far as the stages leave shared
   memory for all blocks that registers allow. Microseconds on an H200 with four stages and with that: bf16 32x128x16,
   M = 27, K = N = 8192, 145 and 100. Other products gain with few blocks (e4m3 16x64x32, 70 and 48), but more stages
   slow down many blocks (f16 32x16x32, 171 and 181; 64x64x16, 208 and 216). */
cg_slot_budget cg_budget_of_products(cg_func *c, const ct_block *body, const cg_ring *ring, const cg_slot_work *work)
{
    const cg_machine *m = cg_machine_of(c->target);
    cg_slot_budget b = cg_slot_budget_of(c, work);
    uint32_t used = CG_SYSTEM_SHARED + cg_scratch_least(c, body, ring);
    if (work->kind != CG_PRODUCTS || b.slots < LEAST_SLOTS || cg_choices_of(c)->stages)
        return b;
    if (cg_has_chain(body) && prefers_blocks(c, body, ring, used, work))
        return (cg_slot_budget){.slots = 1,
                                .refills = true,
                                .room = b.room,
                                .why = "stages would leave room for one block only"};
    if (!ring->async && leaves_two_blocks(c, used, work, &b.slots))
        b.why = "two blocks share a multiprocessor, by turns waiting and multiplying";
    if (b.slots < CG_SLOTS_IN_FLIGHT)
        return b;
    if (cg_has_chain(body) && leaves_a_block(c, ring, used, work, &b.slots))
        b.why = "three stages, so that one more block shares a multiprocessor";
    if (!cg_is_narrow_ring(body, ring))
        return b;
    uint32_t blocks = (uint32_t)m->registers / registers_beside_sums(c) / cg_threads(c),
             enough = (uint32_t)m->bytes_ahead / work->slot_bytes + 1;
    enough = enough < CG_RING_SLOTS ? enough : CG_RING_SLOTS;
    enough = slots_beside(c, blocks, used, work, enough);
    if (enough > b.slots) {
        b.slots = enough;
        b.why = "enough bytes in flight for a multiprocessor with one block";
    }
    return b;
}
