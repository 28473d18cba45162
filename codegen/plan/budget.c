#include "codegen/plan/budget.h"

#include <assert.h>

#include "codegen/analysis/product.h"
#include "codegen/analysis/tensor_left.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"

/* ---- warps ---- */

/* log2 of the warps that layouts have, and of the iterations of a loop that stand for the upper ones
   (codegen/values/strips.h). */
typedef struct warps {
    uint32_t bits, strip_bits;
} warps;

/* Properties of a kernel's tiles. Sizes are log2 of elements. */
typedef struct tiles {
    uint32_t most;     /* the largest tile that needs registers */
    uint32_t bytes;    /* the longest of these, as log2 of bytes */
    uint32_t rows;     /* the largest tile of long rows that a load gives */
    uint32_t product;  /* the largest product */
    uint64_t sums;     /* elements of the sums that the products of one block hold at a time, not log2, */
    uint64_t step;     /* and bytes that the block loads */
    uint32_t held;     /* the same sums as log2, rounded up */
    bool has_products; /* including scaled ones */
    uint32_t block;    /* if the largest product has no instruction: the elements of it that a thread should have */
    bool is_together;  /* it is computed together with others */
    bool is_wide;      /* it is f64 */
    int64_t columns;   /* of the widest product */
    uint32_t made;     /* the largest operand, computed in registers, of a product with at least 128 rows; or both
                           operands, of tf32 */
    bool is_tall;      /* the largest product has few columns, and wgmma reads lines of 16-bit elements */
    bool adds_up;      /* registers hold sums of products twice, one part at a time */
    uint32_t reduced;  /* the largest tile that is reduced, and one more; 0: none is */
    bool by_turns;     /* loops reduce some of them */
    bool is_chain;     /* a product multiplies what another one led to */
    bool once;         /* no element is needed later */
} tiles;

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The number of elements of the sums that the products of the block hold in registers. */
static uint64_t sums_of(const cg_func *c, const ct_block *block)
{
    uint64_t all = 0, most = 0;
    for (const ct_op *op = block->first; op; op = op->next)
        if (cg_is_product(op) && !cg_is_product(cg_maker_of(cg_source_of(op->operands[2])))) {
            uint64_t sum = (uint64_t)1 << cg_shape_of(op->results[0].type).tile_bits;
            all += sum;
            most = sum > most ? sum : most;
        }
    return cg_is_chain_in_tensor(c, block) ? most : all;
}

/* Bytes of the tiles that the ops of the block load through views. */
static uint64_t loaded_by(const ct_block *block)
{
    uint64_t bytes = 0;
    for (const ct_op *op = block->first; op; op = op->next)
        if (op->opcode == OP_load_view_tko)
            bytes += (uint64_t)cg_memory_bytes(bc_elem_kind(op->results[0].type))
                     << cg_shape_of(op->results[0].type).tile_bits;
    return bytes;
}

/* Are there products with which this one could be computed together (codegen/analysis/product_together.c)? */
static bool has_company(const ct_op *op)
{
    uint32_t looked_at = 0;
    for (const ct_op *next = op->next; next && looked_at < CG_COMPANY_OPS; next = next->next, looked_at++)
        if (cg_shares_operand(op, next))
            return true;
    return false;
}

/* Whether the product is tall, and log2 of the elements that a thread should have of an f32 or f64 product without an
   instruction; fewer of each if several are computed together. */
static void look_at_block(tiles *t, const cg_func *c, const ct_op *op)
{
    const bc_type *type = op->results[0].type;
    bc_kind in = bc_elem_kind(op->operands[0]->type);
    cg_product p = cg_product_of(c, op);
    bool blocked = op->opcode == OP_mmaf && (in == BC_F32 || in == BC_F64) && !cg_has_atom(&p);
    t->is_wide = in == BC_F64;
    t->is_together = blocked && has_company(op);
    t->is_tall = c->target->features & CG_HAS_WGMMA && cg_memory_bytes(in) == 2
                 && type->shape[type->rank - 1] <= CG_FEW_COLUMNS && (2u << p.k) >= CG_LINE_BYTES;
    t->block = blocked ? (t->is_together ? CG_BLOCK_TOGETHER_BITS : CG_THREAD_ELEMENTS_BITS) - (uint32_t)t->is_wide : 0;
}

static bool loads_rows(const ct_op *op)
{
    const bc_type *type = op->result_count ? op->results[0].type : NULL;
    return op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(ACCESS)) && bc_is_tile(type) && type->rank
           && type->shape[type->rank - 1] >= CG_LONG_ROW;
}

/* Does the operand come from a load, also through conversions to tf32, which the product or copies can do? */
static bool comes_loaded(const ct_value *operand)
{
    const ct_value *v = cg_source_of(operand);
    while (v->op && v->op->opcode == OP_ftof)
        v = cg_source_of(v->op->operands[0]);
    return v->op && ct_is_load(v->op);
}

/* Both operands of 32 bits pass through registers if one of them is computed there. */
static void look_at_operands(tiles *t, const ct_op *product)
{
    enum { TWO_WARPGROUPS = 2 * CG_WARPGROUP_ROWS };
    t->is_chain = t->is_chain || cg_product_before(product);
    const bc_type *type = product->results[0].type;
    uint32_t bits[2] = {0};
    for (uint32_t i = 0; i < 2; i++)
        if (!cg_is_loaded_operand(product->operands[i]))
            bits[i] = cg_shape_of(product->operands[i]->type).tile_bits;
    uint32_t made = bits[0] > bits[1] ? bits[0] : bits[1];
    bool both = bits[0] && bits[1] && bc_elem_kind(product->operands[0]->type) == BC_TF32
                && !(comes_loaded(product->operands[0]) && comes_loaded(product->operands[1]));
    made = both ? cg_log2_up(((uint64_t)1 << bits[0]) + ((uint64_t)1 << bits[1]))
           : type->shape[type->rank - 2] >= TWO_WARPGROUPS ? made
                                                           : 0;
    t->made = made > t->made ? made : t->made;
}

static void look_at_reduce(tiles *t, const ct_op *reduce)
{
    t->reduced = larger(t->reduced, cg_shape_of(reduce->operands[0]->type).tile_bits + 1);
    t->by_turns = t->by_turns || ct_loop_around(reduce);
}

/* Do threads share out the elements of the value, as registers? */
static bool is_held(const ct_value *v)
{
    return bc_is_tile(v->type) && v->type->rank && !cg_is_loaded_operand(v);
}

static void look_at(tiles *t, const cg_func *c, const ct_op *op)
{
    if (op->opcode == OP_reduce)
        look_at_reduce(t, op);
    t->once = t->once && !bc_is_loop(op->opcode) && !t->reduced;
    for (uint32_t r = 0; bc_is_loop(op->opcode) && r < op->region_count; r++) {
        uint64_t sums = sums_of(c, op->regions[r]);
        uint32_t held = cg_log2_up(sums);
        t->held = held > t->held ? held : t->held;
        t->step = sums > t->sums ? loaded_by(op->regions[r]) : t->step;
        t->sums = sums > t->sums ? sums : t->sums;
    }
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (!is_held(&op->results[i]))
            continue;
        uint32_t bits = cg_shape_of(op->results[i].type).tile_bits;
        uint32_t bytes = bits + cg_log2_up(cg_memory_bytes(bc_elem_kind(op->results[i].type)));
        t->most = bits > t->most ? bits : t->most;
        t->bytes = bytes > t->bytes ? bytes : t->bytes;
        t->rows = loads_rows(op) && bits > t->rows ? bits : t->rows;
        t->has_products = t->has_products || cg_is_product(op);
        t->adds_up = t->adds_up
                     || (c->target->features & CG_HAS_ASYNC_PRODUCTS && cg_is_product(op) && cg_cuts_sums(c, op));
        if (cg_is_product(op))
            look_at_operands(t, op);
        const bc_type *type = op->results[i].type;
        if (cg_is_product(op) && type->shape[type->rank - 1] > t->columns)
            t->columns = type->shape[type->rank - 1];
        if ((op->opcode == OP_mmaf || op->opcode == OP_mmai) && bits > t->product) {
            t->product = bits;
            look_at_block(t, c, op);
        }
    }
}

/* log2 of the elements of a tile with which so many warps suit it. */
static uint32_t elements_of(uint32_t warp_bits)
{
    return warp_bits + CG_LANE_BITS + CG_THREAD_ELEMENTS_BITS;
}

/* In a chain of products, only sums count, as long as a thread of four warps would have at most 128 elements of any
   other tile: operands pass through registers piece by piece, whether they are converted or loaded through pointers.
   With more warps, rows are spread over several, and one block fills the shared memory of a multiprocessor. On an
   H200, eight chains of 64x128x128 take 0.58 to 0.78 of the time with four warps instead of eight, and 15 of 16 and
   32 rows 0.59 to 1.03 (0.76 in the geometric mean), but one of 64x128x256 1.15. */
static tiles tiles_of(const cg_func *c)
{
    tiles t = {.once = true};
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->plain && !op->likely && op->regions[0]->last)
            op = op->regions[0]->last; /* the choice for the loop's other version suits this one, too */
        else
            look_at(&t, c, op);
    if (t.is_chain && t.most <= elements_of(CG_USUAL_WARPS) + 1)
        t.most = t.product;
    return t;
}

enum { LEAST_OF_A_THREAD = 3 }; /* log2 of the elements of a block */

/* Each thread has a block of the product in registers, so that it uses each loaded element often. A single product
   gets four warps, as long as each thread has 2x4 elements, for which it reads six elements in eight multiplications:
   with 2x2 it would read one for each, and shared memory, which all warps share, is slower than that. */
static uint32_t warps_of_blocks(const tiles *t)
{
    uint32_t one = CG_LANE_BITS + t->block, bits = t->product > one ? t->product - one : 0;
    if (!t->is_together)
        while (bits < CG_USUAL_WARPS && bits + CG_LANE_BITS + LEAST_OF_A_THREAD < t->product)
            bits++;
    return bits < CG_MANY_WARPS ? bits : CG_MANY_WARPS;
}

/* Enough warps that a thread holds at most 64 elements of the largest tile, but 32 of one that is reduced, or of the
   largest one if a loop reduces any: with four warps on an H200, rows of 4096 came nearer to the memory's bandwidth
   than rows of 8192. For long rows that are loaded, 16 warps suffice. With products, a thread holds up to 128 elements,
   because a larger part of the product per warp means fewer reads of shared memory per mma; that does not apply if
   equally large operands are computed in registers, or to a product of 16 bits with few columns, whose warpgroups share
   the right operand (256x64, microseconds on an H200 with four and eight warps: with steps of 64 and more 766 and 612,
   188 and 170, 158 and 160; of 32 378 and 400). Fewer warps than usual only if lanes would have no elements. */
static uint32_t warps_that_suit(const tiles *t)
{
    const uint32_t many = elements_of(CG_MANY_WARPS), lanes = t->most > CG_LANE_BITS ? t->most - CG_LANE_BITS : 0;
    const bool is_small = t->product < CG_USUAL_WARPS + CG_LANE_BITS + LEAST_OF_A_THREAD;
    if (t->block && (t->product + 1 >= t->most || is_small))
        return warps_of_blocks(t);
    if (t->product >= elements_of(CG_USUAL_WARPS) && t->product == t->most)
        return t->product + (t->adds_up || t->is_wide) > many || t->held + t->is_wide > many
                       || (t->product >= many && (t->made >= many || t->is_tall))
                   ? CG_MANY_WARPS
                   : CG_USUAL_WARPS;
    if (t->reduced && !t->has_products && t->rows == t->most && t->most + 1 >= elements_of(CG_MANY_WARPS + 1))
        return CG_MANY_WARPS + 1;
    uint32_t suits = t->by_turns ? t->most + 1 : larger(t->most, t->reduced);
    return suits >= many ? CG_MANY_WARPS : lanes < CG_USUAL_WARPS ? lanes : CG_USUAL_WARPS;
}

/* log2 of the warps that a hint requests. Versions before 13.5 support 4 and 8 warps only, and round other numbers.
   False: there is no hint. */
static bool hinted_warps(const cg_func *c, uint32_t *out)
{
    int64_t hint = cg_hint_of(c, CG_HINT_WARPS);
    if (hint && !cg_choices_of(c)->warps && c->m->version < BC_13_5)
        hint = hint < 4 ? 4 : hint > 8 ? 8 : hint;
    *out = tv_trailing_zeros((uint32_t)hint | 64);
    return hint;
}

/* Tiles so long that a thread's part would fill its local memory get more warps. */
static uint32_t warps_of_strips(const tiles *t)
{
    uint32_t most = CG_STRIP_WARPS + CG_LANE_BITS + CG_STRIP_LOCAL_BITS, more = t->bytes > most ? t->bytes - most : 0;
    return CG_STRIP_WARPS + more < CG_BLOCK_WARPS ? CG_STRIP_WARPS + more : CG_BLOCK_WARPS;
}

/* Tiles with more than 128 elements per thread go in strips of 32. So do tiles with 128 if the kernel has no loops
   or reductions and reads each element once. Products keep theirs in registers. A hint takes precedence, except in
   three cases: tiles go in strips; products pass their results on, whose rows must stay in one warp, and sums in
   registers; or a thread would have too many elements of a product. */
static warps choose_warps(const cg_func *c, tiles t)
{
    if (t.most + t.once > CG_IN_REGISTERS_BITS && !t.has_products) {
        uint32_t strips = t.most - CG_STRIP_BITS;
        return (warps){.bits = strips + warps_of_strips(&t), .strip_bits = strips};
    }
    uint32_t chain = t.product && t.product == t.most ? cg_mma_chain_warps(c) : 0, hint;
    if (chain)
        return (warps){.bits = chain};
    bool is_hinted = hinted_warps(c, &hint);
    uint32_t in_thread = t.product && t.held > t.most ? t.held : t.most,
             limit = t.product ? elements_of(hint) + 1 : CG_LANE_BITS + hint + cg_log2_up(CG_THREAD_REGISTERS);
    bool is_too_much = in_thread > limit;
    if (t.block && t.product + 1 >= t.most) /* or too few, */
        is_too_much = is_too_much || hint > warps_of_blocks(&t) + 1;
    if (t.block) /* or no block of the product */
        is_too_much = is_too_much || t.product < CG_LANE_BITS + hint + CG_BLOCK_LEAST_BITS;
    return (warps){.bits = !is_hinted || is_too_much ? warps_that_suit(&t) : hint};
}

bool cg_has_loops(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (ct_is_loop(op))
            return true;
    return false;
}

bool cg_scans(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->opcode == OP_scan)
            return true;
    return false;
}

/* At least so many warps that a thread has registers for the tiles that are live at one time. A scan needs fewer than
   it seems: its result takes the registers of its operand one by one. */
static uint32_t warps_that_hold(cg_func *c, uint32_t warp_bits)
{
    enum { REGISTER_BITS = 32 };
    uint64_t bits = 0;
    if (!cg_bits_held(c, &bits))
        cg_no_memory(c);
    while (warp_bits < CG_MAP_MOST_WARPS && bits / REGISTER_BITS >> (CG_LANE_BITS + warp_bits) > CG_THREAD_REGISTERS)
        warp_bits++;
    return warp_bits;
}

void cg_set_warps(cg_func *c)
{
    tiles t = tiles_of(c);
    warps chosen = choose_warps(c, t);
    uint32_t hint;
    bool by_strips = cg_is_strip_map(c), is_hinted = hinted_warps(c, &hint);
    if (!chosen.strip_bits && !cg_choices_of(c)->warps && (t.most || !is_hinted)) /* a hint yields to tiles only */
        chosen.bits = cg_warps_of_accesses(c, t.most, chosen.bits);
    bool as_hinted = is_hinted && !by_strips && !cg_has_loops(c);
    uint32_t part = chosen.bits + CG_LANE_BITS,
             at_once = part < t.most ? cg_elements_at_once(c, t.most, as_hinted) : t.most;
    uint32_t divided = 0;
    bool by_warps = !by_strips && (chosen.strip_bits || !cg_is_better_in_strips(c, t.most, at_once));
    if (part + at_once < t.most && by_strips && !chosen.strip_bits && cg_divides_among_warps(c, t.most, &divided)) {
        chosen.bits = larger(chosen.bits, divided);
    } else if (part + at_once < t.most && !by_warps) { /* maps: more strips with fewer elements */
        chosen.strip_bits += t.most - part - at_once;
        chosen.bits += t.most - part - at_once;
    } else if (part + at_once < t.most && !chosen.strip_bits) { /* or more warps */
        uint32_t most = chosen.bits > CG_MAP_MOST_WARPS ? chosen.bits : CG_MAP_MOST_WARPS;
        chosen.bits += t.most - part - at_once;
        chosen.bits = chosen.bits < most ? chosen.bits : most;
    }
    if (is_hinted && t.reduced && !t.has_products && !cg_scans(c) && !chosen.strip_bits && !cg_choices_of(c)->warps)
        chosen.bits = warps_that_hold(c, chosen.bits);
    c->warp_bits = chosen.bits;
    c->strip_bits = chosen.strip_bits;
}

uint32_t cg_warps_unhinted(const cg_func *c)
{
    tiles t = tiles_of(c);
    return warps_that_suit(&t);
}

bool cg_product_suits(const cg_func *c, uint32_t warp_bits)
{
    return tiles_of(c).product >= warp_bits + CG_LANE_BITS + LEAST_OF_A_THREAD;
}

uint32_t cg_largest_tile(const cg_func *c)
{
    return tiles_of(c).most;
}

uint32_t cg_blocks_that_suit(const cg_func *c)
{
    uint32_t registers = (uint32_t)cg_machine_of(c->target)->registers;
    tiles t = tiles_of(c);
    uint64_t sums = ((uint64_t)2 << t.held) / cg_threads(c)
                    * (t.is_wide ? 2 : 1); /* of this step and the previous ones */
    return t.block && t.held && sums <= (1u << CG_THREAD_ELEMENTS_BITS)
               ? registers / CG_HALF_OF_REGISTERS / cg_threads(c)
               : 0;
}

uint32_t cg_product_registers(const cg_func *c)
{
    tiles t = tiles_of(c);
    uint32_t sums = ((1u << (t.held > t.product ? t.held : t.product)) / cg_threads(c)) << t.is_wide;
    return t.product ? sums + (uint32_t)cg_machine_of(c->target)->registers_mma : 0;
}

uint32_t cg_sum_registers(const cg_func *c)
{
    tiles t = tiles_of(c);
    return ((uint32_t)(t.sums / cg_threads(c)) << t.is_wide) + (uint32_t)cg_machine_of(c->target)->registers_mma;
}

/* Do all products read tiles as they are loaded, or what another product led to? */
static bool are_fed(const ct_func *f)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        for (uint32_t i = 0; cg_is_product(op) && i < 2; i++)
            if (!cg_is_loaded_operand(op->operands[i]) && (i || !cg_product_before(op)))
                return false;
    return true;
}

/* Can two blocks of one consumer warpgroup each share a multiprocessor, if a chain has so many columns? */
static bool may_share(int64_t columns)
{
    const cg_group_work half = {.consumers = 1u << (CG_WARPGROUP_BITS + CG_LANE_BITS),
                                .kind = CG_CHAIN,
                                .columns = columns,
                                .maps = true};
    const cg_group_budget *budget = cg_group_budget_of(&half, UINT32_MAX);
    return budget && budget->blocks > 1;
}

/* If two blocks share a multiprocessor, each with half of the rows, they alternate in computing what is between the
   products of a chain. This requires that each has room for two steps of the tiles that it loads, and registers for its
   columns if producers feed it. If not, one block is faster, as long as sums take at most three quarters of all
   registers. Attention backward with 128 columns on an
   H100, microseconds with two blocks and one: queries, 128x128: 589 and 347; keys, 64x128: 778 and 879. With 64
   columns: queries, 128x128: 747 and 907. */
static bool needs_room(const cg_func *c, const tiles *t)
{
    enum { STEPS = 2, HALF = 2 };
    return c->target->features & CG_HAS_ASYNC_PRODUCTS && t->sums <= CG_REGISTERS / 4 * 3 && t->product < t->held
           && !t->is_wide
           && (STEPS * t->step > ((uint64_t)c->target->shared_kib << 10) / HALF
               || (!may_share(t->columns) && are_fed(c->ir)))
           && cg_mma_chain_warps(c);
}

uint32_t cg_least_blocks(const cg_func *c)
{
    tiles t = tiles_of(c);
    uint32_t sums = t.held > t.product ? t.held : t.product;
    uint32_t most = cg_log2_up(CG_REGISTERS) - 1; /* half of the registers that a thread block can have */
    return sums > most && !needs_room(c, &t) ? (uint32_t)1 << (sums - most) : 1;
}

/* ---- groups ---- */

typedef enum where { NO, YES, ANY } where;

typedef struct row {
    cg_group_budget budget;
    uint32_t consumers;
    cg_group_kind kind;
    int64_t rows, least_columns, most_columns;
    where persistent;
} row;

/* Consumers may take no more registers than producers release; otherwise a block would wait for ever. */
#define GROUPS(consumers, kind, rows, columns, most, persistent, maps, blocks, slots, launched, own, others, why) \
    static_assert(!(launched)                                                                                     \
                      || (consumers) * (own) + CG_PRODUCER_THREADS * (others)                                     \
                             <= ((consumers) + CG_PRODUCER_THREADS) * (launched),                                 \
                  "more registers than the block was launched with");
#include "codegen/plan/budget.def"

static const row group_rows[] = {
#define GROUPS(consumers, kind, rows, columns, most, persistent, maps, blocks, slots, launched, own, others, why) \
    {{blocks, slots, launched, own, others, maps, why}, consumers, CG_##kind, rows, columns, most, persistent},
#include "codegen/plan/budget.def"
};

/* With fewer registers than its sums and operands take, a consumer spills sums, and ptxas awaits each product at
   once. Fewer than three blocks leave enough for an operand that it computes beside. On an H200, microseconds with
   three blocks and with two: f16 32x256x32 with a mask 977 and 261, 4 bits 128x64x64 201 and 156, bytes with a mask
   128x64x32 321 and 219. */
static bool fits(const row *r, const cg_group_work *w)
{
    const cg_group_kind kind = r->kind == CG_SHORT && w->is_short ? CG_ONE : r->kind;
    if (r->budget.launched && w->registers + (r->budget.blocks > CG_FEW_BLOCKS ? w->computed : 0) > r->budget.consumers)
        return false;
    return r->consumers == w->consumers && kind == w->kind && w->rows >= r->rows && w->columns >= r->least_columns
           && w->columns <= r->most_columns && (r->persistent == ANY || w->is_persistent == (r->persistent == YES))
           && (!r->budget.maps || w->maps) && (!r->budget.launched || r->budget.launched >= w->launched)
           && (r->kind != CG_CHAIN || w->rows <= (w->consumers >> (CG_WARPGROUP_BITS + CG_LANE_BITS)) * w->own_rows);
}

const cg_group_budget *cg_group_budget_of(const cg_group_work *work, uint32_t most_blocks)
{
    for (size_t i = 0; i < sizeof group_rows / sizeof *group_rows; i++)
        if (group_rows[i].budget.blocks <= most_blocks && fits(&group_rows[i], work))
            return &group_rows[i].budget;
    return NULL;
}

/* ---- slots ---- */

enum { ALL = INT32_MAX };

typedef struct slot_row {
    cg_slot_kind kind;
    uint32_t least, most, bytes, threads;
    const char *why;
} slot_row;

static const slot_row slot_rows[] = {
#define SLOTS(kind, least, most, bytes, threads, why) {CG_##kind, least, most, bytes, threads, why},
#include "codegen/plan/budget.def"
};

/* The number of blocks that the hint requests, as far as there are registers for their tiles: memory that is left to
   others would be left to nobody. */
static uint32_t blocks_asked_for(cg_func *c)
{
    enum { REGISTER_BITS = 32 };
    const uint32_t few = (uint32_t)cg_machine_of(c->target)->registers_few,
                   hint = cg_hint_of(c, CG_HINT_OCCUPANCY) ? cg_blocks_hinted(c, cg_product_registers(c) + few) : 0;
    uint64_t bits;
    if (!hint)
        return hint;
    if (!cg_bits_held(c, &bits))
        return hint;
    const uint32_t held = (uint32_t)(bits / REGISTER_BITS / cg_threads(c)),
                   blocks = cg_blocks_hinted(c, cg_registers_wanted(c, held));
    return blocks < hint ? blocks : hint;
}

uint32_t cg_blocks_of_shared(const cg_func *c, uint32_t bytes)
{
    return ((uint32_t)c->target->shared_kib << 10) / (bytes + CG_SYSTEM_SHARED);
}

uint32_t cg_room_beside(cg_func *c, uint32_t threads)
{
    uint32_t own = cg_threads(c), blocks = threads > own ? threads / own : 1, slices = cg_slices(c);
    uint32_t hint = blocks_asked_for(c), most = hint > blocks ? hint : blocks;
    return ((uint32_t)c->target->shared_kib << 10) / ((most + slices - 1) / slices * slices);
}

/* The fewest stages, at least two, with which a few blocks have enough bytes on their way. If a launch has a block for
   each tile, no block uses them: they only take memory from other blocks, and from L1, through which its loads go. */
static uint32_t stages_enough(const cg_func *c, uint32_t slot_bytes)
{
    uint32_t ahead = (uint32_t)cg_machine_of(c->target)->bytes_ahead, blocks = CG_MOST_BLOCKS;
    return 2 + (ahead - 1) / (blocks * slot_bytes);
}

/* The bytes of a block that the row says; fewer if two blocks, for which the hint asks, would then have three stages.
   More blocks gain less than the stages that they cost. */
static uint32_t bytes_of_row(cg_func *c, const slot_row *r, const cg_slot_work *w)
{
    uint32_t two = ((uint32_t)c->target->shared_kib << 10) / CG_FEW_BLOCKS, asked = cg_room_beside(c, cg_threads(c)),
             hinted = (asked > two ? asked : two) - CG_SYSTEM_SHARED;
    return hinted < r->bytes && hinted / w->slot_bytes >= CG_SLOTS_IN_FLIGHT ? hinted : r->bytes;
}

static cg_slot_budget slots_of(cg_func *c, const slot_row *r, const cg_slot_work *w)
{
    uint32_t share = r->threads == ANY ? bytes_of_row(c, r, w) : cg_room_beside(c, r->threads),
             room = share > w->rest ? share - w->rest : 0;
    room = room < w->fits ? room : w->fits;
    uint32_t slots = room / w->slot_bytes, most = r->kind == CG_TURNS ? stages_enough(c, w->slot_bytes) : r->most;
    most = most < r->most ? most : r->most;
    slots = slots < most ? slots : most;
    return (cg_slot_budget){.slots = slots, .room = room, .why = r->why};
}

/* Do few threads share the multiprocessor? They wait longer than one stage saves, in the version without stages, too,
   and for many short copies. */
static bool leaves_few(const slot_row *r)
{
    enum { FEW_THREADS = 256 };
    return r->threads != ANY && r->threads <= FEW_THREADS;
}

cg_slot_budget cg_slot_budget_of(cg_func *c, const cg_slot_work *work)
{
    cg_slot_budget b = {.slots = 0};
    for (size_t i = 0; i < TV_COUNT(slot_rows); i++) {
        const slot_row *r = &slot_rows[i];
        if (r->kind != work->kind)
            continue;
        cg_slot_budget own = slots_of(c, r, work);
        bool fits = own.slots >= r->least, is_short = work->copy_bytes < CG_ACCESS_BYTES;
        if (leaves_few(r) && (!fits || c->is_versioned || is_short))
            continue;
        b = own;
        if (fits || (c->is_versioned && b.slots >= 2))
            break;
    }
    b.slots = b.slots < work->iterations ? b.slots : work->iterations;
    if (cg_choices_of(c)->stages && b.slots > cg_choices_of(c)->stages)
        b.slots = cg_choices_of(c)->stages;
    return b;
}

static const cg_kept_row kept_rows[] = {
#define KEPT(least, most, ahead, fewest, threads, why) {least, most, ahead, fewest, threads, why},
#include "codegen/plan/budget.def"
};

const cg_kept_row *cg_kept_row_at(size_t i)
{
    return i < TV_COUNT(kept_rows) ? &kept_rows[i] : NULL;
}

/* ---- loads prefetched into registers ---- */

static const cg_early_row early_rows[] = {
#define EARLY(kind, iterations, most, all, why) {CG_EARLY_##kind, iterations, most, all, why},
#include "codegen/plan/budget.def"
};

const cg_early_row *cg_early_row_of(cg_early_kind kind)
{
    const cg_early_row *found = early_rows;
    while (found->kind != kind)
        found++;
    return found;
}
