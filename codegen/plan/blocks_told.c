/* How many thread blocks of a kernel a multiprocessor must have registers for, as ptxas is told. It follows from the
   occupancy hint, unless that would waste registers or shared memory, or spill tiles. */
#include "codegen/plan/blocks_told.h"

#include "codegen/access/pointers.h"
#include "codegen/analysis/encoding.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/analysis/view.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/budget.h"
#include "codegen/ptx/by_stores.h"
#include "codegen/values/values.h"

static bool has_hint(const cg_func *c)
{
    return cg_hint_of(c, CG_HINT_OCCUPANCY) && !c->groups;
}

/* Does a block have the multiprocessor to itself, in any case? Without being told, ptxas limits the registers of such a
   kernel as if several blocks could share it, and delays loads until registers are free. */
static bool is_alone(cg_func *c)
{
    return !c->groups && !cg_product_registers(c) && cg_block_is_alone(c);
}

static bool has_chain(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (cg_is_product(op) && (op->handed || cg_product_before(op)))
            return true;
    return false;
}

/* The registers that ptxas leaves a thread for so many blocks. Each scheduler has an equal part of the registers, and
   the warps of these blocks that it gets: of nine blocks of two warps, one of four schedulers has five warps, as of
   ten. */
static uint32_t registers_left(cg_func *c, uint32_t blocks)
{
    const uint32_t warps = blocks * cg_all_threads(c) >> CG_LANE_BITS,
                   of_one = (warps + CG_SCHEDULERS - 1) / CG_SCHEDULERS;
    return CG_REGISTERS / CG_SCHEDULERS / (of_one << CG_LANE_BITS) / CG_REGISTER_STEP * CG_REGISTER_STEP;
}

/* Finds the blocks for which there is shared memory and, as far as is predicted, registers: ptxas can save some of
   these, but not as many as it lacks where a scheduler has one warp more than others. On an H200, nine kernels that
   have fewer blocks for this reason are 0.99 to 1.01 times as fast, and one that had spilled 308 bytes 1.44 times. */
static void fit(cg_func *c, cg_kernel_cost *k, uint32_t held)
{
    *k = (cg_kernel_cost){.machine = cg_machine_of(c->target), .shared = cg_shared_bytes(c)};
    cg_fit(c, k, held);
    const uint32_t saved = (uint32_t)(k->registers / k->machine->registers_saved);
    while (k->blocks > 1 && registers_left(c, k->blocks) + saved < k->registers)
        k->blocks--;
}

/* The same for the registers that are predicted to hold tiles. False: out of memory. */
static bool find_fit(cg_func *c, cg_kernel_cost *k)
{
    uint32_t held = 0;
    if (!cg_registers_held(c, &held))
        return false;
    fit(c, k, held);
    return true;
}

static uint32_t blocks_that_fit(cg_func *c)
{
    cg_kernel_cost k;
    return find_fit(c, &k) ? k.blocks : 0;
}

/* Has the kernel a loop in two versions, or one that copies tiles ahead? */
static bool has_versions_or_rings(const cg_func *c)
{
    bool found = c->is_versioned;
    for (const ct_op *op = c->ir->body->first; op && !found; op = ct_next_op(op, c->ir->body))
        found = op->plain || op->opcode == CT_ring;
    return found;
}

/* Does a chain that is alone on a multiprocessor wait for each of its tiles, which another block would hide, while its
   registers are at most a quarter more than two blocks have? What ptxas spills then costs less. On an H200, seven of
   eight chains are 1.08 to 1.53 times as fast, one 1.00; five of the eight had no part in the rule. A kernel in two
   versions has registers that the prediction does not see (one, which spilled 612 bytes: 0.81), and chains that copy
   tiles ahead lose (two: 0.87 and 0.93). */
static bool gains_by_spilling(cg_func *c, const cg_kernel_cost *k)
{
    const double share = k->machine->registers / CG_FEW_BLOCKS / k->threads;
    return k->blocks == 1 && k->registers <= share * 5 / 4 && !has_versions_or_rings(c);
}

/* The same for a chain of products. Without being told, ptxas may take so many registers that fewer share a
   multiprocessor. 0: there is no chain, or no room for a second block. On an H200, 27 chains that change take 0.72 to
   1.02 of the time, 0.94 in the geometric mean; six single products 0.82 to 1.46. */
static uint32_t blocks_of_chain(cg_func *c)
{
    cg_kernel_cost k;
    if (!has_chain(c) || c->groups || c->tensor || !find_fit(c, &k))
        return 0;
    const uint32_t blocks = gains_by_spilling(c, &k) ? CG_FEW_BLOCKS : k.blocks;
    return blocks > 1 ? blocks : 0;
}

/* The same where a thread keeps an address for each access of a loop, and too few threads therefore have registers.
   Without being told, ptxas looks for registers for one block more, does not find them, and delays loads all the same.
   0: enough threads have registers, or no such loop limits their number. */
static uint32_t blocks_of_addresses(cg_func *c)
{
    if (c->groups || !cg_keeps_addresses(c))
        return 0;
    const uint32_t blocks = blocks_that_fit(c);
    return blocks * cg_all_threads(c) < cg_machine_of(c->target)->threads_enough ? blocks : 0;
}

/* Does a thread copy a tile of the ring in several accesses, each shorter than 16 bytes? */
static bool has_short_copies(const cg_ring *ring)
{
    for (uint32_t i = 0; i < ring->load_count; i++) {
        const cg_ring_load *load = &ring->loads[i];
        if (load->vector_bits < cg_chunk_bits(load->op->results[0].type) && load->vector_bits < load->layout.reg_bits)
            return true;
    }
    return false;
}

/* log2 of the elements that an access of the load brings to a thread. */
static uint32_t load_vector(cg_func *c, const ct_op *op)
{
    uint32_t fast = 0;
    if (op->opcode == OP_load_ptr_tko) {
        const cg_ptr_op p = cg_ptr_op_of(op);
        return cg_pointer_vector(c, &p, &fast);
    }
    const cg_view_op v = cg_view_op_of(op);
    return cg_view_contiguous(&v, &fast) ? cg_view_vector(c, &v, fast) : 0;
}

/* Does a load bring less than 16 bytes to a thread at a time, but at least 4, or shorter ones of several iterations? */
static bool is_short_load(cg_func *c, const ct_op *op)
{
    const bc_type *tile = op->results[0].type;
    const ct_op *loop = ct_loop_around(op);
    const uint32_t bits = load_vector(c, op);
    return bits < cg_chunk_bits(tile)
           && (cg_memory_bytes(bc_elem_kind(tile)) << bits >= CG_COPY_BYTES || (loop && loop->unrolled));
}

static bool loads_tile(const ct_op *op)
{
    return ct_is_load(op) && op->result_count && cg_shape_of(op->results[0].type).tile_bits;
}

/* Has a thread accesses of less than 16 bytes on their way that take registers of their own, in the version that is
   likely to run? Those of less than 4 bytes are so many that instructions limit the kernel, unless several iterations
   are executed together, and so do copies of which a thread has one for each tile. */
static bool has_short_loads(cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op && !c->is_versioned; op = ct_next_op(op, c->ir->body)) {
        if (op->opcode == CT_ring ? has_short_copies(op->detail) : loads_tile(op) && is_short_load(c, op))
            return true;
    }
    return false;
}

/* Is it a map that divides tiles of f64? The quotients of a thread are iterated side by side, and without being told,
   ptxas spills around them to make room for a further block. On an H200, 4,096 elements a block take 37.7 us instead of
   42.9, and 27 maps of the zoo 0.93 to 1.03 of the time, 1.00 in the geometric mean. */
static bool divides_doubles(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->opcode == OP_divf && bc_elem_kind(op->results[0].type) == BC_F64
            && cg_shape_of(op->results[0].type).tile_bits)
            return cg_is_map(c);
    return false;
}

/* The blocks for which ptxas is to leave registers where no hint says how many. 0: it is not told. */
static uint32_t blocks_without_hint(cg_func *c)
{
    uint32_t blocks = c->groups ? 0 : cg_blocks_that_suit(c);
    if (!blocks)
        blocks = is_alone(c) || divides_doubles(c) ? 1 : blocks_of_chain(c);
    return blocks ? blocks : blocks_of_addresses(c);
}

static uint32_t most_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Does a product read an operand that threads load or compute, in the version that is likely to run? */
static bool reads_registers(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (op->plain && !op->likely && op->regions[0]->last)
            op = op->regions[0]->last;
        for (uint32_t i = 0; cg_is_product(op) && i < 2; i++) {
            const ct_op *source = cg_source_of(op->operands[i])->op;
            if (!source || source->opcode != CT_staged || source->in_registers)
                return true;
        }
    }
    return false;
}

uint32_t cg_blocks_beside_hint(cg_func *c, uint32_t *out_held)
{
    if (!cg_registers_held(c, out_held))
        return 0;
    const uint32_t wanted = cg_registers_wanted(c, *out_held), products = cg_product_registers(c);
    return cg_blocks_hinted(c, products ? most_of(wanted, products) : wanted + cg_registers_of_masked(c));
}

/* The same for products. They have shared memory, too: registers that are left to others would be left to nobody (five
   of six kernels that change take 0.79 to 0.92 of the time on an H200). A chain has room for more than some hints ask
   for, and nothing else uses it. Otherwise, ptxas takes more registers than it needs if it is told of fewer blocks than
   have room. This helps only where all operands come to shared memory: where threads load or compute some, more blocks
   hide what they wait for (46 kernels that get more blocks take 0.72 to 1.18 of the time, 0.96 in the geometric mean,
   and 77 others 1.00). */
static uint32_t blocks_of_products(cg_func *c, uint32_t asked)
{
    const uint32_t fit = blocks_that_fit(c), hinted = asked < fit ? asked : fit;
    if (has_chain(c))
        return most_of(hinted, blocks_without_hint(c));
    return hinted < fit && reads_registers(c) ? blocks_without_hint(c) : hinted;
}

/* The blocks for which ptxas is to leave registers where a hint says how many. 0: it is not told. Without products,
   ptxas takes more registers than it needs if it is told of few blocks, which helps only where loads on their way take
   many. On an H200, 129 kernels with accesses of 16 bytes take 0.82 to 1.04 of the time if it is not told, and ten
   others without short loads 0.79 to 0.99. */
static uint32_t blocks_with_hint(cg_func *c)
{
    uint32_t held = 0;
    const uint32_t asked = cg_blocks_beside_hint(c, &held);
    if (cg_has_products(c->ir->body))
        return blocks_of_products(c, asked);
    return asked * cg_all_threads(c) > cg_machine_of(c->target)->threads_enough || has_short_loads(c) ? asked : 0;
}

/* The blocks, or as many of them as have shared memory: registers for more would be left unused. */
static uint32_t with_shared_memory(const cg_func *c, uint32_t blocks)
{
    const uint32_t room = cg_blocks_of_shared(c, cg_shared_bytes(c));
    return room && room < blocks ? room : blocks;
}

bool cg_is_loaded_in_parts(cg_func *c, const ct_op *load)
{
    const cg_layout *l = cg_value_of(c, &load->results[0])->home;
    const uint32_t bits = load_vector(c, load);
    return bits < cg_chunk_bits(load->results[0].type) && l && bits < l->reg_bits;
}

/* Does a thread load a tile in several accesses, each shorter than 16 bytes? */
static bool loads_in_parts(cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (op->opcode == CT_ring && has_short_copies(op->detail))
            return true;
        if (loads_tile(op) && cg_is_loaded_in_parts(c, op))
            return true;
    }
    return false;
}

/* Does a loop add to memory, or wait for other blocks, which takes longer than what it loads? */
static bool has_atomic_loop(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(ACCESS)) && !cg_is_weak_access(op)
            && ct_loop_around(op))
            return true;
    return false;
}

/* Does the second of two versions load in parts what several iterations need that are executed together? */
static bool loads_together(cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        const ct_op *loop = loads_tile(op) ? ct_loop_around(op) : NULL;
        if (loop && loop->unrolled && cg_is_loaded_in_parts(c, op))
            return true;
    }
    return false;
}

/* Are the loads those of the second of two versions (codegen/passes/align.c), for which ptxas is told nothing? The
   first one, with accesses of 16 bytes, needs fewer registers, and what ptxas gives both without being told is often
   what the first one has alone: 26 kernels without loops are 0.95 to 1.18 times as fast on an H200, 1.01 in the
   geometric mean. Not so if iterations of a loop are executed together, because ptxas then waits for the loads of one
   before it starts those of the next: told of blocks, 36 such kernels of seeds that the rule was not read from are 0.92
   to 1.24 times as fast, 1.05 in the geometric mean. A multiprocessor has room for few blocks of one warp, and keeps
   them all (cross entropy of rows of f16 85 us instead of 95). */
static bool are_of_second(cg_func *c)
{
    return c->is_versioned && (!cg_real_warp_bits(c) || !loads_together(c));
}

/* The blocks of a kernel whose threads load in parts: without being told, ptxas makes room for as many blocks as it
   can, and waits for some of the parts before it loads others. So it has the registers that other code takes beside
   tiles twice over, unless enough threads would not have them. 0: there is no such load, or few are on their
   way at a time, or something else limits the kernel. */
static uint32_t blocks_of_parts(cg_func *c)
{
    const cg_machine *m = cg_machine_of(c->target);
    cg_kernel_cost k;
    uint32_t held = 0;
    if (c->groups || cg_has_products(c->ir->body) || cg_is_by_stores(c) || has_atomic_loop(c) || !loads_in_parts(c)
        || are_of_second(c))
        return 0;
    if (!cg_registers_held(c, &held))
        return 0;
    fit(c, &k, held);
    const uint32_t enough = (uint32_t)m->threads_enough / cg_all_threads(c),
                   least = k.blocks < enough ? k.blocks : enough;
    fit(c, &k, held + (uint32_t)m->registers_few);
    const uint32_t blocks = most_of(k.blocks, least);
    return blocks > 1 ? blocks : 0;
}

/* Is it a function of the elements of a tile: one that takes more than an approximation? */
static bool is_function(const ct_op *op)
{
    enum { APPROXIMATE = 2 /* instructions: to scale, and the special function */ };
    return ct_is_map(op) && cg_shape_of(op->results[0].type).tile_bits && cg_instructions_of(op) > APPROXIMATE;
}

/* Does the kernel compute functions of tiles, and exchange no elements between threads? */
static bool maps_by_functions(const cg_func *c)
{
    bool functions = false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)))
            return false;
        functions = functions || is_function(op);
    }
    return functions && !cg_has_products(c->ir->body) && !has_atomic_loop(c);
}

/* Two, for a map that computes functions of tiles and whose block would be alone on a multiprocessor by the registers
   that are predicted, if these are at most 8/5 of what two blocks have, so that not too many are spilled, and if shared
   memory has room for three, so that L1 has room for what is. ptxas takes the registers that are predicted, because
   each function begins when all elements of the one before are there; while one block waits for memory or at a barrier,
   the other computes. Other maps are computed element by element in fewer registers, unless ptxas is told that it has
   more. 0: it is no such map. */
static uint32_t blocks_of_functions(cg_func *c)
{
    cg_kernel_cost k;
    if (c->groups || !maps_by_functions(c) || !find_fit(c, &k) || k.blocks > 1
        || CG_FEW_BLOCKS * k.threads > k.machine->threads_enough)
        return 0;
    const double share = k.machine->registers / CG_FEW_BLOCKS / k.threads;
    const bool has_room = cg_blocks_of_shared(c, k.shared) > CG_FEW_BLOCKS;
    return has_room && k.registers <= share * 8 / 5 ? CG_FEW_BLOCKS : 0;
}

uint32_t cg_blocks_told(cg_func *c)
{
    uint32_t blocks = has_hint(c) ? blocks_with_hint(c) : blocks_without_hint(c);
    if (!blocks)
        blocks = blocks_of_parts(c);
    if (!blocks && !is_alone(c))
        blocks = blocks_of_functions(c);
    return with_shared_memory(c, blocks ? blocks : is_alone(c));
}
