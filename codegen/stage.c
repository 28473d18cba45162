/* Swizzled matrices in shared memory; see the header. */
#include "codegen/stage.h"

cg_stage cg_stage_new(uint32_t rows, uint32_t columns, uint32_t batch, uint32_t bytes, cg_feed feed)
{
    /* The row bits in which the rows of one 8x8 matrix differ. Several rows to 128 bytes: the first bits need no help. */
    static const uint8_t differ[][3] = {[CG_FEED_ROWS] = {0, 1, 2}, [CG_FEED_PAIRS] = {0, 2, 3}};
    cg_stage s = {.rows = rows, .columns = columns, .batch = batch, .bytes = bytes};
    while (bytes << (s.chunk + 1) <= 16)
        s.chunk++;
    while (s.panel < columns && bytes << (s.panel + 1) <= 128)
        s.panel++;
    uint32_t chunks = s.panel > s.chunk ? s.panel - s.chunk : 0; /* bits, at most 3 */
    for (uint32_t i = 3 - chunks; i < 3; i++)
        if (differ[feed][i] < rows)
            s.row_bit[s.swizzle++] = differ[feed][i];
    return s;
}

uint32_t cg_stage_bytes(const cg_stage *s)
{
    return s->bytes << (s->rows + s->columns + s->batch);
}

static uint32_t place_of(const cg_stage *s, uint32_t index)
{
    if (s->flipped) {
        uint32_t last = index & (((uint32_t)1 << s->rows) - 1), before = index >> s->rows & (((uint32_t)1 << s->columns) - 1);
        index = (index >> (s->rows + s->columns) << s->rows | last) << s->columns | before;
    }
    uint32_t wide = s->columns - s->panel, low = index & (((uint32_t)1 << s->panel) - 1);
    uint32_t panel = index >> s->panel & (((uint32_t)1 << wide) - 1), row = index >> s->columns & (((uint32_t)1 << s->rows) - 1);
    index = ((index >> (s->rows + s->columns) << wide | panel) << s->rows | row) << s->panel | low;
    for (uint32_t i = 0; i < s->swizzle; i++)
        index ^= (index >> (s->panel + s->row_bit[i]) & 1) << (s->chunk + i);
    return index;
}

cg_layout cg_stage_layout(const cg_stage *s, const cg_layout *l)
{
    cg_layout r = *l;
    r.tile_bits = (uint8_t)(s->rows + s->columns + s->batch);
    for (uint32_t i = 0; i < r.reg_bits; i++)
        r.reg[i] = place_of(s, l->reg[i]);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        r.lane[i] = place_of(s, l->lane[i]);
    for (uint32_t i = 0; i < r.warp_bits; i++)
        r.warp[i] = place_of(s, l->warp[i]);
    return r;
}

/* What v is another view of. */
static const bc_value *seen_by(const bc_value *v)
{
    return v->op && (v->op->opcode == OP_reshape || v->op->opcode == OP_permute) ? bc_operands(v->op)[0] : NULL;
}

const cg_stage *cg_stage_of(cg_func *c, const bc_value *v)
{
    for (const bc_value *from = seen_by(v); from; from = seen_by(v))
        v = from;
    return cg_value_of(c, v)->stage;
}

cg_layout cg_stage_layout_of(cg_func *c, const bc_value *v, const cg_layout *l)
{
    cg_layout at = *l;
    for (const bc_value *from = seen_by(v); from; v = from, from = seen_by(v))
        if (v->op->opcode == OP_permute) {
            cg_shape source = cg_shape_of(from->type), result = cg_shape_of(v->type);
            at = cg_layout_unpermute(&at, &source, &result, bc_attr_of(v->op, F_permute_permutation)->ints->ptr);
        }
    return cg_stage_layout(cg_value_of(c, v)->stage, &at);
}
