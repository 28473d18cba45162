/* How tiles are loaded that threads transpose; see the header. */
#include "codegen/analysis/transposed.h"

#include "codegen/analysis/ring.h"

/* The pieces of a thread make up a block, from which it stores 16 bytes along K in one access. Eight rows of the
   operand have their chunks in different banks, and so have eight chunks of a row. Neighbouring threads have adjacent
   pieces of eight rows, and then neighbouring chunks, so that those of eight threads are in different banks. The
   other threads follow along the contiguous dimension, so that a warp reads whole lines. */
cg_layout cg_transposing_layout(const cg_shape *s, uint32_t fast, uint32_t vector, uint32_t chunk, uint32_t warp_bits)
{
    enum { ROWS = 3 /* log2 of those rows */ };
    uint32_t across = 2 * s->rank - 3 - fast, count = 0, rows = vector > ROWS ? vector : ROWS,
             chunks = chunk + (vector < ROWS ? vector : ROWS);
    const struct {
        uint32_t dim, from, to;
    } parts[] = {{fast, 0, vector},
                 {across, 0, chunk},
                 {fast, vector, rows},
                 {across, chunk, chunks},
                 {fast, rows, CG_MAX_TILE_BITS},
                 {across, chunks, CG_MAX_TILE_BITS}};
    uint8_t order[CG_MAX_TILE_BITS];
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (uint32_t b = parts[i].from; b < s->bits[parts[i].dim] && b < parts[i].to; b++)
            order[count++] = (uint8_t)(s->shift[parts[i].dim] + b);
    return cg_layout_ordered(order, count, vector + chunk, warp_bits);
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
    enum { CHUNK = 2 /* log2 of the elements of 32 bits in 16 bytes */, MOST_USES = 64 };
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
