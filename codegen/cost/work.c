/* The work of an op in a thread block: instructions by class, traffic through shared memory and from global memory,
   work of the tensor cores; see the header. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/ring.h"
#include "codegen/analysis/tensor.h"
#include "codegen/cost/cost.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

uint32_t cg_bytes_in_barriers(const cg_func *c, uint32_t barriers)
{
    const cg_machine *m = cg_machine_of(c->target);
    return (uint32_t)(barriers * m->barrier * m->shared_bytes);
}

/* The bytes of a tile in global memory. */
static double bytes_of(const bc_type *tile)
{
    bc_kind kind = bc_elem_kind(tile);
    uint32_t bytes = bc_kind_memory_bytes(kind);
    double elements = (double)((uint64_t)1 << cg_shape_of(tile).tile_bits);
    return bytes ? elements * bytes : elements / 2;
}

static bool is_tile(const ct_value *v)
{
    return bc_is_tile(v->type) && v->type->rank;
}

/* The elements of a tile per lane, summed over warps, including replicas. */
static double held_by_warps(cg_func *c, const ct_value *v)
{
    const cg_value *x = cg_value_of(c, v);
    uint32_t bits = cg_shape_of(v->type).tile_bits;
    if (x->form == CG_TILE)
        return (double)((uint64_t)1 << (x->home->reg_bits + c->warp_bits));
    return bits > CG_LANE_BITS ? (double)((uint64_t)1 << (bits - CG_LANE_BITS)) : 1;
}

static double elements_of(const ct_value *v)
{
    return bc_is_tile(v->type) ? (double)((uint64_t)1 << cg_shape_of(v->type).tile_bits) : 0;
}

static void add_instructions(const cg_machine *m, double issue, double half, double special, cg_work *w)
{
    w->cycles[CG_ISSUE] += issue / m->issue;
    w->cycles[CG_HALF] += half / m->half_rate;
    w->cycles[CG_SPECIAL] += special / m->special_rate;
}

/* ---- global memory ---- */

static const ct_value *stored_by(const ct_op *op)
{
    switch ((int)op->opcode) {
    case OP_store_ptr_tko: return ct_operand(op, F_store_ptr_tko_value);
    case OP_store_view_tko: return ct_operand(op, F_store_view_tko_tile);
    case OP_atomic_red_view_tko: return ct_operand(op, F_atomic_red_view_tko_value);
    default: return NULL;
    }
}

static const bc_type *moved_tile(const ct_op *op)
{
    switch ((int)op->opcode) {
    case CT_staged:
    case OP_load_view_tko:
    case OP_load_ptr_tko:
    case OP_atomic_rmw_tko:
    case OP_atomic_cas_tko: return op->results[0].type;
    default: return stored_by(op) ? stored_by(op)->type : NULL;
    }
}

/* The slots that hold the tile one after the other: if strips have a ring of their own, a slot holds one of them. */
static double slots_of_tile(const ct_op *staged)
{
    const cg_ring *ring = cg_ring_of(staged, staged->operand_count - 1);
    uint32_t strips = 0;
    bool is_own = false;
    for (const ct_op *in = staged->block->parent; in && in->opcode == CT_strips; in = in->block->parent) {
        const cg_trips *trips = in->detail;
        is_own = is_own || trips->ring == ring;
        strips += is_own ? cg_count_bits(trips->mask) : 0;
    }
    return (double)((uint64_t)1 << strips);
}

double cg_bytes_moved(const ct_op *op, const ct_value **out_memory)
{
    const bc_type *tile = moved_tile(op);
    bool write;
    *out_memory = tile ? cg_memory_of(op, &write) : NULL;
    if (op->opcode == CT_staged)
        return cg_ring_load_bytes(op->detail) * slots_of_tile(op);
    return tile ? bytes_of(tile) : 0;
}

/* The layout in which threads move the tile; NULL: the copy engine does, or it is not known. */
static const cg_layout *moved_layout(cg_func *c, const ct_op *op)
{
    if (op->opcode == CT_staged) {
        const cg_ring_load *load = op->detail;
        return cg_is_copied_by_threads(cg_ring_of(op, op->operand_count - 1), load) ? &load->layout : NULL;
    }
    const ct_value *v = op->result_count && bc_is_tile(op->results[0].type) ? &op->results[0] : stored_by(op);
    const cg_value *x = v ? cg_value_of(c, v) : NULL;
    return x && x->form == CG_TILE ? x->home : NULL;
}

/* What warps read of a tile in a slot to compute an operand of a product from it: those that share neither its rows nor
   its columns read it for themselves. */
static void add_reads(cg_func *c, const cg_machine *m, const ct_op *staged, cg_work *w)
{
    const cg_ring_load *load = staged->detail;
    const ct_value *tile = &staged->results[0];
    if (load->computed)
        w->cycles[CG_SHARED_MEMORY] += held_by_warps(c, tile) * (1 << CG_LANE_BITS)
                                       * cg_memory_bytes(bc_elem_kind(tile->type)) / m->shared_bytes;
}

/* Copies also go through shared memory. The copy engine needs a single instruction for a whole tile. */
static void add_access(cg_func *c, const cg_machine *m, const ct_op *op, cg_work *w)
{
    const ct_value *memory;
    double bytes = cg_bytes_moved(op, &memory);
    w->cycles[CG_L2] += bytes / m->l2_bytes;
    w->cycles[CG_DRAM] += bytes / (m->dram_tb * 1e3 / m->clock_ghz / m->multiprocessors);
    const cg_layout *layout = moved_layout(c, op);
    if (layout)
        cg_add_accesses(c, m, op, moved_tile(op), layout, w);
    else if (op->opcode == CT_staged)
        w->cycles[CG_SHARED_MEMORY] += bytes / m->shared_bytes;
    if (op->opcode == CT_staged)
        add_reads(c, m, op, w);
    else if (op->result_count && bc_is_tile(op->results[0].type))
        w->latency = m->dram_latency;
}

/* ---- products ---- */

/* The multiply-adds of a cycle for such elements. Without an mma.sync for them, they are widened to f16. */
static double tensor_rate(const cg_machine *m, const cg_product *p, bc_kind in, bool is_async)
{
    static const struct {
        bc_kind kind;
        double rates[3];
    } rows[] = {
#define TENSOR(kind, sm_80, sm_90, sm_90_mma) {BC_##kind, {sm_80, sm_90, sm_90_mma}},
#include "codegen/cost/cost.def"
    };
    bc_kind multiplied = p->atom.widened && !is_async ? BC_F16 : in;
    for (size_t i = 0; i < TV_COUNT(rows); i++)
        if (rows[i].kind == multiplied)
            return m->tensor_factor * rows[i].rates[!m->has_async ? 0 : is_async ? 1 : 2];
    return m->tensor_factor * rows[0].rates[m->has_async ? 2 : 0];
}

static double cycles_on(const cg_func *c, const cg_machine *m, const ct_op *product, bool is_async)
{
    const bc_type *left = product->operands[0]->type;
    cg_product p = cg_product_of(c, product);
    double all = (double)((uint64_t)1 << cg_shape_of(product->results[0].type).tile_bits)
                 * (double)left->shape[left->rank - 1];
    return all / tensor_rate(m, &p, bc_elem_kind(left), is_async);
}

double cg_async_cycles(const cg_func *c, const ct_op *product)
{
    return cycles_on(c, cg_machine_of(c->target), product, true);
}

double cg_mma_cycles(const cg_func *c, const ct_op *product)
{
    cg_machine usual;
    cg_machine_for(c->target, CG_ANY_GPU, &usual);
    return cycles_on(c, &usual, product, false);
}

/* The bytes that a product reads from shared memory: an asynchronous one reads the right operand once for each 64
   rows, and the left one unless it is in registers; with mma.sync, each warp reads its parts of both. */
static double operand_bytes(const cg_product *p, bool is_async, double left, double right)
{
    enum { ROWS = 6 };
    double strips = is_async && p->m > ROWS ? (double)(1u << (p->m - ROWS)) : 1;
    if (cg_has_trait(p, CG_TRANSPOSES)) /* strips of 64 columns read all of the left operand */
        return left * (p->n > ROWS ? (double)(1u << (p->n - ROWS)) : 1) + right;
    if (p->instruction == CG_BY_REORDERED_MMA)
        return right * (double)(1u << p->along_m);
    if (is_async)
        return right * strips + (p->chained ? 0 : left);
    return left * (double)(1u << p->along_n) + right * (double)(1u << p->along_m);
}

/* Accumulators that do not fit into a thread's registers go to local memory and back for each instruction along K. */
static double spilled_cycles(cg_func *c, const cg_machine *m, const ct_op *op, const cg_product *p, uint32_t parts)
{
    enum { MOST = 224, BYTES = 4 }; /* registers; the rest is for operands and addresses */
    const cg_value *sums = cg_value_of(c, cg_result(op, 0));
    double of_a_thread = sums->form == CG_TILE ? (double)cg_layout_regs(sums->home) : 0;
    double steps = (double)(1u << (p->k > p->atom.k_bits + parts ? p->k - p->atom.k_bits - parts : 0));
    return of_a_thread > MOST ? 2 * steps * of_a_thread * cg_threads(c) * BYTES / m->local_bytes : 0;
}

/* Passes of shared memory for each multiplication of a lane in a blocked product: it uses a word of a row of its block
   for all columns, and the other way round. Neighbouring lanes need the same elements of one operand, so that a load of
   16 bytes takes half of the passes for all its bytes (cg_block_layout). */
static double passes_of_a_block(cg_func *c, const ct_op *op, const cg_product *p)
{
    enum { SHARED_BY = 2 };
    const cg_layout *sums = cg_value_of(c, cg_result(op, 0))->home;
    uint32_t columns = 0, rows = 0;
    for (uint32_t i = 0; i < sums->reg_bits; i++) {
        columns += sums->reg[i] >> p->n == 0;
        rows += sums->reg[i] >> p->n != 0 && sums->reg[i] >> (p->n + p->m) == 0;
    }
    return (1.0 / (1u << columns) + 1.0 / (1u << rows)) / SHARED_BY * (p->in == BC_F64 ? 2 : 1);
}

bool cg_computes_left(const cg_func *c, const ct_op *product)
{
    bool from_slots = false;
    for (const ct_op *op = product->block->first; op != product; op = op->next)
        from_slots = from_slots || (op->opcode == CT_staged && ((const cg_ring_load *)op->detail)->computed);
    return from_slots && cg_product_of(c, product).instruction == CG_BY_WGMMA;
}

static cg_product settled_product(cg_func *c, const ct_op *op)
{
    const cg_product *settled = cg_value_of(c, cg_result(op, 0))->product;
    return settled ? *settled : cg_product_of(c, op);
}

/* The time of dependent mma.sync instructions along K beyond the time for which the tensor cores are busy: each adds
   to the sums of the one before. */
static double chain_of(const cg_machine *m, const cg_product *p, uint32_t parts, double busy)
{
    double steps = (double)(1u << (p->k > p->atom.k_bits + parts ? p->k - p->atom.k_bits - parts : 0));
    return steps * m->mma_latency > busy ? steps * m->mma_latency - busy : 0;
}

/* Operands in registers go to the product through shared memory, with a barrier before and after, unless the product
   reads registers. One that consumers compute is read from a slot instead, and the product awaited in each iteration,
   which takes about as long as the barriers. */
static void add_stores(const cg_func *c, const cg_machine *m, const ct_op *op, const cg_product *p, cg_work *w)
{
    for (uint32_t i = 0; i < 2; i++) {
        bool in_registers = !cg_encoding_of(op->operands[i]) && !(p->held >> i & 1)
                            && !(i == 0 && (p->chained || p->instruction == CG_BY_REORDERED_MMA)),
             is_stored = in_registers && !(i == 0 && cg_computes_left(c, op));
        w->cycles[CG_SHARED_MEMORY] += is_stored ? bytes_of(op->operands[i]->type) / m->shared_bytes : 0;
        w->latency += in_registers ? 2 * m->barrier : 0;
    }
}

/* A product that rounds f32 in its fragments does so in each warp that reads them, whose lanes load single elements
   where rows do not run along K. */
static void add_roundings(const cg_machine *m, const ct_op *op, const cg_product *p, uint32_t parts, cg_work *w)
{
    const uint32_t others[] = {p->along_n, p->along_m};
    for (uint32_t i = 0; i < 2 && op->way == CT_FRAGMENTS; i++) {
        const ct_op *staged = cg_staged_behind(op->operands[i]);
        if (!staged || bc_elem_kind(staged->results[0].type) != BC_F32)
            continue;
        bool by_elements = ((const cg_ring_load *)staged->detail)->feed == CG_FEED_ELEMENTS;
        double all = elements_of(op->operands[i]) * (double)(1u << others[i]) / (double)(1u << (CG_LANE_BITS + parts));
        add_instructions(m, by_elements ? 2 * all : all, all, 0, w);
    }
}

/* Without an instruction for it, warps widen the elements that they read, two at a time, and multiply the sum of each
   block by two scales. */
static void add_scaled_blocks(const cg_machine *m, const cg_product *p, uint32_t parts, cg_work *w)
{
    enum { WIDENED = 2, FOR_A_SUM = 2 };
    double k = (double)((uint64_t)1 << (p->k + p->packed + p->batch - parts)) / (1 << CG_LANE_BITS);
    double widened = k * ((1u << (p->m + p->along_n)) + (1u << (p->n + p->along_m))) / WIDENED,
           sums = k * (double)((uint64_t)1 << (p->m + p->n)) / (1u << p->scaling->block);
    add_instructions(m, widened + FOR_A_SUM * sums, widened, 0, w);
}

static void add_product(cg_func *c, const cg_machine *m, const ct_op *op, cg_work *w)
{
    enum {
        OF_AN_MMA = 2048,
        OF_AN_MMA_OF_F64 = 1024,
        PLAIN = 2 /* instructions for each multiplication without an atom */
    };
    cg_product p = settled_product(c, op);
    uint32_t parts = op->detail ? ((const cg_k_part *)op->detail)->bits : 0;
    bool is_async = cg_mma_is_async(c, op);
    double all = (double)((uint64_t)1 << (p.m + cg_sum_columns(&p) + p.k + p.packed + p.batch - parts));
    uint32_t spread = p.instruction == CG_BY_TCGEN05 ? cg_tcgen05_spread(&p) : 0; /* it has rows between those */
    double left = bytes_of(op->operands[0]->type) / (1u << parts),
           right = bytes_of(op->operands[1]->type) / (1u << parts);
    if (!cg_has_atom(&p)) {
        w->cycles[CG_ISSUE] += all / (1 << CG_LANE_BITS) * PLAIN / m->issue;
        w->cycles[CG_SHARED_MEMORY] += all / (1 << CG_LANE_BITS)
                                       * (p.instruction == CG_BY_BLOCKS ? passes_of_a_block(c, op, &p) : 1);
        return;
    }
    w->cycles[CG_TENSOR_CORES] += all * (1u << spread) / tensor_rate(m, &p, p.in, is_async);
    const bool left_held = p.held & 1 || cg_computes_left(c, op);
    w->cycles[CG_SHARED_MEMORY] +=
        operand_bytes(&p, is_async, left_held ? 0 : left * (1u << spread), p.held & 2 ? 0 : right) / m->shared_bytes;
    w->cycles[CG_SHARED_MEMORY] += spilled_cycles(c, m, op, &p, parts);
    double of_an_mma = p.in == BC_F64 ? OF_AN_MMA_OF_F64 : OF_AN_MMA;
    w->cycles[CG_ISSUE] += is_async ? 0 : all / of_an_mma * 1.5 / m->issue; /* and half a load of fragments for each
                                                                               instruction */
    w->latency = is_async ? m->product_latency : chain_of(m, &p, parts, w->cycles[CG_TENSOR_CORES]);
    add_roundings(m, op, &p, parts, w);
    if (p.scaling && p.scaling->after)
        add_scaled_blocks(m, &p, parts, w);
    add_stores(c, m, op, &p, w);
}

double cg_flops_peak(cg_func *c, const cg_machine *machine, const ct_op *product)
{
    cg_product p = settled_product(c, product);
    double rate = cg_has_atom(&p) ? tensor_rate(machine, &p, p.in, cg_mma_is_async(c, product)) : 0;
    return 2 * rate * machine->multiprocessors * machine->tensor_ghz * 1e9;
}

static bool gives_floats(const ct_op *op)
{
    return op->result_count && bc_is_tile(op->results[0].type)
           && bc_kind_in(bc_elem_kind(op->results[0].type), BC_SET_FLOAT);
}

/* The floating-point operations of a map per element. */
static double flops_of_map(const ct_op *op)
{
    if (op->opcode >= OP_LIMIT || !bc_op_in(op->opcode, BC_OPS(MAP)) || op->opcode == OP_select || !gives_floats(op))
        return 0;
    return op->opcode == OP_fma ? 2 : 1;
}

double cg_flops_of(cg_func *c, const ct_op *op)
{
    double each = 0;
    if (!gives_floats(op))
        return 0;
    if (cg_is_product(op)) {
        cg_product p = settled_product(c, op);
        uint32_t parts = op->detail ? ((const cg_k_part *)op->detail)->bits : 0;
        return 2.0 * (double)((uint64_t)1 << (p.m + cg_sum_columns(&p) + p.k + p.packed + p.batch - parts));
    }
    if (op->opcode >= OP_LIMIT || !bc_op_in(op->opcode, BC_OPS(FOLD)))
        return elements_of(&op->results[0]) * flops_of_map(op);
    for (const ct_op *in = op->regions[0] ? op->regions[0]->first : NULL; in; in = in->next)
        each += flops_of_map(in);
    return elements_of(op->operands[0]) * each;
}

/* ---- in registers ---- */

typedef struct instructions {
    uint8_t issue, half, special;
} instructions;

/* May the op be a single instruction of the special function unit? */
static bool is_approximate(const ct_op *op)
{
    switch ((int)op->opcode) {
    case OP_exp2: return ct_attr_u(op, F_exp2_flush_to_zero);
    case OP_divf: return ct_attr_u(op, F_divf_rounding_mode) == BC_RoundingMode_approx;
    case OP_sqrt: return ct_attr_u(op, F_sqrt_rounding_mode) == BC_RoundingMode_approx;
    case OP_tanh: return ct_attr_u(op, F_tanh_rounding_mode) == BC_RoundingMode_approx;
    default: return false;
    }
}

static instructions instructions_of(const ct_op *op, bc_kind kind)
{
    static const instructions rows[OP_LIMIT] = {
#define OPERATION(opcode, issue, half, special) [OP_##opcode] = {issue, half, special},
#include "codegen/cost/cost.def"
    };
    if (is_approximate(op))
        return (instructions){2, 0, 1};
    if (rows[op->opcode].issue)
        return rows[op->opcode];
    return (instructions){1, bc_kind_in(kind, BC_SET_INT), 0};
}

uint32_t cg_instructions_of(const ct_op *op)
{
    return instructions_of(op, bc_elem_kind(op->results[0].type)).issue;
}

/* Adds a map over so many elements per lane, summed over warps. Two 2-byte elements share a register if the op is a
   single instruction. */
static void add_map(const cg_machine *m, const ct_op *op, double warps, cg_work *w)
{
    bc_kind kind = bc_elem_kind(op->results[0].type);
    instructions n = instructions_of(op, kind);
    double each = warps;
    if (n.issue == 1 && !n.half && bc_kind_memory_bytes(kind) == 2)
        each = warps / 2;
    if (kind == BC_F64)
        each = warps * m->issue / m->f64_rate;
    add_instructions(m, each * n.issue, each * n.half, each * n.special, w);
}

/* The index bits of the dimension along which the op folds. */
static uint32_t folded_bits(const ct_op *op)
{
    cg_shape shape = cg_shape_of(op->operands[0]->type);
    bool reduces = op->opcode == OP_reduce;
    return cg_dim_mask(&shape, (uint32_t)ct_attr_u(op, reduces ? F_reduce_dim : F_scan_dim));
}

/* Partial results of warps pass through shared memory: each warp writes its own, and reads those of all. */
static void add_exchange(cg_func *c, const cg_machine *m, const ct_op *op, uint32_t warps, cg_work *w)
{
    enum { OF_A_WARP = 16 << CG_LANE_BITS };
    const cg_layout *home = cg_value_of(c, cg_result(op, 0))->home;
    uint32_t lanes = CG_LANE_BITS - cg_count_bits(cg_layout_thread_replicas(home, 0));
    for (uint32_t i = 0; i < op->operand_count; i++) {
        double element = cg_memory_bytes(bc_elem_kind(op->operands[i]->type)),
               written = elements_of(&op->results[i]) * element * (1u << warps),
               read = (double)((uint64_t)element << (home->reg_bits + lanes + c->warp_bits + warps));
        w->cycles[CG_SHARED_MEMORY] += (written + read) / m->shared_bytes;
        add_instructions(m, (written + read) / OF_A_WARP, 0, 0, w);
    }
}

/* Adds a reduction or scan: each element once, then shuffles between lanes, and what warps exchange. Where the lanes of
   a bit have different results, they had the same ones before, and each kept half of them. */
static void add_fold(cg_func *c, const cg_machine *m, const ct_op *op, cg_work *w)
{
    const cg_value *x = cg_value_of(c, cg_result(op, 0));
    double each = held_by_warps(c, op->operands[0]); /* with several operands, one execution of the body handles an
                                                        element of each */
    bool known = x->source && x->form == CG_TILE;
    uint32_t mask = folded_bits(op), lanes = 0, warps = 0, kept = 0;
    double left = held_by_warps(c, cg_result(op, 0)), steps = 0;
    for (uint32_t i = 0; known && i < x->source->reg_bits; i++)
        kept += (x->source->reg[i] & ~mask) != 0;
    if (known)
        left = (double)((uint64_t)1 << (kept + c->warp_bits));
    for (uint32_t i = 0; known && i < x->source->warp_bits; i++)
        warps += (x->source->warp[i] & mask) != 0;
    for (uint32_t i = 0; known && i < CG_LANE_BITS; i++)
        if (x->source->lane[i] & mask) {
            bool halves = kept && (warps || x->home->lane[i]);
            left /= halves ? 2 : 1;
            kept -= halves;
            steps += left;
            lanes++;
        }
    const ct_block *body = op->region_count ? op->regions[0] : NULL;
    for (const ct_op *in = body ? body->first : NULL; in; in = in->next)
        if (in->result_count && bc_is_tile(in->results[0].type))
            add_map(m, in, each + steps, w);
    add_instructions(m, steps, steps, 0, w);
    if (warps)
        add_exchange(c, m, op, warps, w);
    w->latency = lanes * m->shuffle_latency + (warps > 0 ? 3 : 1) * m->barrier;
}

static void add_conversion(cg_func *c, const cg_machine *m, const ct_op *op, cg_work *w)
{
    enum { OF_A_WARP = 16 << CG_LANE_BITS };
    const ct_value *from = op->operands[0];
    cg_conversion how = cg_conversion_of(c, op, bc_elem_kind(from->type), cg_value_of(c, from)->home,
                                         cg_value_of(c, cg_result(op, 0))->home);
    double warps = (double)(1u << c->warp_bits);
    if (how.way == CG_BY_SHUFFLES)
        add_instructions(m, how.shuffles * warps, how.shuffles * warps, 0, w);
    if (how.way == CG_BY_NAMES || how.way == CG_BY_SHUFFLES)
        return;
    w->cycles[CG_SHARED_MEMORY] += 2 * (double)how.bytes / m->shared_bytes;
    add_instructions(m, 2 * (double)how.bytes / OF_A_WARP, 0, 0, w);
    w->latency = 2 * m->barrier;
}

/* ---- an op ---- */

static void add_elements(cg_func *c, const cg_machine *m, const ct_op *op, cg_work *w)
{
    if (!op->result_count || !is_tile(&op->results[0]))
        return; /* scalars are few */
    if (ct_is_map(op) && op->opcode != OP_constant)
        add_map(m, op, held_by_warps(c, cg_result(op, 0)), w);
    else if (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(PART)))
        add_instructions(m, held_by_warps(c, cg_result(op, 0)), 0, 0, w);
}

/* Adds the multiplication of a sum in tensor memory: each element once. Loads and stores have 32 words of each lane. */
static void add_scaling(cg_func *c, const cg_machine *m, const ct_op *op, cg_work *w)
{
    const bc_type *sum = cg_sum_of(c, op)->product->results[0].type;
    add_instructions(m, (double)((uint64_t)1 << cg_shape_of(sum).tile_bits) / (1u << CG_LANE_BITS), 0, 0, w);
}

cg_work cg_work_of(cg_func *c, const cg_machine *m, const ct_op *op)
{
    cg_work w = {.latency = 0};
    if (cg_is_product(op))
        add_product(c, m, op, &w);
    else if (op->opcode == CT_scale_sum || op->opcode == CT_correct)
        add_scaling(c, m, op, &w);
    else if (op->opcode == CT_convert)
        add_conversion(c, m, op, &w);
    else if (op->opcode == CT_await)
        w.latency = m->barrier;
    else if (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)))
        add_fold(c, m, op, &w);
    else if (moved_tile(op))
        add_access(c, m, op, &w);
    else
        add_elements(c, m, op, &w);
    return w;
}
