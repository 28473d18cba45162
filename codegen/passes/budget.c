#include "codegen/passes/budget.h"

#include <assert.h>

#include "codegen/analysis/product.h"
#include "codegen/cost/cost.h"
#include "codegen/kernel/groups.h"

/* ---- warps ---- */

/* Logarithms: the elements of the largest tile that is kept in registers; of a strip of a larger one, and its warps. */
#ifdef TV_SMALL_STRIPS /* tests: tiles of any size go in strips */
enum { MOST_IN_REGISTERS = 7, STRIP_ELEMENTS = 7, STRIP_WARPS = 1 };
#else
enum { MOST_IN_REGISTERS = 15, STRIP_ELEMENTS = 13, STRIP_WARPS = 3 };
#endif

/* Logarithms: the warps that layouts have; of these, the upper ones that are trips of a loop (codegen/values/strips.h).
 */
typedef struct warps {
    uint32_t bits, strip_bits;
} warps;

/* What a kernel's tiles are like: logarithms of elements. */
typedef struct tiles {
    uint32_t most;     /* of the largest one that needs registers */
    uint32_t bytes;    /* of the longest one of these, in bytes */
    uint32_t rows;     /* of the largest one of long rows that a load gives */
    uint32_t product;  /* of the largest product */
    uint64_t sums;     /* the number of those that products of one block hold at a time, */
    uint64_t step;     /* and the bytes that it loads */
    uint32_t held;     /* of the sums that products of one block hold at a time, rounded up */
    bool has_products; /* also scaled ones */
    uint32_t block;    /* elements of a product without an instruction that suit a thread, if the largest one is such */
    bool is_together;  /* it is one of several that are computed together */
    bool is_wide;      /* it is one of f64 */
    uint32_t made;     /* of the largest operand, of a product of at least 128 rows, that others make than loads */
    bool adds_up;      /* sums of products lie in registers twice, one part of them at a time */
    bool reduces, once; /* once: no element is wanted later on */
} tiles;

/* Elements of the sums that the products of the block hold. */
static uint64_t sums_of(const ct_block *block)
{
    uint64_t sum = 0;
    for (const ct_op *op = block->first; op; op = op->next)
        if (cg_is_product(op) && !(op->operands[2]->op && cg_is_product(op->operands[2]->op)))
            sum += (uint64_t)1 << cg_shape_of(op->results[0].type).tile_bits;
    return sum;
}

/* Bytes of the tiles that the block itself loads through views. */
static uint64_t loaded_by(const ct_block *block)
{
    uint64_t bytes = 0;
    for (const ct_op *op = block->first; op; op = op->next)
        if (op->opcode == OP_load_view_tko)
            bytes += (uint64_t)cg_memory_bytes(bc_elem_kind(op->results[0].type))
                     << cg_shape_of(op->results[0].type).tile_bits;
    return bytes;
}

/* Are there products that it may be computed together with (codegen/analysis/product_together.c)? */
static bool has_company(const ct_op *op)
{
    enum { MOST_LOOKED_AT = 32 };
    uint32_t looked_at = 0;
    for (const ct_op *next = op->next; next && looked_at < MOST_LOOKED_AT; next = next->next, looked_at++)
        if (cg_shares_operand(op, next))
            return true;
    return false;
}

/* f32, and f64 without an instruction: log2 of the elements that suit a thread, fewer of each of those that are
   computed together. */
static void look_at_block(tiles *t, const cg_func *c, const ct_op *op)
{
    enum { ALONE = 6, TOGETHER = 4 };
    bc_kind in = bc_elem_kind(op->operands[0]->type);
    cg_product p = cg_product_of(c, op);
    bool blocked = op->opcode == OP_mmaf && (in == BC_F32 || in == BC_F64) && !cg_has_atom(&p);
    t->is_wide = in == BC_F64;
    t->is_together = blocked && has_company(op);
    t->block = blocked ? (t->is_together ? TOGETHER : ALONE) - (uint32_t)t->is_wide : 0;
}

static bool loads_rows(const ct_op *op)
{
    enum { LONG = 4096 }; /* elements */
    const bc_type *type = op->result_count ? op->results[0].type : NULL;
    return op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(ACCESS)) && bc_is_tile(type) && type->rank
           && type->shape[type->rank - 1] >= LONG;
}

static void look_at_operands(tiles *t, const ct_op *product)
{
    enum { TWO_WARPGROUPS = 128 /* rows */ };
    const bc_type *type = product->results[0].type;
    for (uint32_t i = 0; i < 2 && type->shape[type->rank - 2] >= TWO_WARPGROUPS; i++) {
        const ct_value *operand = product->operands[i];
        uint32_t bits = cg_is_loaded_operand(operand) ? 0 : cg_shape_of(operand->type).tile_bits;
        t->made = bits > t->made ? bits : t->made;
    }
}

static void look_at(tiles *t, const cg_func *c, const ct_op *op)
{
    t->reduces = t->reduces || op->opcode == OP_reduce;
    t->once = t->once && !bc_is_loop(op->opcode) && !t->reduces;
    for (uint32_t r = 0; bc_is_loop(op->opcode) && r < op->region_count; r++) {
        uint64_t sums = sums_of(op->regions[r]);
        uint32_t held = cg_log2_up(sums);
        t->held = held > t->held ? held : t->held;
        t->step = sums > t->sums ? loaded_by(op->regions[r]) : t->step;
        t->sums = sums > t->sums ? sums : t->sums;
    }
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (!bc_is_tile(op->results[i].type) || cg_is_loaded_operand(&op->results[i]))
            continue;
        uint32_t bits = cg_shape_of(op->results[i].type).tile_bits;
        uint32_t bytes = bits + cg_log2_up(cg_memory_bytes(bc_elem_kind(op->results[i].type)));
        t->most = bits > t->most ? bits : t->most;
        t->bytes = bytes > t->bytes ? bytes : t->bytes;
        t->rows = loads_rows(op) && bits > t->rows ? bits : t->rows;
        t->has_products = t->has_products || cg_is_product(op);
        t->adds_up = t->adds_up || (c->target->features & CG_HAS_WGMMA && cg_is_product(op) && cg_cuts_sums(c, op));
        if (cg_is_product(op))
            look_at_operands(t, op);
        if ((op->opcode == OP_mmaf || op->opcode == OP_mmai) && bits > t->product) {
            t->product = bits;
            look_at_block(t, c, op);
        }
    }
}

static tiles tiles_of(const cg_func *c)
{
    tiles t = {.once = true};
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->plain && !op->likely && op->regions[0]->last)
            op = op->regions[0]->last; /* what the loop's other version has suits it, too */
        else
            look_at(&t, c, op);
    return t;
}

/* Each has blocks of registers of the product, so that what it loads is used often; four warps, where a product is
   alone, as long as their threads have a few elements of it. */
static uint32_t warps_of_blocks(const tiles *t)
{
    enum { MOST_WARPS = 3, USUAL_WARPS = 2, FEW = 2 };
    uint32_t one = CG_LANE_BITS + t->block, bits = t->product > one ? t->product - one : 0;
    if (!t->is_together)
        while (bits < USUAL_WARPS && bits + CG_LANE_BITS + FEW < t->product)
            bits++;
    return bits < MOST_WARPS ? bits : MOST_WARPS;
}

/* Enough warps that a thread holds at most some 64 elements of the largest tile, 32 where tiles are reduced (on four
   warps of an H200, rows of 4096 came nearer to the memory's speed than rows of 8192), as long as 16 warps do that
   for long rows as they are loaded; where matrices are multiplied up to 128, because larger parts of the product for a
   warp mean fewer reads of shared memory for each mma, unless as large an operand is made in registers. */
static uint32_t warps_that_suit(const tiles *t)
{
    enum { ROWS_OF_16_WARPS = 14 }; /* log2 of elements */
    if (t->block && t->product + 1 >= t->most)
        return warps_of_blocks(t);
    if (t->product >= 13 && t->product == t->most)
        return t->product + (t->adds_up || t->is_wide) >= 15 || t->held + t->is_wide >= 15
                       || (t->product >= 14 && t->made >= 14)
                   ? 3
                   : 2;
    if (t->reduces && !t->has_products && t->rows == t->most && t->most >= ROWS_OF_16_WARPS)
        return 4;
    return t->most >= (t->reduces ? 13 : 14) ? 3 : t->most >= 7 ? 2 : t->most >= 6 ? 1 : 0;
}

/* Warps that a hint wants, as bits. Versions before 13.5 know 4 and 8 warps only and bring other numbers there; false:
   no hint. */
static bool hinted_warps(const cg_func *c, uint32_t *out)
{
    int64_t hint = cg_hint_of(c, CG_HINT_WARPS);
    if (hint && !cg_choices_of(c)->warps && c->m->version < BC_13_5)
        hint = hint < 4 ? 4 : hint > 8 ? 8 : hint;
    *out = tv_trailing_zeros((uint32_t)hint | 64);
    return hint;
}

/* More of them for tiles that are so long that a thread's part leaves its local memory no room for others. */
static uint32_t warps_of_strips(const tiles *t)
{
    enum { MOST_LOCAL = 16 /* log2 of a thread's bytes of a tile */, MOST_WARPS = 5 };
    uint32_t most = STRIP_WARPS + CG_LANE_BITS + MOST_LOCAL, more = t->bytes > most ? t->bytes - most : 0;
    return STRIP_WARPS + more < MOST_WARPS ? STRIP_WARPS + more : MOST_WARPS;
}

/* Tiles of more than 128 elements a thread go in strips of 32, as do those of 128 that a kernel without loops and
   reductions passes through once; products keep theirs in registers. The hint goes first, unless tiles go in strips,
   products hand their results on (rows of theirs have to stay in their warps, and sums in registers), or a thread would
   have too many elements of one. */
static warps choose_warps(const cg_func *c, tiles t)
{
    enum { MOST_OF_A_THREAD = 8, MOST_OF_A_PRODUCT = 7 }; /* log2 of elements */
    if (t.most + t.once > MOST_IN_REGISTERS && !t.has_products) {
        uint32_t strips = t.most - STRIP_ELEMENTS;
        return (warps){.bits = strips + warps_of_strips(&t), .strip_bits = strips};
    }
    uint32_t chain = t.product && t.product == t.most ? cg_mma_chain_warps(c->ir) : 0, hint;
    if (chain)
        return (warps){.bits = chain};
    bool is_hinted = hinted_warps(c, &hint);
    uint32_t in_thread = t.product && t.held > t.most ? t.held : t.most,
             limit = CG_LANE_BITS + hint + (t.product ? MOST_OF_A_PRODUCT : MOST_OF_A_THREAD);
    bool is_too_much = in_thread > limit;
    if (t.block && t.product + 1 >= t.most) /* or too little */
        is_too_much = is_too_much || hint > warps_of_blocks(&t) + 1;
    return (warps){.bits = !is_hinted || is_too_much ? warps_that_suit(&t) : hint};
}

void cg_set_warps(cg_func *c)
{
    enum { MOST_WARPS = 4 /* log2: more wait for each other at the end of a block */ };
    tiles t = tiles_of(c);
    warps chosen = choose_warps(c, t);
    uint32_t part = chosen.bits + CG_LANE_BITS, at_once = part < t.most ? cg_elements_at_once(c, t.most) : t.most;
    bool by_strips = cg_is_strip_map(c);
    if (part + at_once < t.most && by_strips) { /* maps: more strips, of fewer elements */
        chosen.strip_bits += t.most - part - at_once;
        chosen.bits += t.most - part - at_once;
    } else if (part + at_once < t.most && !chosen.strip_bits) { /* or more warps */
        uint32_t most = chosen.bits > MOST_WARPS ? chosen.bits : MOST_WARPS;
        chosen.bits += t.most - part - at_once;
        chosen.bits = chosen.bits < most ? chosen.bits : most;
    }
    c->warp_bits = chosen.bits;
    c->strip_bits = chosen.strip_bits;
}

uint32_t cg_blocks_that_suit(const cg_func *c)
{
    enum { MOST_SUMS = 64, REGISTERS = 1 << 16, OF_A_THREAD = 128 };
    tiles t = tiles_of(c);
    uint64_t sums = ((uint64_t)2 << t.held) / cg_threads(c) * (t.is_wide ? 2 : 1); /* of a step, and those before */
    return t.block && t.held && sums <= MOST_SUMS ? REGISTERS / OF_A_THREAD / cg_threads(c) : 0;
}

uint32_t cg_product_registers(const cg_func *c)
{
    enum { OPERANDS = 24 };
    tiles t = tiles_of(c);
    uint32_t sums = ((1u << (t.held > t.product ? t.held : t.product)) / cg_threads(c)) << t.is_wide;
    return t.product ? sums + OPERANDS : 0;
}

/* Two blocks of a multiprocessor, each with half of the rows, compute by turns what is between the products of a chain,
   as long as each has room for two steps of what it loads. Where they have not, one block does better, as long as sums
   take three quarters of all registers at most. Attention backward of 128 columns on an H100, microseconds by two and
   by one: queries, 128x128 589 and 347, keys, 64x128 778 and 879; of 64 columns, queries 128x128 747 and 907. */
static bool needs_room(const cg_func *c, const tiles *t)
{
    enum { MOST_SUMS = 3 << 14, STEPS = 2, HALF = 2 };
    return c->target->features & CG_HAS_WGMMA && t->sums <= MOST_SUMS && t->product < t->held && !t->is_wide
           && STEPS * t->step > ((uint64_t)c->target->shared_kib << 10) / HALF && cg_mma_chain_warps(c->ir);
}

uint32_t cg_least_blocks(const cg_func *c)
{
    enum { MOST_SUMS = 15 }; /* log2: half of the registers that a thread block can have */
    tiles t = tiles_of(c);
    uint32_t sums = t.held > t.product ? t.held : t.product;
    return sums > MOST_SUMS && !needs_room(c, &t) ? (uint32_t)1 << (sums - MOST_SUMS) : 1;
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

/* What consumers take, producers have to give: else a block waits for ever. */
#define GROUPS(consumers, kind, rows, columns, most, persistent, maps, blocks, slots, launched, own, others, why) \
    static_assert(!(launched)                                                                                     \
                      || (consumers) * (own) + CG_PRODUCER_THREADS * (others)                                     \
                             <= ((consumers) + CG_PRODUCER_THREADS) * (launched),                                 \
                  "more registers than the block was launched with");
#include "codegen/passes/budget.def"

static const row group_rows[] = {
#define GROUPS(consumers, kind, rows, columns, most, persistent, maps, blocks, slots, launched, own, others, why) \
    {{blocks, slots, launched, own, others, maps, why}, consumers, CG_##kind, rows, columns, most, persistent},
#include "codegen/passes/budget.def"
};

static bool fits(const row *r, const cg_group_work *w)
{
    return r->consumers == w->consumers && r->kind == w->kind && w->rows >= r->rows && w->columns >= r->least_columns
           && w->columns <= r->most_columns && (r->persistent == ANY || w->is_persistent == (r->persistent == YES))
           && (!r->budget.maps || w->maps)
           && (r->kind != CG_CHAIN || 2 * w->rows <= w->consumers); /* each row in one warp */
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
#include "codegen/passes/budget.def"
};

/* As many blocks as the hint asks for; without products, if they have registers for their tiles. */
static uint32_t blocks_asked_for(cg_func *c)
{
    enum { REGISTER_BITS = 32 };
    uint32_t hint = cg_blocks_hinted(c, cg_product_registers(c));
    uint64_t bits;
    if (!hint || tiles_of(c).has_products)
        return hint;
    if (!cg_bits_held(c, &bits)) {
        cg_no_memory(c);
        return hint;
    }
    uint32_t blocks = cg_blocks_hinted(c, (uint32_t)(bits / REGISTER_BITS / cg_threads(c)));
    return blocks < hint ? blocks : hint;
}

uint32_t cg_room_beside(cg_func *c, uint32_t threads)
{
    uint32_t own = cg_threads(c), blocks = threads > own ? threads / own : 1;
    uint32_t hint = blocks_asked_for(c);
    return ((uint32_t)c->target->shared_kib << 10) / (hint > blocks ? hint : blocks);
}

static cg_slot_budget slots_of(cg_func *c, const slot_row *r, const cg_slot_work *w)
{
    uint32_t share = r->threads == ANY ? r->bytes : cg_room_beside(c, r->threads),
             room = share > w->rest ? share - w->rest : 0;
    room = room < w->fits ? room : w->fits;
    uint32_t slots = room / w->slot_bytes;
    slots = slots < r->most ? slots : r->most;
    return (cg_slot_budget){.slots = slots, .room = room, .why = r->why};
}

cg_slot_budget cg_slot_budget_of(cg_func *c, const cg_slot_work *work)
{
    cg_slot_budget b = {.slots = 0};
    for (size_t i = 0; i < TV_COUNT(slot_rows); i++) {
        if (slot_rows[i].kind != work->kind)
            continue;
        b = slots_of(c, &slot_rows[i], work);
        if (b.slots >= slot_rows[i].least || (c->is_versioned && b.slots >= 2))
            break;
    }
    b.slots = b.slots < work->iterations ? b.slots : work->iterations;
    if (cg_choices_of(c)->stages && b.slots > cg_choices_of(c)->stages)
        b.slots = cg_choices_of(c)->stages;
    return b;
}

static const cg_kept_row kept_rows[] = {
#define KEPT(least, most, ahead, fewest, threads, why) {least, most, ahead, fewest, threads, why},
#include "codegen/passes/budget.def"
};

const cg_kept_row *cg_kept_row_at(size_t i)
{
    return i < TV_COUNT(kept_rows) ? &kept_rows[i] : NULL;
}

/* ---- loads ahead into registers ---- */

static const cg_early_row early_rows[] = {
#define EARLY(kind, iterations, most, all, why) {CG_EARLY_##kind, iterations, most, all, why},
#include "codegen/passes/budget.def"
};

const cg_early_row *cg_early_row_of(cg_early_kind kind)
{
    const cg_early_row *found = early_rows;
    while (found->kind != kind)
        found++;
    return found;
}
