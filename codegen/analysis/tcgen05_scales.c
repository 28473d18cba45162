/* Scaled products by tcgen05; see the header. */
#include "codegen/analysis/tcgen05_scales.h"

#include <string.h>

#include "codegen/analysis/tcgen05.h"

enum { WORD_BITS = 2 }; /* log2 of the scales in a word, at most */

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

static uint32_t beyond(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

/* log2 of the columns of all scales of A or B: at least as many as a copy fills. */
static uint32_t columns_of(const cg_scale_place *place)
{
    uint32_t all = place->column_bits + place->scale_bits - place->word_bits + place->blocks;
    return all > CG_SCALE_COPY_BITS ? all : CG_SCALE_COPY_BITS;
}

/* log2 of the rows that have scales: those of A, or the columns of B, of which each block of a pair has the scales of
   all, because it multiplies its rows by all. */
static uint32_t scaled_rows(const cg_product *p, bool left)
{
    return left ? p->m : cg_sum_columns(p);
}

static cg_scale_place place_of(const cg_product *p, bool left, uint32_t first)
{
    uint32_t scales = p->k - p->atom.k_bits + p->scaling->scale_bits, all = scaled_rows(p, left),
             rows = least(all, left ? CG_TENSOR_ROW_BITS : CG_TENSOR_COLUMN_BITS),
             spread = left ? cg_tcgen05_spread(p) : 0, own = beyond(rows + spread, CG_LANE_BITS);
    return (cg_scale_place){.scale_bits = scales,
                            .word_bits = least(scales, WORD_BITS),
                            .spread = spread,
                            .own_bits = own,
                            .column_bits = own ? own : 1,
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
    uint32_t one = 1, rows = scaled_rows(p, left), k0 = left ? 0 : rows, x0 = left ? s.scale_bits : 0,
             batch = rows + s.scale_bits;
    cg_layout l = {.tile_bits = (uint8_t)(batch + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    for (uint32_t i = 0; i < CG_LANE_BITS; i++) { /* lanes of rows between the product's repeat theirs */
        bool between = i >= CG_GROUP_ROW_BITS && i < CG_GROUP_ROW_BITS + s.spread;
        uint32_t row = i < CG_GROUP_ROW_BITS ? i : i - s.spread;
        l.lane[i] = row < rows && !between ? one << (x0 + row) : 0;
    }
    for (uint32_t i = 0; i < s.word_bits; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    for (uint32_t i = CG_LANE_BITS - s.spread; i < s.block_at; i++)
        l.reg[l.reg_bits++] = one << (x0 + i);
    for (uint32_t i = s.word_bits; i < s.scale_bits; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    for (uint32_t i = s.block_at; i < rows; i++)
        l.reg[l.reg_bits++] = one << (x0 + i);
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (batch + i);
    return l;
}

cg_feed cg_scale_feed(const cg_product *p, bool left)
{
    static const cg_feed spread[] = {CG_FEED_SCALES, CG_FEED_SCALES_OF_64, CG_FEED_SCALES_OF_32};
    return left                                        ? spread[cg_tcgen05_spread(p)]
           : cg_sum_columns(p) < CG_TENSOR_COLUMN_BITS ? CG_FEED_SCALES
                                                       : CG_FEED_WIDE_SCALES;
}

bool cg_scales_are_copied(const cg_product *p, bool left, const ct_value *v, const cg_encoding *encoding)
{
    cg_scale_place s = place_of(p, left, 0);
    cg_encoding regular = cg_encoding_new(scaled_rows(p, left), s.scale_bits, p->batch, 1, cg_scale_feed(p, left));
    cg_layout index = {.tile_bits = (uint8_t)(regular.rows + regular.columns + regular.batch)};
    regular.flipped = !left;
    if (index.tile_bits > CG_MAX_REG_BITS || s.scale_bits < WORD_BITS)
        return false;
    for (uint32_t b = 0; b < index.tile_bits; b++)
        index.reg[index.reg_bits++] = (uint32_t)1 << b;
    cg_layout wanted = cg_encoding_layout(&regular, &index), source = cg_source_layout(v, &index),
              is = cg_encoding_layout(encoding, &source);
    return memcmp(wanted.reg, is.reg, index.reg_bits * sizeof *is.reg) == 0;
}
