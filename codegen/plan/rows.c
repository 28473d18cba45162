/* How threads copy tiles in pieces to slots of a ring, and the small tiles that threads, not products, read there:
   rows, such as the scales of groups of K. All threads copy them, with the tiles of products, and read them behind the
   barrier that awaits these, in the layout in which they are used. Loads into registers would be one iteration ahead,
   which is less than memory takes to answer, and in another layout, from which shared memory and two barriers convert
   them (8 bits with scales of groups, 16x64x16, H200: 241 us by registers, 120 by slots).

   Why it is right: codegen/analysis/order.h shows that no access of the loop that could touch the same memory comes
   between the copy and the place of the load, and a slot is filled again behind the barrier of the next iteration, when
   all threads have read it. */
#include "codegen/access/pointers.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/loads.h"

/* ---- pieces ---- */

const char *cg_pieces_fit(cg_func *c, ct_op *op, uint32_t *fast, uint32_t *piece)
{
    cg_view_op v = cg_view_op_of(op);
    uint8_t padding = v.view->type->padding;
    if (v.view->type->kind == BC_GATHER_SCATTER_VIEW)
        return "it gathers";
    if (padding != BC_NO_PADDING && padding != BC_PaddingValue_zero)
        return "its padding is not zero";
    if (!cg_view_contiguous(&v, fast) || *fast + 2 < v.tile_type->rank)
        return "neither of its last two dimensions is known to be contiguous";
    uint32_t aligned = cg_view_vector(c, &v, *fast), chunk = cg_chunk_bits(v.tile_type);
    if (aligned < chunk && cg_memory_bytes(bc_elem_kind(v.tile_type)) << aligned < CG_COPY_BYTES)
        return "base, strides, extent and index are not known to be aligned to 4 bytes";
    *piece = aligned < chunk ? aligned : chunk;
    return NULL;
}

const char *cg_pointer_pieces_fit(cg_func *c, ct_op *op, uint32_t least, uint32_t *fast, uint32_t *piece)
{
    cg_ptr_op ptr = cg_ptr_op_of(op);
    const bc_type *tile = op->results[0].type;
    const ct_value *padding = ptr.mask ? ct_operand(op, F_load_ptr_tko_padding_value) : NULL;
    ptr.most_bits = cg_chunk_bits(tile);
    if (bc_kind_memory_bytes(bc_elem_kind(tile)) == 0 || (*piece = cg_pointer_vector(c, &ptr, fast)) < least)
        return "within aligned pieces of that size its pointers are not known to be consecutive and its mask uniform";
    if (*fast + 2 < tile->rank)
        return "neither of its last two dimensions is known to be contiguous";
    if (padding && !ct_is_all_zero(padding))
        return "its padding is not zero";
    return cg_are_of_indices(c, &ptr) ? NULL : "its pointers or mask are not computed from indices alone";
}

/* ---- tiles that threads read ---- */

/* How threads copy the tile, by such pieces, to a slot from which threads read it in any layout. */
static cg_ring_load for_threads(const cg_func *c, ct_op *op, uint32_t fast, uint32_t piece)
{
    const bc_type *tile = op->results[0].type;
    cg_shape s = cg_shape_of(tile);
    return (
        cg_ring_load){.op = op,
                      .fast = fast,
                      .feed = CG_FEED_THREADS,
                      .layout = cg_layout_memory(&s, fast, piece, piece, c->warp_bits),
                      .vector_bits = piece,
                      .encoding = cg_encoding_for(&s, fast, cg_memory_bytes(bc_elem_kind(tile)), CG_FEED_THREADS, 0)};
}

const char *cg_row_fits_threads(cg_query *q)
{
    const bc_type *tile = q->load->results[0].type;
    uint32_t fast, piece, bytes = cg_memory_bytes(bc_elem_kind(tile));
    cg_shape s = cg_shape_of(tile);
    const char *why = cg_pieces_fit(q->c, q->load, &fast, &piece);
    if (why)
        return why;
    if (fast + 1 != tile->rank || s.bits[fast] != s.tile_bits || bytes << s.tile_bits < CG_LINE_BYTES
        || bc_kind_memory_bytes(bc_elem_kind(tile)) == 0 || piece < cg_chunk_bits(tile))
        return "it is no row of whole pieces of 16 bytes";
    *q->out = for_threads(q->c, q->load, fast, piece);
    return NULL;
}

/* Is an operand of a product computed from v? */
static bool makes_operand(const ct_value *v, uint32_t *budget)
{
    enum { RIGHT = 1 };
    for (const ct_use *use = v->uses; use && *budget; use = use->next) {
        const ct_op *op = use->op;
        bool passes = op->block == v->block && (ct_is_map(op) || bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE)));
        --*budget;
        if (cg_is_product(op) ? use->index <= RIGHT : passes && makes_operand(&op->results[0], budget))
            return true;
    }
    return false;
}

/* Does each thread load the elements that it needs by itself, in few accesses? That is so for up to one element for
   each thread, but in an operand: threads hold its memory in vectors, for which they need many neighbours of a row. */
static bool comes_by_itself(const cg_query *q)
{
    enum { MOST_USES = 64 };
    uint32_t budget = MOST_USES, bits = cg_shape_of(q->load->results[0].type).tile_bits;
    return bits <= CG_LANE_BITS + q->c->warp_bits && !makes_operand(&q->load->results[0], &budget);
}

/* Rows shorter than a sector stay out: loads into registers find the rest of the sector in L1, of which stages leave
   little (128 rows of 8 bytes, H200: 677 us, and 1,098 by slots). */
const char *cg_is_small_tile(cg_query *q)
{
    const bc_type *tile = q->load->results[0].type;
    cg_shape s = cg_shape_of(tile);
    uint32_t fast, piece, bytes = cg_memory_bytes(bc_elem_kind(tile)),
                          least = bytes < CG_COPY_BYTES ? tv_trailing_zeros(CG_COPY_BYTES / bytes) : 0;
    if (q->c->strip_bits)
        return "its tiles are computed in strips";
    if (!tile->rank || bc_kind_memory_bytes(bc_elem_kind(tile)) == 0)
        return "it has no whole bytes, or each thread would copy the same element";
    if (bytes << s.tile_bits > CG_ACCESS_BYTES * cg_threads(q->c))
        return "each thread has too much of it";
    const char *why = q->load->opcode == OP_load_ptr_tko ? cg_pointer_pieces_fit(q->c, q->load, least, &fast, &piece)
                                                         : cg_pieces_fit(q->c, q->load, &fast, &piece);
    if (why)
        return why;
    if (comes_by_itself(q))
        return "threads load it in the layout in which they need it";
    if (s.bits[fast] < s.tile_bits && bytes << s.bits[fast] < CG_SECTOR_BYTES)
        return "its rows are shorter than a sector";
    *q->out = for_threads(q->c, q->load, fast, piece);
    return NULL;
}

/* Threads meet in the iterations of a ring of products in any case. Without one, as where threads compute both
   operands, rows save conversions, which have more barriers, unless they have so few elements, up to one for each
   thread, that they are loaded in the layout in which they are needed. */
bool cg_rows_suit_ring(const cg_func *c, const cg_ring *ring)
{
    bool worth = cg_ring_has_tiles(ring);
    for (uint32_t i = 0; i < ring->load_count; i++)
        worth = worth || ring->loads[i].layout.tile_bits > CG_LANE_BITS + c->warp_bits;
    return worth;
}

void cg_drop_rows(cg_func *c, const ct_op *loop, cg_ring *ring, const char *why)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ring->load_count; i++)
        if (!cg_is_read_by_threads(&ring->loads[i]))
            ring->loads[kept++] = ring->loads[i];
        else if (ring->loads[i].op->opcode != CT_staged) /* to another ring */
            cg_plan_early(c, loop, ring->loads[i].op, why, false);
    ring->load_count = kept;
    cg_ring_place_loads(ring);
}
