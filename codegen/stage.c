/* Swizzled matrices in shared memory; see the header. */
#include "codegen/stage.h"

#include "codegen/memory.h"

cg_stage cg_stage_new(uint32_t rows, uint32_t columns, uint32_t batch, uint32_t bytes, cg_feed feed)
{
    /* The row bits in which the rows of one 8x8 matrix differ. Several rows to 128 bytes: the first bits need no help.
     */
    static const uint8_t differ[][3] = {[CG_FEED_ROWS] = {0, 1, 2},
                                        [CG_FEED_PAIRS] = {0, 2, 3},
                                        [CG_FEED_WORDS] = {CG_NO_ROW_BIT, 0, 1},
                                        [CG_FEED_SECONDS] = {1, 2, 3}};
    cg_stage s = {.rows = rows, .columns = columns, .batch = batch, .bytes = bytes};
    while (bytes << (s.chunk + 1) <= 16)
        s.chunk++;
    while (s.panel < columns && bytes << (s.panel + 1) <= 128)
        s.panel++;
    uint32_t chunks = s.panel > s.chunk ? s.panel - s.chunk : 0; /* bits, at most 3 */
    for (uint32_t i = 3 - chunks; i < 3; i++)
        if (differ[feed][i] < rows || differ[feed][i] == CG_NO_ROW_BIT)
            s.row_bit[s.swizzle++] = differ[feed][i];
    return s;
}

uint32_t cg_stage_bytes(const cg_stage *s)
{
    return s->bytes << (s->rows + s->columns + s->batch);
}

static uint32_t place_of(const void *stage, uint32_t index)
{
    const cg_stage *s = stage;
    if (s->left_out)
        index = cg_gather_bits(index, ~s->left_out);
    if (s->flipped) {
        uint32_t last = index & (((uint32_t)1 << s->rows) - 1),
                 before = index >> s->rows & (((uint32_t)1 << s->columns) - 1);
        index = (index >> (s->rows + s->columns) << s->rows | last) << s->columns | before;
    }
    uint32_t wide = s->columns - s->panel, low = index & (((uint32_t)1 << s->panel) - 1);
    uint32_t panel = index >> s->panel & (((uint32_t)1 << wide) - 1),
             row = index >> s->columns & (((uint32_t)1 << s->rows) - 1);
    index = ((index >> (s->rows + s->columns) << wide | panel) << s->rows | row) << s->panel | low;
    for (uint32_t i = 0; i < s->swizzle; i++)
        if (s->row_bit[i] != CG_NO_ROW_BIT)
            index ^= (index >> (s->panel + s->row_bit[i]) & 1) << (s->chunk + i);
    return index;
}

cg_layout cg_stage_layout(const cg_stage *s, const cg_layout *l)
{
    return cg_layout_map(l, s->rows + s->columns + s->batch, place_of, s);
}

bool cg_stage_is_seen(const ct_op *op)
{
    return op->opcode == OP_reshape || op->opcode == OP_permute || (op->opcode == OP_ftof && op->turned)
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

/* What v is another view of. */
static const ct_value *seen_by(const ct_value *v)
{
    return v->op && cg_stage_is_seen(v->op) ? ct_operands(v->op)[0] : NULL;
}

const ct_value *cg_stage_source(const ct_value *v)
{
    for (const ct_value *from = seen_by(v); from; from = seen_by(v))
        v = from;
    return v;
}

const cg_stage *cg_stage_of(cg_func *c, const ct_value *v)
{
    return cg_value_of(c, cg_stage_source(v))->stage;
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

cg_layout cg_stage_layout_of(cg_func *c, const ct_value *v, const cg_layout *l)
{
    cg_layout at = cg_source_layout(v, l);
    return cg_stage_layout(cg_stage_of(c, v), &at);
}

/* ---- parts of a tile ---- */

/* The layout with the index bits of mask above all others. */
static cg_layout with_on_top(const cg_layout *l, uint32_t mask)
{
    cg_layout r = *l;
    uint32_t *const images[] = {r.reg, r.lane, r.warp};
    const uint32_t counts[] = {l->reg_bits, CG_LANE_BITS, l->warp_bits};
    uint32_t all = (uint32_t)(((uint64_t)1 << l->tile_bits) - 1), low = l->tile_bits - cg_count_bits(mask);
    for (int i = 0; i < 3; i++)
        for (uint32_t k = 0; k < counts[i]; k++)
            images[i][k] = cg_gather_bits(images[i][k], all & ~mask) | cg_gather_bits(images[i][k], mask) << low;
    return r;
}

/* Splits the register bits: those whose image has bits from `low` on, as a mask; l keeps the others. */
static uint32_t take_upper_bits(cg_layout *l, uint32_t low)
{
    uint32_t upper = 0, count = 0;
    for (uint32_t i = 0; i < l->reg_bits; i++)
        if (l->reg[i] >> low)
            upper |= (uint32_t)1 << i;
        else
            l->reg[count++] = l->reg[i];
    l->reg_bits = (uint8_t)count;
    return upper;
}

/* The place of an element is base + its index in `at`, whose bits from `low` on the threads must have as `top`. */
static void fill_where(cg_func *c, const cg_stage *s, bc_kind kind, const cg_layout *at, const cg_val *regs,
                       uint32_t low, uint32_t top)
{
    uint32_t upper = (uint32_t)(((uint64_t)1 << at->tile_bits) - 1) >> low << low;
    cg_val own = cg_thread_index(c, at, upper, low), base = cg_new(c, CG_B32), elsewhere = cg_new(c, CG_PRED);
    uint32_t label = cg_label(c);
    if (own.known) {
        if (own.bits == top)
            cg_flat_store(c, kind, s->base, at, regs);
        return;
    }
    cg_ins(c, "sub.u32 %v, %v, %u", base, s->base, top * s->bytes << low);
    cg_ins(c, "setp.ne.u32 %v, %v, %u", elsewhere, own, top);
    cg_ins(c, "@%v bra %l", elsewhere, label);
    cg_flat_store_some(c, kind, base, at, regs);
    cg_place_label(c, label);
}

void cg_stage_fill(cg_func *c, const cg_stage *s, bc_kind kind, const cg_layout *l, const cg_val *regs, uint32_t mask,
                   uint32_t part)
{
    uint32_t low = l->tile_bits - cg_count_bits(mask);
    cg_layout raised = with_on_top(l, mask), whole = cg_stage_layout(s, &raised), kept;
    whole.tile_bits = l->tile_bits;
    kept = whole;
    uint32_t upper = take_upper_bits(&kept, low), lower = cg_layout_regs(&whole) - 1u - upper;
    cg_val *some = cg_vals(c, cg_layout_regs(&kept));
    for (uint32_t g = 0; some && g < 1u << cg_count_bits(upper) && !c->failed; g++) {
        uint32_t first = cg_scatter_bits(g, upper), image = cg_layout_reg(&whole, first);
        if (image & (((uint32_t)1 << low) - 1))
            cg_unsupported(c, c->op, "a tile in this layout cannot go to shared memory in parts");
        for (uint32_t r = 0; r < cg_layout_regs(&kept); r++)
            some[r] = regs[cg_scatter_bits(r, lower) | first];
        fill_where(c, s, kind, &kept, some, low, image >> low ^ part);
    }
}
