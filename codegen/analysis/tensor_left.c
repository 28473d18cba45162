/* Left operands of products by tcgen05 in tensor memory; see the header. */
#include "codegen/analysis/tensor_left.h"

enum { HALF_BITS = 4 }; /* log2 of the lanes that 16x128b and 16x256b move at a time */

uint32_t cg_tensor_left_words(const cg_product *p)
{
    return p->k - p->atom.element_bits;
}

uint32_t cg_tensor_left_columns(const cg_product *p)
{
    uint32_t further = p->m > CG_TENSOR_ROW_BITS ? p->m - CG_TENSOR_ROW_BITS : 0;
    return (uint32_t)1 << (cg_tensor_left_words(p) + further);
}

uint32_t cg_tensor_left_along(const cg_func *c, const cg_product *p)
{
    return c->warp_bits - p->along_m;
}

/* log2 of the elements of a row that a thread has side by side: a word, or two words of 16x256b. */
static uint32_t neighbours_of(const cg_product *p)
{
    return p->atom.element_bits ? p->atom.element_bits : 1;
}

cg_layout cg_tensor_left_layout(const cg_func *c, const cg_product *p)
{
    if (cg_tcgen05_moves_rows(p))
        return cg_tcgen05_rows_layout(c, p, p->k, cg_tensor_left_along(c, p));
    cg_layout l = {.tile_bits = (uint8_t)(p->m + p->k), .warp_bits = (uint8_t)c->warp_bits};
    uint32_t one = 1, w = 0, of_warps = p->m < CG_TENSOR_ROW_BITS ? HALF_BITS : HALF_BITS + 1, near = neighbours_of(p),
             along = cg_tensor_left_along(c, p);
    for (uint32_t i = 0; i < near; i++)
        l.reg[l.reg_bits++] = one << i;
    l.reg[l.reg_bits++] = one << (p->k + 3);
    for (uint32_t i = near + 2; i < p->k - along; i++)
        l.reg[l.reg_bits++] = one << i;
    for (uint32_t i = HALF_BITS; i < of_warps; i++)
        l.reg[l.reg_bits++] = one << (p->k + i);
    for (uint32_t i = of_warps + p->along_m; i < p->m; i++)
        l.reg[l.reg_bits++] = one << (p->k + i);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        l.lane[i] = one << (i < 2 ? near + i : p->k + i - 2);
    for (uint32_t i = 0; i < p->along_m; i++)
        l.warp[w++] = one << (p->k + of_warps + i);
    for (uint32_t i = 0; i < along; i++)
        l.warp[w++] = one << (p->k - along + i);
    return l;
}

bool cg_tensor_takes_left(const cg_func *c, const ct_op *op)
{
    const ct_op *before = cg_product_before(op);
    if (!before || !cg_sums_in_tensor(c, op) || !cg_sums_in_tensor(c, before) || op->in_flight)
        return false;
    cg_product p = cg_product_of(c, op);
    cg_tcgen05_split(c, &p);
    return !p.scaled && !p.batch && !cg_tcgen05_halves_lanes(&p)
           && neighbours_of(&p) + 2 + cg_tensor_left_along(c, &p) <= p.k;
}

bool cg_is_chain_in_tensor(const cg_func *c, const ct_block *block)
{
    uint32_t products = 0, columns = 0;
    bool takes_left = false;
    for (const ct_op *op = block->first; op && columns <= CG_TENSOR_COLUMNS; op = op->next) {
        if (!cg_is_product(op))
            continue;
        if (!cg_sums_in_tensor(c, op))
            return false;
        cg_product p = cg_product_of(c, op);
        takes_left = cg_tensor_takes_left(c, op);
        columns += cg_tcgen05_columns(&p) + (takes_left ? cg_tensor_left_columns(&p) : 0);
        products++;
    }
    return products == 2 && takes_left && columns <= CG_TENSOR_COLUMNS;
}
