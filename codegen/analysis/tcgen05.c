/* Products by tcgen05; see the header. */
#include "codegen/analysis/tcgen05.h"

#include "codegen/analysis/tcgen05_scales.h"

enum { BLOCK_BITS = 3, HALF_BITS = 4 }; /* log2 of the columns, and the lanes, that 16x256b moves at a time */

/* log2 of the warps beyond a warpgroup. */
static uint32_t further_warps(const cg_func *c)
{
    return c->warp_bits - CG_WARPGROUP_BITS;
}

/* log2 of the rows of all batches beyond those of an instruction. */
static uint32_t further_rows(const cg_product *p)
{
    return (p->m > CG_TENSOR_ROW_BITS ? p->m - CG_TENSOR_ROW_BITS : 0) + p->batch;
}

uint32_t cg_sum_columns(const cg_product *p)
{
    return (uint32_t)1 << (p->n + further_rows(p));
}

uint32_t cg_tcgen05_columns(const cg_product *p)
{
    return cg_sum_columns(p) + (p->scaled ? cg_scale_columns(p) : 0);
}

static bool has_kind(const cg_func *c, const cg_product *p)
{
    bool bytes = c->target->features & CG_HAS_TCGEN05_I8,
         floats = p->in == BC_F16 || p->in == BC_BF16 || p->in == BC_TF32 || p->in == BC_F8E4M3FN || p->in == BC_F8E5M2;
    if (p->scaled)
        return p->m >= CG_TENSOR_ROW_BITS && cg_tcgen05_scaling(c, p);
    return (floats && p->acc == BC_F32) || (bytes && p->in == BC_I8 && p->acc == BC_I32);
}

const char *cg_tcgen05_obstacle(const cg_func *c, const cg_product *p)
{
    if (!(c->target->features & CG_HAS_TCGEN05))
        return "the target does not have it";
    if (c->warp_bits < CG_WARPGROUP_BITS || c->strip_bits)
        return "the kernel has fewer than four warps, or its tiles are in strips";
    if (!has_kind(c, p))
        return p->scaled && p->m < CG_TENSOR_ROW_BITS ? "scaled products need 128 rows" : "it has no such kind";
    uint32_t rows = further_rows(p), warps = further_warps(c), along_n = warps > rows ? warps - rows : 0;
    cg_product scaled = *p;
    scaled.scaling = p->scaled ? cg_tcgen05_scaling(c, p) : NULL;
    if (cg_tcgen05_columns(&scaled) > CG_TENSOR_COLUMNS)
        return "tensor memory has no room for the sum and its scales";
    return along_n + BLOCK_BITS <= p->n ? NULL : "a warp would have less than eight columns";
}

void cg_tcgen05_split(const cg_func *c, cg_product *p)
{
    uint32_t rows = further_rows(p), warps = further_warps(c);
    p->along_m = CG_WARPGROUP_BITS + (warps < rows ? warps : rows);
    p->along_n = c->warp_bits - p->along_m;
}

cg_layout cg_tcgen05_layout(const cg_func *c, const cg_product *p)
{
    cg_layout l = {.tile_bits = (uint8_t)(p->m + p->n + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1, w = 0, of_warps = p->m < CG_TENSOR_ROW_BITS ? HALF_BITS : HALF_BITS + 1;
    l.reg[l.reg_bits++] = one;
    l.reg[l.reg_bits++] = one << (p->n + 3);
    for (uint32_t i = BLOCK_BITS; i < p->n - p->along_n; i++)
        l.reg[l.reg_bits++] = one << i;
    for (uint32_t i = HALF_BITS; i < of_warps; i++)
        l.reg[l.reg_bits++] = one << (p->n + i);
    for (uint32_t i = of_warps + p->along_m; i < p->m + p->batch; i++)
        l.reg[l.reg_bits++] = one << (p->n + i);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        l.lane[i] = one << (i < 2 ? 1 + i : p->n + i - 2);
    for (uint32_t i = 0; i < p->along_m; i++)
        l.warp[w++] = one << (p->n + of_warps + i);
    for (uint32_t i = 0; i < p->along_n; i++)
        l.warp[w++] = one << (p->n - p->along_n + i);
    return l;
}
