/* Swizzled matrices in shared memory; see the header. */
#include "codegen/analysis/encoding.h"

#include "codegen/analysis/tensor_memory.h"

cg_encoding cg_encoding_new(uint32_t rows, uint32_t columns, uint32_t batch, uint32_t bytes, cg_feed feed)
{
    /* The row bits in which the rows of an 8x8 matrix differ. If several rows fit in 128 bytes, the lowest bits
       already select different banks. */
    static const uint8_t differ[][3] = {[CG_FEED_ROWS] = {0, 1, 2},
                                        [CG_FEED_PAIRS] = {0, 2, 3},
                                        [CG_FEED_MIXED] = {0, 1, 2},
                                        [CG_FEED_WORDS] = {0, 1, 2},
                                        [CG_FEED_SECONDS] = {1, 2, 3},
                                        [CG_FEED_FOURTHS] = {4, 2, 3},
                                        [CG_FEED_ELEMENTS] = {CG_NO_ROW_BIT, 0, 1},
                                        [CG_FEED_ACROSS] = {0, 1, 2},
                                        [CG_FEED_VECTORS] = {0, CG_PANEL_BIT, 0}};
    /* log2 of the rows of an instruction, and of the lanes that have a row in each of its columns */
    static const uint8_t scaled[][2] = {[CG_FEED_SCALES] = {CG_TENSOR_ROW_BITS, CG_LANE_BITS},
                                        [CG_FEED_WIDE_SCALES] = {CG_TENSOR_COLUMN_BITS, CG_LANE_BITS},
                                        [CG_FEED_SCALES_OF_64] = {CG_TENSOR_ROW_BITS - 1, CG_LANE_BITS - 1},
                                        [CG_FEED_SCALES_OF_32] = {CG_TENSOR_ROW_BITS - 2, CG_LANE_BITS - 2}};
    cg_encoding s = {.rows = rows, .columns = columns, .batch = batch, .bytes = bytes};
    while (bytes << (s.chunk + 1) <= 16)
        s.chunk++;
    while (s.panel < columns && bytes << (s.panel + 1) <= 128)
        s.panel++;
    if (cg_is_scale_feed(feed)) {
        s.scaled_rows = scaled[feed][0];
        s.scaled_lanes = scaled[feed][1];
    }
    uint32_t chunks = s.panel > s.chunk ? s.panel - s.chunk : 0; /* log2, at most 3 */
    for (uint32_t i = 3 - chunks; i < 3 && feed != CG_FEED_ONE && feed != CG_FEED_THREADS && !s.scaled_rows; i++)
        if (differ[feed][i] == CG_PANEL_BIT)
            s.row_bit[s.swizzle++] = s.panel < columns ? (uint8_t)rows : CG_NO_ROW_BIT;
        else if (differ[feed][i] < rows || differ[feed][i] == CG_NO_ROW_BIT)
            s.row_bit[s.swizzle++] = differ[feed][i];
    return s;
}

cg_encoding cg_encoding_for(const cg_shape *s, uint32_t fast, uint32_t bytes, cg_feed feed, uint32_t left_out)
{
    uint32_t last = s->rank - 1, bits[2],
             all = s->tile_bits - cg_count_bits(left_out); /* bits of the last two dimensions */
    for (uint32_t i = 0; i < 2; i++)
        bits[i] = i <= last ? s->bits[last - i] - cg_count_bits(left_out & cg_dim_mask(s, last - i)) : 0;
    uint32_t columns = bits[last - fast], rows = fast == last ? all - columns : bits[0];
    cg_encoding encoding = cg_encoding_new(rows, columns, all - rows - columns, bytes, feed);
    encoding.flipped = fast != last;
    encoding.left_out = left_out;
    return encoding;
}

uint32_t cg_encoding_row_bytes(const cg_encoding *s)
{
    enum { SCALES_OF_LANE = 16 };
    return s->scaled_rows ? SCALES_OF_LANE : s->bytes << s->panel;
}

enum { WORD = 2, FOUR = 2 }; /* log2 of the scales in a word, and of the columns that a lane has side by side */

/* log2 of the rows whose scales are together, and of the columns that these take: two at least, as in tensor memory
   (codegen/analysis/tcgen05_scales.h). */
static uint32_t together_of(const cg_encoding *s)
{
    return s->rows < s->scaled_rows ? s->rows : s->scaled_rows;
}

static uint32_t columns_of(const cg_encoding *s)
{
    return together_of(s) > s->scaled_lanes ? together_of(s) - s->scaled_lanes : 1;
}

/* log2 of the places, of which scales with few rows leave some empty. */
static uint32_t places_of(const cg_encoding *s)
{
    uint32_t columns = columns_of(s) + s->columns - WORD + s->rows - together_of(s) + s->batch;
    return s->scaled_rows ? WORD + s->scaled_lanes + (columns > FOUR ? columns : FOUR)
                          : s->rows + s->columns + s->batch;
}

uint32_t cg_encoding_bytes(const cg_encoding *s)
{
    return s->bytes << places_of(s);
}

bool cg_encoding_is_full(const cg_encoding *s)
{
    return places_of(s) == s->rows + s->columns + s->batch;
}

/* Scales: 16 bytes for each of 32 lanes of tensor memory (16 or 8, if rows are spread), which are four columns of
   words; the next four columns lie behind all lanes. Columns count the rows of a lane, then the words along K, then
   further rows. */
static uint32_t place_of_scale(const cg_encoding *s, uint32_t index)
{
    uint32_t k = index & ((1u << s->columns) - 1), row = index >> s->columns, together = together_of(s),
             own = columns_of(s), in_column = together < s->scaled_lanes ? together : s->scaled_lanes,
             lane = row & ((1u << in_column) - 1);
    uint32_t column = (row >> together << (s->columns - WORD) | k >> WORD) << own
                      | (row & ((1u << together) - 1)) >> in_column;
    return ((column >> FOUR << s->scaled_lanes | lane) << FOUR | (column & ((1u << FOUR) - 1))) << WORD
           | (k & ((1u << WORD) - 1));
}

static uint32_t place_of(const void *encoding, uint32_t index)
{
    const cg_encoding *s = encoding;
    if (s->left_out)
        index = cg_gather_bits(index, ~s->left_out);
    if (s->flipped) {
        uint32_t last = index & (((uint32_t)1 << s->rows) - 1),
                 before = index >> s->rows & (((uint32_t)1 << s->columns) - 1);
        index = (index >> (s->rows + s->columns) << s->rows | last) << s->columns | before;
    }
    if (s->scaled_rows)
        return place_of_scale(s, index);
    uint32_t wide = s->columns - s->panel, low = index & (((uint32_t)1 << s->panel) - 1);
    uint32_t panel = index >> s->panel & (((uint32_t)1 << wide) - 1),
             row = index >> s->columns & (((uint32_t)1 << s->rows) - 1);
    index = ((index >> (s->rows + s->columns) << wide | panel) << s->rows | row) << s->panel | low;
    for (uint32_t i = 0; i < s->swizzle; i++)
        if (s->row_bit[i] != CG_NO_ROW_BIT)
            index ^= (index >> (s->panel + s->row_bit[i]) & 1) << (s->chunk + i);
    return index;
}

cg_layout cg_encoding_layout(const cg_encoding *s, const cg_layout *l)
{
    return cg_layout_map(l, places_of(s), place_of, s);
}

bool cg_is_seen(const ct_op *op)
{
    return op->opcode == OP_reshape || op->opcode == OP_permute || (op->opcode == OP_ftof && op->way == CT_TURNED)
           || (op->opcode == OP_unpack && bc_elem_kind(ct_operands(op)[0]->type) == BC_I8
               && bc_elem_kind(cg_result(op, 0)->type) == BC_F4E2M1FN);
}

cg_layout cg_seen_layout(const ct_op *op, const cg_layout *l)
{
    const ct_value *from = ct_operands(op)[0], *v = cg_result(op, 0);
    cg_layout r = *l;
    if (op->opcode == OP_permute) {
        cg_shape source = cg_shape_of(from->type), result = cg_shape_of(v->type);
        r = cg_layout_permute(l, &source, &result, ct_attr_of(op, F_permute_permutation)->ints->ptr);
    } else if (op->opcode == OP_unpack) {
        r = cg_layout_split(l, 1);
    }
    return r;
}

/* The value of which v is another view. */
static const ct_value *seen_by(const ct_value *v)
{
    return v->op && cg_is_seen(v->op) ? ct_operands(v->op)[0] : NULL;
}

const ct_value *cg_source_of(const ct_value *v)
{
    for (const ct_value *from = seen_by(v); from; from = seen_by(v))
        v = from;
    return v;
}

cg_layout cg_source_layout(const ct_value *v, const cg_layout *l)
{
    cg_layout at = *l;
    for (const ct_value *from = seen_by(v); from; v = from, from = seen_by(v))
        if (v->op->opcode == OP_permute) {
            cg_shape source = cg_shape_of(from->type), result = cg_shape_of(v->type);
            at = cg_layout_unpermute(&at, &source, &result, ct_attr_of(v->op, F_permute_permutation)->ints->ptr);
        } else if (v->op->opcode == OP_unpack) {
            at.tile_bits = cg_shape_of(v->type).tile_bits;
            at = cg_layout_squeeze(&at, 1);
        }
    return at;
}
