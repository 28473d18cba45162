/* How transposed products are divided; see the header. */
#include "codegen/analysis/turned.h"

#include "codegen/analysis/ring.h"

cg_turned cg_turned_of(const cg_product *p, uint32_t warp_bits)
{
    const ct_op *source = cg_source_of(p->rhs)->op;
    const cg_ring_load *load = source && source->opcode == CT_staged ? source->detail : NULL;
    uint32_t longer = load && cg_is_rounded(load); /* 1: fragments that round take more registers */
    cg_turned t = {.p = p, .steps = p->k - p->atom.k_bits, .feed = load ? load->feed : CG_NO_FEED};
    uint32_t groups = warp_bits - CG_WARPGROUP_BITS;
    t.along_n = groups < p->n - CG_TURNED_COLUMN_BITS ? groups : p->n - CG_TURNED_COLUMN_BITS;
    t.along_m = groups - t.along_n;
    t.rows = p->m - t.along_m;
    t.strips = p->n - t.along_n - CG_TURNED_COLUMN_BITS;
    t.twins = t.strips && t.feed == CG_FEED_WORDS;
    uint32_t more = t.steps ? t.steps - 1 : 0; /* at least two pieces, if there are two steps */
    t.piece = more < 1 + longer ? more : 1 + longer;
    while (t.piece && t.piece + t.strips > CG_TURNED_MOST_PIECE_BITS + longer)
        t.piece--;
    return t;
}

bool cg_may_turn(const cg_func *c, const ct_op *op, const cg_product *p)
{
    enum { MOST_SUMS = 7 }; /* log2, per thread */
    if (!cg_async_takes(c, op, p) || p->n < CG_TURNED_COLUMN_BITS || p->k < p->atom.k_bits)
        return false;
    cg_turned t = cg_turned_of(p, c->warp_bits); /* few enough sums that an instruction has all rows of a warpgroup */
    return p->m >= CG_TURNED_ROW_BITS + t.along_m && p->m + p->n <= CG_LANE_BITS + c->warp_bits + MOST_SUMS;
}

cg_feed cg_turned_feed(const cg_product *p, bool along_k)
{
    if (p->in == BC_TF32)
        return along_k ? CG_FEED_SECONDS : CG_FEED_WORDS;
    return along_k ? CG_NO_FEED : CG_FEED_MIXED;
}

/* With feeds of words, lanes read four rows at a time. A swizzle by the row changes only the lower two bits of a
   chunk's number there, so the lanes differ in the upper bit: then they access all banks. */
void cg_turned_columns(const cg_turned *t, uint32_t *regs, cg_layout *l)
{
    enum { LANES = CG_LANE_BITS - 2 };
    static const uint8_t in_order[] = {1, 2, 3, 4, 5}, words[] = {1, 4, 2, 3, 5}, twins[] = {4, 2, 3, 5, 6};
    const uint8_t *bits = t->twins ? twins : t->feed == CG_FEED_WORDS ? words : in_order;
    uint32_t one = 1, at = CG_TURNED_COLUMN_BITS + t->twins;
    for (uint32_t i = 0; i < LANES; i++)
        l->lane[2 + i] = one << bits[i];
    for (uint32_t i = 0; i < CG_WARPGROUP_BITS; i++)
        l->warp[i] = one << bits[LANES + i];
    for (uint32_t i = t->twins; i < t->strips; i++)
        l->reg[(*regs)++] = one << at++;
    for (uint32_t i = 0; i < t->along_n; i++)
        l->warp[CG_WARPGROUP_BITS + i] = one << at++;
}

cg_layout cg_turned_layout(const cg_func *c, const cg_product *p)
{
    cg_turned t = cg_turned_of(p, c->warp_bits);
    cg_layout l = {.tile_bits = (uint8_t)(p->m + p->n), .warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1, regs = 0;
    l.reg[regs++] = one << p->n;
    l.reg[regs++] = one;
    for (uint32_t i = CG_TURNED_ROW_BITS; i < t.rows; i++)
        l.reg[regs++] = one << (p->n + i);
    if (t.twins)
        l.reg[regs++] = one << 1;
    l.lane[0] = one << (p->n + 1);
    l.lane[1] = one << (p->n + 2);
    cg_turned_columns(&t, &regs, &l);
    for (uint32_t i = 0; i < t.along_m; i++)
        l.warp[CG_WARPGROUP_BITS + t.along_n + i] = one << (p->n + t.rows + i);
    l.reg_bits = (uint8_t)regs;
    return l;
}
