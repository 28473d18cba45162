/* How products, or consumers that compute their operands, read tiles from slots to which threads copy them, and why
   that is impossible. Changes nothing: the passes loads, flip and groups ask. */
#include "codegen/analysis/computed.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/tensor.h"
#include "codegen/analysis/turned.h"
#include "codegen/analysis/view.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/loads.h"
#include "codegen/rewrite/carried.h"

bool cg_has_blocked(const cg_func *c, const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = op->next)
        if (cg_is_product(op) && cg_product_of(c, op).instruction == CG_BY_BLOCKS)
            return true;
    return false;
}

/* How all uses of v, including uses through views of it, read it from an encoding; `run`: the registers that hold a
   16-byte chunk of it. CG_NO_FEED: some use is not an operand of a product that can read it, or is outside the body,
   if one is given. */
static cg_feed feed_of(cg_func *c, const ct_block *body, const ct_value *v, const cg_layout *run, uint32_t depth)
{
    cg_feed feed = CG_NO_FEED;
    for (const ct_use *use = v->uses; use; use = use->next) {
        const ct_op *op = use->op;
        if ((body && op->block != body) || depth == 0)
            return CG_NO_FEED;
        bool is_seen = cg_is_seen(op);
        cg_layout seen = is_seen ? cg_seen_layout(op, run) : *run;
        cg_feed here = is_seen ? feed_of(c, body, cg_result(op, 0), &seen, depth - 1)
                               : cg_mma_feed(c, op, use->index, run);
        if (here == CG_NO_FEED)
            return CG_NO_FEED;
        feed = feed ? feed : here;
    }
    return feed;
}

uint32_t cg_half_bit(const cg_shape *s, uint32_t fast, const bc_type *tile)
{
    return bc_kind_memory_bytes(bc_elem_kind(tile)) ? 0 : (uint32_t)1 << s->shift[fast];
}

/* Can all products by tcgen05 that use v, also through views of it, read it in the encoding? Other products adapt to
   the encoding. */
static bool is_read_there(cg_func *c, const ct_value *v, const cg_encoding *encoding)
{
    bool reads = true;
    for (const ct_use *use = v->uses; use && reads; use = use->next)
        if (!cg_is_product(use->op))
            reads = is_read_there(c, cg_result(use->op, 0), encoding);
        else if (cg_sums_in_tensor(c, use->op))
            reads = cg_tcgen05_reads(c, use->op, use->index, encoding);
    return reads;
}

/* The bytes behind it that such products read, too. */
static uint32_t read_beyond(cg_func *c, const ct_value *v, const cg_encoding *encoding)
{
    uint32_t most = 0;
    for (const ct_use *use = v->uses; use; use = use->next) {
        uint32_t bytes = cg_is_product(use->op) ? cg_tcgen05_reads_beyond(c, use->op, use->index, encoding)
                                                : read_beyond(c, cg_result(use->op, 0), encoding);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* The same for scales, which are copied by four along K: to the places of the feed, or as they lie in memory, if that
   is the same order. */
static const char *scales_fit(cg_func *c, ct_op *op, uint32_t fast, cg_feed feed, cg_ring_load *out)
{
    enum { WORD = 2 };
    cg_shape s = cg_shape_of(op->results[0].type);
    if (s.bits[fast] < WORD)
        return "a row has fewer than four scales";
    *out = (cg_ring_load){.op = op,
                          .fast = fast,
                          .feed = feed,
                          .layout = cg_layout_memory(&s, fast, WORD, WORD, c->warp_bits),
                          .vector_bits = WORD,
                          .encoding = cg_encoding_for(&s, fast, 1, feed, 0)};
    out->beyond = read_beyond(c, &op->results[0], &out->encoding);
    if (is_read_there(c, &op->results[0], &out->encoding))
        return NULL;
    out->encoding = cg_encoding_for(&s, fast, 1, CG_FEED_ONE, 0);
    return is_read_there(c, &op->results[0], &out->encoding) ? NULL : "tcgen05 cannot copy scales in that order";
}

/* The obstacle for a load whose tile consists of aligned pieces of 2^piece elements, at least 4 bytes, along
   dimension `fast`. computed: consumers read it into registers for this product; NULL: products read it. */
static const char *feed_fits(cg_func *c, ct_op *op, const ct_block *body, uint32_t fast, uint32_t piece,
                             const ct_op *computed, cg_ring_load *out)
{
    const ct_value *tile = cg_result(op, 0);
    cg_shape s = cg_shape_of(tile->type);
    uint32_t chunk = cg_chunk_bits(tile->type), bytes = cg_memory_bytes(bc_elem_kind(tile->type));
    uint8_t bits[5];
    cg_layout run = {.tile_bits = s.tile_bits, .reg_bits = (uint8_t)chunk},
              l = cg_layout_memory(&s, fast, piece, piece, c->warp_bits);
    for (uint32_t i = 0; i < chunk; i++)
        run.reg[i] = (uint32_t)1 << (s.shift[fast] + i);
    if (cg_layout_vector(&l, s.shift[fast], piece, bits) < piece)
        return "each thread would copy less than 16 bytes";
    cg_feed feed = computed ? CG_FEED_ROWS : feed_of(c, body, tile, &run, CG_SEEN_WAYS + 1);
    if (feed == CG_NO_FEED)
        return "it has uses other than products that read shared memory";
    if (cg_is_scale_feed(feed))
        return scales_fit(c, op, fast, feed, out);
    bool across = feed == CG_FEED_ACROSS;
    *out = (cg_ring_load){.op = op,
                          .fast = fast,
                          .feed = feed,
                          .computed = computed,
                          .layout = l,
                          .vector_bits = piece,
                          .encoding = cg_encoding_for(&s, across ? 2 * s.rank - 3 - fast : fast, bytes, feed,
                                                      cg_half_bit(&s, fast, tile->type))};
    out->beyond = computed ? 0 : read_beyond(c, tile, &out->encoding);
    return is_read_there(c, tile, &out->encoding) ? NULL : "tcgen05 cannot read it as it would lie in shared memory";
}

/* Can they copy it to a slot from which products read it, or consumers for `computed`? */
static const char *view_fits(cg_func *c, ct_op *op, const ct_block *body, const ct_op *computed, cg_ring_load *out)
{
    uint32_t fast, piece;
    const char *why = cg_pieces_fit(c, op, &fast, &piece);
    return why ? why : feed_fits(c, op, body, fast, piece, computed, out);
}

/* Do pieces shorter than 16 bytes suit it? Of a tile of bytes, threads could have slots of their own for those
   (codegen/passes/loads.c), and small tiles, such as scales, would keep the others from coming by tensor maps. */
static bool suits_short_pieces(const cg_func *c, const bc_type *tile)
{
    uint32_t bytes = cg_memory_bytes(bc_elem_kind(tile));
    return bytes > 1 && bytes << cg_shape_of(tile).tile_bits >= CG_ACCESS_BYTES * cg_threads(c);
}

bool cg_load_to_compute(cg_func *c, ct_op *op, const ct_op *product, cg_ring_load *out)
{
    const bc_type *tile = op->results[0].type;
    return op->opcode == OP_load_view_tko && cg_is_weak_access(op) && op->block == product->block
           && bc_kind_memory_bytes(bc_elem_kind(tile)) && !ct_is_inside(cg_view_op_of(op).view->block, op->block)
           && !view_fits(c, op, op->block, product, out)
           && (out->vector_bits == cg_chunk_bits(tile) || suits_short_pieces(c, tile));
}

/* log2 of the elements of the shortest pieces of a tile of pointers: 16 bytes, because a thread computes an address for
   each piece; 4 bytes if it has at most 32 bytes of the tile, if elements have 4 bytes, which registers would take one
   by one as well, if products without an instruction leave no registers in which the tile could be prefetched
   otherwise, or if the kernel as a whole gains from it (codegen/choose_products.c). */
static uint32_t least_piece(const cg_func *c, const bc_type *tile, const ct_block *body)
{
    uint32_t bytes = cg_memory_bytes(bc_elem_kind(tile));
    bool is_small = (uint64_t)bytes << cg_shape_of(tile).tile_bits <= CG_SECTOR_BYTES * cg_threads(c),
         is_asked = bytes < CG_COPY_BYTES && cg_choices_of(c)->pieces == CG_IF_LEGAL;
    if (!is_small && !is_asked && bytes != CG_COPY_BYTES && !(body && cg_has_blocked(c, body)))
        return cg_chunk_bits(tile);
    return bytes < CG_COPY_BYTES ? tv_trailing_zeros(CG_COPY_BYTES / bytes) : 0;
}

/* The same for a load through pointers. */
static const char *pointers_fit(cg_func *c, ct_op *op, const ct_block *body, cg_ring_load *out)
{
    uint32_t fast, piece, least = least_piece(c, op->results[0].type, body);
    const char *why = cg_pointer_pieces_fit(c, op, least, &fast, &piece);
    return why ? why : feed_fits(c, op, body, fast, piece, NULL, out);
}

const char *cg_fits_products(cg_query *q)
{
    return q->load->opcode == OP_load_ptr_tko ? pointers_fit(q->c, q->load, q->body, q->out)
                                              : view_fits(q->c, q->load, q->body, NULL, q->out);
}

const char *cg_load_obstacle(cg_func *c, ct_op *op, const ct_block *body, cg_ring_load *out)
{
    static cg_condition *const copied[] = {cg_is_movable, cg_fits_products, NULL};
    return cg_obstacle(&(cg_query){.c = c, .body = body, .load = op, .out = out}, copied);
}

/* Is the operand, or the value of which it is a view, the result of an element-wise op in the same block? */
static bool is_computed_beside(const ct_op *product, const ct_value *operand)
{
    const ct_op *maker = cg_source_of(operand)->op;
    return maker && ct_is_map(maker) && maker->block == product->block;
}

/* May the flip pass swap the operands? */
static bool may_swap(const cg_func *c, const ct_op *product)
{
    uint32_t sum;
    return cg_choices_of(c)->swap != CG_NEVER && product->results[0].type->rank == 2
           && cg_product_carried(product->block->parent, &sum) == product;
}

/* Is it a product of 8-bit floats in a loop that has a ring? */
static bool may_read_bytes(const cg_func *c, const ct_op *product)
{
    const ct_op *loop = product->block->parent;
    return cg_multiplies_bytes(product) && c->target->features & CG_HAS_WGMMA && !cg_loops_stay_plain(c) && loop
           && loop->opcode == OP_for && !loop->plain;
}

bool cg_reads_bytes(cg_func *c, const ct_op *product, uint32_t computed)
{
    if (!may_read_bytes(c, product) || (computed && !may_swap(c, product)))
        return false;
    const cg_product p = cg_product_of(c, product);
    cg_product q = p;
    q.m = computed ? p.n : p.m;
    q.n = computed ? p.m : p.n;
    const ct_value *const operands[] = {p.lhs, p.rhs};
    ct_op *load = cg_source_of(operands[!computed])->op;
    cg_ring_load ring;
    if (p.chained || p.acc != BC_F32 || !cg_async_fits(&q) || !is_computed_beside(product, operands[computed]) || !load
        || !ct_is_load(load) || load->block != product->block || (computed && load->opcode != OP_load_view_tko))
        return false;
    return cg_find_facts(c->ir) && cg_find_views(c->ir) && !cg_load_obstacle(c, load, product->block, &ring)
           && cg_async_reads(&p, computed, false, &ring.encoding);
}

/* Does the load give all elements of the operand, also through maps, and have neighbours along K in memory? */
static bool gives_along_k(const ct_op *product, uint32_t index, const ct_op *load)
{
    enum { PAIR_OF_BITS = 2 };
    const ct_value *operand = product->operands[index];
    const cg_shape s = cg_shape_of(operand->type);
    const uint32_t k = s.shift[index ? 0 : 1];
    cg_layout l = {.tile_bits = s.tile_bits, .reg_bits = PAIR_OF_BITS, .reg = {1u << k, 2u << k}};
    if (load->opcode != OP_load_view_tko || cg_shape_of(load->results[0].type).tile_bits != s.tile_bits)
        return false;
    if (cg_source_of(operand)->op == load)
        l = cg_source_layout(operand, &l);
    else if (!cg_computed_from(operand, load, &l, &l))
        return false;
    uint32_t fast;
    const cg_view_op v = cg_view_op_of(load);
    const cg_shape tile = cg_shape_of(load->results[0].type);
    return cg_view_contiguous(&v, &fast) && l.reg[0] == 1u << tile.shift[fast] && l.reg[1] == 2u << tile.shift[fast];
}

/* Does the loop load the operand so that copies or threads can put it in rows along K? Pointers show how it lies in
   memory only where it can be copied. */
static bool is_loaded_along_k(cg_func *c, const cg_product *p, const ct_op *product, uint32_t index)
{
    ct_op *load = cg_source_of(product->operands[index])->op;
    cg_ring_load ring;
    bool found = load && ct_is_load(load) && !cg_load_obstacle(c, load, product->block, &ring)
                 && cg_async_reads(p, !index, false, &ring.encoding);
    for (const ct_op *op = product->block->first; op != product && !found; op = op->next)
        found = gives_along_k(product, index, op);
    return found;
}

bool cg_begins_with_bytes(cg_func *c, const ct_op *product)
{
    if (cg_choices_of(c)->halves != CG_NEVER || !may_read_bytes(c, product) || cg_product_before(product))
        return false;
    const cg_product p = cg_product_of(c, product);
    if (!p.chained || p.acc != BC_F32 || !cg_async_fits(&p) || !cg_find_facts(c->ir) || !cg_find_views(c->ir))
        return false;
    bool any = false, all = true;
    for (uint32_t i = 0; i < 2; i++) {
        const bool is_inside = ct_is_inside(product->operands[i]->block, product->block)
                               && ct_is_inside(cg_source_of(product->operands[i])->block, product->block);
        any = any || is_inside;
        all = all && (!is_inside || is_loaded_along_k(c, &p, product, i));
    }
    return any && all;
}
