/* How tiles are loaded that threads transpose; see the header. */
#include "codegen/analysis/transposed.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/ring.h"
#include "codegen/analysis/view.h"
#include "codegen/kernel/limits.h"

enum { MOST_USES = 64 };

/* Some bits of the index along a dimension. */
typedef struct part {
    uint32_t dim, from, to;
} part;

static cg_layout layout_of_parts(const cg_shape *s, const part *parts, uint32_t part_count, uint32_t vector_bits,
                                 uint32_t warp_bits)
{
    uint8_t order[CG_MAX_TILE_BITS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < part_count; i++)
        for (uint32_t b = parts[i].from; b < s->bits[parts[i].dim] && b < parts[i].to; b++)
            order[count++] = (uint8_t)(s->shift[parts[i].dim] + b);
    return cg_layout_ordered(order, count, vector_bits, warp_bits);
}

/* ---- on their way to a product ---- */

/* The pieces of a thread make up a block, from which it stores 16 bytes along K in one access. Eight rows of the
   operand have their chunks in different banks, and so have eight chunks of a row. Neighbouring threads have adjacent
   pieces of eight rows, and then neighbouring chunks, so that those of eight threads are in different banks. The
   other threads follow along the contiguous dimension, so that a warp reads whole lines. */
cg_layout cg_transposing_layout(const cg_shape *s, uint32_t fast, uint32_t vector, uint32_t chunk, uint32_t warp_bits)
{
    enum { ROWS = 3 /* log2 of those rows */ };
    uint32_t across = 2 * s->rank - 3 - fast, rows = vector > ROWS ? vector : ROWS,
             chunks = chunk + (vector < ROWS ? vector : ROWS);
    const part parts[] = {{fast, 0, vector},
                          {across, 0, chunk},
                          {fast, vector, rows},
                          {across, chunk, chunks},
                          {fast, rows, CG_MAX_TILE_BITS},
                          {across, chunks, CG_MAX_TILE_BITS}};
    return layout_of_parts(s, parts, sizeof parts / sizeof *parts, vector + chunk, warp_bits);
}

/* Does a product take v, or a value computed from it element by element, as an operand whose neighbours along K are
   the two registers of `run`? */
static bool runs_along_k(const ct_value *v, const cg_layout *run, uint32_t *budget)
{
    bool found = false;
    for (const ct_use *use = v->uses; use && !found && *budget; use = use->next) {
        const ct_op *op = use->op, *parent = op->block->parent;
        --*budget;
        if (cg_is_product(op)) {
            cg_shape s = cg_shape_of(v->type);
            found = use->index < 2 && bc_elem_kind(v->type) == BC_TF32
                    && run->reg[0] == (uint32_t)1 << s.shift[s.rank - 1 - use->index];
        } else if (cg_is_seen(op)) {
            cg_layout seen = cg_seen_layout(op, run);
            found = runs_along_k(cg_result(op, 0), &seen, budget);
        } else if (ct_is_map(op)) {
            found = runs_along_k(cg_result(op, 0), run, budget);
        } else if (op->opcode == OP_yield && parent && parent->opcode == OP_if) {
            found = runs_along_k(&parent->results[use->index], run, budget);
        }
    }
    return found;
}

bool cg_transposing_home(const cg_func *c, const ct_op *load, uint32_t fast, uint32_t vector, cg_layout *out)
{
    enum { CHUNK = 2 /* log2 of the elements of 32 bits in 16 bytes */ };
    const ct_value *tile = cg_result(load, 0);
    cg_shape s = cg_shape_of(tile->type);
    if (s.rank < 2 || fast + 2 < s.rank || c->strip_bits || !bc_kind_memory_bytes(bc_elem_kind(tile->type)))
        return false;
    uint32_t across = 2 * s.rank - 3 - fast, budget = MOST_USES, most = cg_chunk_bits(tile->type), chunk = CHUNK,
             threads = CG_LANE_BITS + c->warp_bits;
    vector = vector < most ? vector : most;
    while (chunk && vector + chunk + threads > s.tile_bits)
        chunk--;
    cg_layout k = {.tile_bits = s.tile_bits, .reg_bits = 1, .reg = {(uint32_t)1 << s.shift[across]}};
    if (!chunk || s.bits[fast] < vector || s.bits[across] < chunk || s.bits[fast] + s.bits[across] != s.tile_bits
        || !runs_along_k(tile, &k, &budget))
        return false;
    *out = cg_transposing_layout(&s, fast, vector, chunk, c->warp_bits);
    return true;
}

/* ---- on their way to memory ---- */

/* Is v, or what is computed from it element by element, only stored, and to views of contiguous rows? *out_turned: to
   one whose rows run along the two registers of `run`. */
static bool is_only_stored(const ct_value *v, const cg_layout *run, uint32_t *budget, bool *out_turned)
{
    bool only = v->uses;
    for (const ct_use *use = v->uses; use && only; use = use->next) {
        const ct_op *op = use->op;
        uint32_t fast;
        if (!*budget || !--*budget)
            return false;
        if (op->opcode == OP_store_view_tko) {
            cg_view_op to = cg_view_op_of(op);
            cg_shape s = cg_shape_of(to.tile_type);
            only = to.tile == v && cg_is_weak_access(op) && cg_view_contiguous(&to, &fast);
            *out_turned = *out_turned || (only && run->reg[0] == (uint32_t)1 << s.shift[fast]);
        } else if (cg_is_seen(op)) {
            cg_layout seen = cg_seen_layout(op, run);
            only = is_only_stored(cg_result(op, 0), &seen, budget, out_turned);
        } else {
            only = ct_is_map(op) && is_only_stored(cg_result(op, 0), run, budget, out_turned);
        }
    }
    return only;
}

/* Neighbouring threads have half a line along each dimension. On an H200, tiles of 64x64 and more of f32 take 8 to 24 %
   less time than through shared memory if L2 holds the tensors, and 4 % less to 2 % more in DRAM; those with rows of 64
   bytes, which single elements would be stored of, take 5 to 13 % less. Tiles of smaller elements take more. */
bool cg_transposing_copy(const cg_func *c, const ct_op *load, uint32_t fast, uint32_t vector, cg_layout *out)
{
    enum { BYTES = 4, CHUNK = 2, HALF = 4, LINE = 5 /* log2 of such elements in 16, 64 and 128 bytes */ };
    const ct_value *tile = cg_result(load, 0);
    cg_shape s = cg_shape_of(tile->type);
    if (s.rank < 2 || fast + 2 < s.rank || c->strip_bits || bc_kind_memory_bytes(bc_elem_kind(tile->type)) != BYTES)
        return false;
    uint32_t across = 2 * s.rank - 3 - fast, budget = MOST_USES, threads = CG_LANE_BITS + c->warp_bits,
             chunk = s.tile_bits < threads + 2 * CHUNK ? CHUNK - 1 : CHUNK,
             least = s.bits[fast] < s.bits[across] ? s.bits[fast] : s.bits[across];
    cg_layout run = {.tile_bits = s.tile_bits, .reg_bits = 1, .reg = {(uint32_t)1 << s.shift[across]}};
    bool turned = false;
    if (vector < CHUNK || least <= CHUNK || s.bits[fast] + s.bits[across] != s.tile_bits
        || s.tile_bits < threads + CHUNK + chunk || (chunk < CHUNK && least > HALF)
        || !is_only_stored(tile, &run, &budget, &turned) || !turned)
        return false;
    const part parts[] = {{fast, 0, CHUNK},
                          {across, 0, chunk},
                          {fast, CHUNK, HALF},
                          {across, chunk, HALF},
                          {fast, HALF, LINE},
                          {across, HALF, CG_MAX_TILE_BITS},
                          {fast, LINE, CG_MAX_TILE_BITS}};
    *out = layout_of_parts(&s, parts, sizeof parts / sizeof *parts, CHUNK + chunk, c->warp_bits);
    return true;
}
