/* Finds the tiles that TMA can copy, and their boxes; see the header. */
#include "codegen/analysis/boxes.h"

#include <string.h>

enum { MOST_OF_A_SIDE = 256, MOST_STRIDE_BITS = 36 /* in units of 16 bytes: a map has 40 bits for bytes */ };

/* Is the tile one row, whose panels follow each other, and which a single box can hold? */
static bool is_one_row(const cg_encoding *s)
{
    return !s->rows && (uint32_t)1 << s->columns <= MOST_OF_A_SIDE;
}

/* Is the encoding's swizzle one of TMA's: none, or the number of a chunk XORed with low bits of the number of its
   128-byte line? */
static bool is_swizzled_alike(const cg_encoding *s)
{
    enum { LINE = 3 /* log2 of the chunks in it */ };
    uint32_t chunks = s->panel - s->chunk;
    if (s->panel < s->chunk || (s->swizzle && s->swizzle != chunks))
        return false;
    for (uint32_t i = 0; i < s->swizzle; i++)
        if (s->row_bit[i] != LINE - chunks + i)
            return false;
    return true;
}

/* Does a map take all extents and strides of the tensor? Coordinates are signed 32-bit numbers. */
static bool is_in_reach(const cg_view *v)
{
    cg_range range;
    for (uint32_t d = 0; d < v->tensor->rank; d++)
        if (!cg_size_range(v->tensor->shape[d], v->extents[d], &range) || range.high > INT32_MAX
            || !cg_size_range(v->tensor->strides[d], v->strides[d], &range)
            || range.high >= (int64_t)1 << MOST_STRIDE_BITS)
            return false;
    return true;
}

/* The contiguous dimension comes first, then the others from the last one on, as rows follow each other in an
   encoding. */
static bool order_dims(const bc_type *tile, const cg_encoding *encoding, uint32_t fast, cg_boxes *out)
{
    uint32_t panel = is_one_row(encoding) ? encoding->columns : encoding->panel;
    out->rank = 1;
    out->dims[0] = fast;
    out->size[0] = (uint32_t)1 << panel;
    out->panels = (uint32_t)1 << (encoding->columns - panel);
    for (uint32_t t = tile->rank; t-- > 0;) {
        if (t == fast)
            continue;
        if (tile->shape[t] > MOST_OF_A_SIDE)
            return false;
        out->dims[out->rank] = t;
        out->size[out->rank++] = (uint32_t)tile->shape[t];
    }
    return true;
}

const char *cg_boxes_obstacle(const ct_op *load, const cg_encoding *encoding, uint32_t fast, cg_boxes *out)
{
    if (load->from->opcode != OP_load_view_tko)
        return "a tile is loaded through pointers";
    cg_view_op v = cg_view_op_of(load);
    const bc_type *tile = v.tile_type;
    *out = (cg_boxes){.element = encoding->bytes, .swizzle = encoding->swizzle, .blocks = 1};
    if (tile->rank > CG_MAP_DIMS || v.view->view->tensor->rank != tile->rank)
        return "a tensor has more dimensions than a tensor map";
    if (cg_view_is_half(&v) || encoding->left_out || encoding->batch || encoding->scaled_rows
        || !is_swizzled_alike(encoding))
        return "a tile needs a layout in shared memory that TMA does not write";
    if (!is_in_reach(v.view->view))
        return "the extents and strides of a tensor are not known to suit a tensor map";
    if (!order_dims(tile, encoding, fast, out))
        return "a tile has more than 256 rows";
    for (uint32_t i = 0; i < out->rank; i++)
        out->of_tensor[i] = cg_view_dim(v.view->type, out->dims[i]);
    return NULL;
}

uint32_t cg_box_bytes(const cg_boxes *b)
{
    uint32_t bytes = b->element;
    for (uint32_t i = 0; i < b->rank; i++)
        bytes *= b->size[i];
    return bytes;
}

bool cg_boxes_share(cg_boxes *b, uint32_t blocks)
{
    uint32_t outer = b->rank - 1;
    while (outer && b->size[outer] == 1)
        outer--;
    if (b->panels >= blocks) {
        b->panels /= blocks;
    } else if (outer && b->size[outer] >= blocks && cg_box_bytes(b) / blocks % CG_ENCODING_ALIGN == 0) {
        b->size[outer] /= blocks;
        b->cut = outer;
    } else {
        return false;
    }
    b->blocks = blocks;
    return true;
}

bool cg_boxes_equal(const cg_boxes *a, const cg_boxes *b)
{
    return a->rank == b->rank && a->panels == b->panels && a->element == b->element && a->swizzle == b->swizzle
           && a->rounds == b->rounds && a->blocks == b->blocks && a->cut == b->cut
           && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0
           && memcmp(a->of_tensor, b->of_tensor, a->rank * sizeof *a->of_tensor) == 0
           && memcmp(a->size, b->size, a->rank * sizeof *a->size) == 0;
}
