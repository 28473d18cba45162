/* Scaled products by tcgen05; see the header. */
#include "codegen/analysis/tcgen05_scales.h"

#include "codegen/analysis/tensor_memory.h"

enum { WORD_BITS = 2, COPY_BITS = 2 }; /* log2 of the scales in a word, and of the columns that a copy fills */

const cg_scaling *cg_tcgen05_scaling(const cg_func *c, const cg_product *p)
{
    static const cg_scaling all[] = {
#define TCGEN05(in, scale, block, packed, scale_bits, ptx, kind) \
    {BC_##in, BC_##scale, block, packed, scale_bits, 0, false, ptx, {kind, 5, 2, false, NULL}},
#include "codegen/analysis/scalings.def"
    };
    for (size_t i = 0; p->scaling && i < TV_COUNT(all); i++)
        if (all[i].in == p->in && all[i].scale == p->scale_kind && all[i].block == p->scaling->block
            && cg_may_use_ptx(c, all[i].ptx))
            return &all[i];
    return NULL;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* log2 of the columns of all scales of A or B. */
static uint32_t columns_of(const cg_scale_place *place)
{
    return place->column_bits + place->scale_bits - place->word_bits + place->blocks;
}

static cg_scale_place place_of(const cg_product *p, bool left, uint32_t first)
{
    uint32_t scales = p->k - p->atom.k_bits + p->scaling->scale_bits, all = left ? p->m : p->n,
             rows = least(all, left ? CG_TENSOR_ROW_BITS : CG_TENSOR_COLUMN_BITS),
             own = rows > CG_LANE_BITS ? rows - CG_LANE_BITS : 0;
    return (cg_scale_place){.scale_bits = scales,
                            .word_bits = least(scales, WORD_BITS),
                            .own_bits = own,
                            .column_bits = own > COPY_BITS ? own : COPY_BITS,
                            .blocks = all - rows + p->batch,
                            .block_at = rows,
                            .first = first};
}

cg_scale_place cg_scale_place_of(const cg_product *p, bool left)
{
    cg_scale_place a = place_of(p, true, 0);
    return left ? a : place_of(p, false, 1u << columns_of(&a));
}

uint32_t cg_scale_columns(const cg_product *p)
{
    cg_scale_place a = place_of(p, true, 0), b = place_of(p, false, 0);
    return (1u << columns_of(&a)) + (1u << columns_of(&b));
}

cg_layout cg_scale_words_layout(const cg_func *c, const cg_product *p, bool left)
{
    cg_scale_place s = place_of(p, left, 0);
    uint32_t one = 1, rows = left ? p->m : p->n, k0 = left ? 0 : p->n, x0 = left ? s.scale_bits : 0,
             batch = rows + s.scale_bits;
    cg_layout l = {.tile_bits = (uint8_t)(batch + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        l.lane[i] = i < rows ? one << (x0 + i) : 0;
    for (uint32_t i = 0; i < s.word_bits; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    for (uint32_t i = CG_LANE_BITS; i < s.block_at; i++)
        l.reg[l.reg_bits++] = one << (x0 + i);
    for (uint32_t i = s.word_bits; i < s.scale_bits; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    for (uint32_t i = s.block_at; i < rows; i++)
        l.reg[l.reg_bits++] = one << (x0 + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (batch + i);
    return l;
}
