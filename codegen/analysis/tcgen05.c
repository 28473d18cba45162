/* Products by tcgen05; see the header. */
#include "codegen/analysis/tcgen05.h"

#include "codegen/analysis/tcgen05_scales.h"

enum { BLOCK_BITS = 3, HALF_BITS = 4 };         /* log2 of the columns, and the lanes, that 16x256b moves at a time */
enum { LEAST_ROWS = 6, LEAST_SCALED_ROWS = 5 }; /* log2; with 16 rows, only two of four warps would have some */

/* log2 of the warps beyond a warpgroup. */
static uint32_t further_warps(const cg_func *c)
{
    return c->warp_bits - CG_WARPGROUP_BITS;
}

bool cg_tcgen05_halves_lanes(const cg_product *p)
{
    return p->paired && p->m < CG_TENSOR_ROW_BITS;
}

/* log2 of the rows of all batches beyond those of an instruction. */
static uint32_t further_rows(const cg_product *p)
{
    return (p->m > CG_TENSOR_ROW_BITS ? p->m - CG_TENSOR_ROW_BITS : 0) + p->batch;
}

/* log2 of those that warps beyond a warpgroup share. Where halves of the columns are in different lanes, these are
   what the number of a warp in its warpgroup selects, so that further warps have other columns. */
static uint32_t shared_rows(const cg_product *p)
{
    return cg_tcgen05_halves_lanes(p) ? 0 : further_rows(p);
}

uint32_t cg_tcgen05_sum_columns(const cg_product *p)
{
    return (uint32_t)1 << (cg_sum_columns(p) + further_rows(p) - cg_tcgen05_halves_lanes(p));
}

uint32_t cg_tcgen05_columns(const cg_product *p)
{
    return cg_tcgen05_sum_columns(p) + (p->scaled ? cg_scale_columns(p) : 0);
}

bool cg_tcgen05_has_kind(const cg_func *c, const cg_product *p)
{
    bool bytes = c->target->features & CG_HAS_TCGEN05_I8,
         floats = p->in == BC_F16 || p->in == BC_BF16 || p->in == BC_TF32 || p->in == BC_F8E4M3FN || p->in == BC_F8E5M2;
    return !p->scaled && ((floats && p->acc == BC_F32) || (bytes && p->in == BC_I8 && p->acc == BC_I32));
}

const char *cg_tcgen05_obstacle(const cg_func *c, const cg_product *p)
{
    if (!(c->target->features & CG_HAS_TCGEN05))
        return "the target does not have it";
    if (c->warp_bits < CG_WARPGROUP_BITS || c->strip_bits)
        return "the kernel has fewer than four warps, or its tiles are in strips";
    if (p->m < (p->scaled ? LEAST_SCALED_ROWS : LEAST_ROWS))
        return p->scaled ? "scaled products need 32 rows" : "products need 64 rows";
    if (p->scaled ? !cg_tcgen05_scaling(c, p) : !cg_tcgen05_has_kind(c, p))
        return "it has no such kind";
    if (cg_tcgen05_spread(p) && cg_choices_of(c)->spread == CG_NEVER)
        return "mma.sync is predicted to be faster for so few rows";
    if (p->paired && cg_sum_columns(p) > CG_TENSOR_COLUMN_BITS)
        return "a pair of thread blocks multiplies up to 256 columns";
    if (p->paired && p->scaled && p->m < CG_TENSOR_ROW_BITS)
        return "a pair of thread blocks needs 256 rows to scale";
    cg_product scaled = *p;
    scaled.scaling = p->scaled ? cg_tcgen05_scaling(c, p) : NULL;
    if (cg_tcgen05_columns(&scaled) > CG_TENSOR_COLUMNS)
        return "tensor memory has no room for the sum and its scales";
    uint32_t rows = shared_rows(p), warps = further_warps(c),
             along_n = (warps > rows ? warps - rows : 0) + cg_tcgen05_halves_lanes(p);
    return along_n + BLOCK_BITS <= cg_sum_columns(p) ? NULL : "a warp would have less than eight columns";
}

void cg_tcgen05_split(const cg_func *c, cg_product *p)
{
    uint32_t rows = shared_rows(p), warps = further_warps(c);
    p->along_m = CG_WARPGROUP_BITS - cg_tcgen05_halves_lanes(p) + (warps < rows ? warps : rows);
    p->along_n = c->warp_bits - p->along_m;
}

uint32_t cg_tcgen05_warp_column(const cg_product *p, uint32_t i)
{
    return cg_tcgen05_halves_lanes(p) ? cg_sum_columns(p) - 1 - i : cg_sum_columns(p) - p->along_n + i;
}

cg_layout cg_tcgen05_rows_layout(const cg_func *c, const cg_product *p, uint32_t columns, uint32_t along)
{
    uint32_t one = 1, w = 0;
    cg_layout l = {.tile_bits = (uint8_t)(p->m + columns + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    for (uint32_t i = 0; i < columns - along; i++)
        l.reg[l.reg_bits++] = one << i;
    for (uint32_t i = CG_LANE_BITS + p->along_m; i < p->m + p->batch; i++)
        l.reg[l.reg_bits++] = one << (columns + i);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        l.lane[i] = one << (columns + i);
    for (uint32_t i = 0; i < p->along_m; i++)
        l.warp[w++] = one << (columns + CG_LANE_BITS + i);
    for (uint32_t i = 0; i < along; i++)
        l.warp[w++] = one << (columns - along + i);
    return l;
}

cg_layout cg_tcgen05_layout(const cg_func *c, const cg_product *p)
{
    if (cg_tcgen05_moves_rows(p))
        return cg_tcgen05_rows_layout(c, p, cg_sum_columns(p), p->along_n);
    uint32_t one = 1, w = 0, n = cg_sum_columns(p),
             of_warps = p->m < CG_TENSOR_ROW_BITS && !p->paired ? p->m - CG_WARPGROUP_BITS : HALF_BITS + 1;
    cg_layout l = {.tile_bits = (uint8_t)(p->m + n + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    l.reg[l.reg_bits++] = one;
    if (of_warps >= HALF_BITS)
        l.reg[l.reg_bits++] = one << (n + 3);
    for (uint32_t i = BLOCK_BITS; i < n - p->along_n; i++)
        l.reg[l.reg_bits++] = one << i;
    for (uint32_t i = HALF_BITS; i < of_warps; i++)
        l.reg[l.reg_bits++] = one << (n + i);
    for (uint32_t i = of_warps + p->along_m; i < p->m + p->batch; i++)
        l.reg[l.reg_bits++] = one << (n + i);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        l.lane[i] = one << (i < 2 ? 1 + i : n + i - 2);
    for (uint32_t i = 0; i < p->along_m; i++)
        l.warp[w++] = one << (n + of_warps + i);
    for (uint32_t i = 0; i < p->along_n; i++)
        l.warp[w++] = one << cg_tcgen05_warp_column(p, i);
    return l;
}
