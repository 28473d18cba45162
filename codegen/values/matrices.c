/* Moves tiles of 16-bit elements between registers and shared memory by ldmatrix and stmatrix: a warp accesses 8x8
   matrices whose rows of 16 bytes may have any address. Register i of a lane is a pair of matrix i: elements 2 (lane
   % 4) and the next one of row lane / 4, or if transposed, of column lane / 4. Lanes 8 i to 8 i + 7 give the
   addresses of the rows of matrix i. PTX ISA, "Warp-level matrix load instruction: ldmatrix". */
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"

enum { ROW_BITS = 3, ROW_MASK = 7, QUAD_BITS = 2, MOST_MATRICES_LOG2 = 2 };

/* Are these bits of a layout, in this order, the positions within a row? */
static bool run_in_row(const uint32_t *images, uint32_t count, uint32_t first)
{
    for (uint32_t i = 0; i < count; i++)
        if (images[i] != first << i)
            return false;
    return true;
}

/* The register bit that selects the element of a pair. Its image is `image` or, if that is 0, any image outside the
   rows. */
static uint32_t pair_bit(const cg_layout *l, uint32_t image)
{
    for (uint32_t i = 0; i < l->reg_bits; i++)
        if (image ? l->reg[i] == image : l->reg[i] && !(l->reg[i] & ROW_MASK))
            return i;
    return UINT32_MAX;
}

bool cg_find_matrices(const cg_layout *l, cg_matrices *out)
{
    *out = (cg_matrices){.rows = *l, .transposed = !run_in_row(l->lane, QUAD_BITS, 2)};
    const uint32_t *outer = out->transposed ? l->lane : l->lane + QUAD_BITS;
    uint32_t outer_count = out->transposed ? QUAD_BITS : ROW_BITS;
    if (out->transposed && !run_in_row(l->lane + QUAD_BITS, ROW_BITS, 1))
        return false;
    out->pair = pair_bit(l, out->transposed ? 0 : 1);
    if (out->pair == UINT32_MAX)
        return false;
    cg_layout *rows = &out->rows;
    rows->reg[out->pair] = 0;
    if ((cg_images(outer, outer_count) | cg_layout_reg_images(rows) | cg_images(l->warp, l->warp_bits)) & ROW_MASK)
        return false;
    uint32_t lane = 0;
    if (out->transposed)
        rows->lane[lane++] = l->reg[out->pair];
    for (uint32_t i = 0; i < outer_count; i++)
        rows->lane[lane++] = outer[i];
    out->used = (uint32_t)1 << out->pair;
    for (uint32_t i = 0; i < l->reg_bits && out->bits < MOST_MATRICES_LOG2; i++)
        if (rows->reg[i]) {
            out->next[out->bits++] = (uint8_t)i;
            out->used |= (uint32_t)1 << i;
            rows->lane[lane++] = rows->reg[i];
            rows->reg[i] = 0;
        }
    while (lane < CG_LANE_BITS)
        rows->lane[lane++] = 0;
    return true;
}

bool cg_matrices_store(const cg_func *c, const cg_layout *l, cg_matrices *out)
{
    return c->target->features & CG_HAS_STMATRIX && !cg_layout_has_replicas(l) && cg_find_matrices(l, out);
}

/* The register of the pair from matrix i in the access that begins with register r. */
static uint32_t register_of(const cg_matrices *m, uint32_t r, uint32_t i)
{
    return r | cg_layout_member(m->next, m->bits, i);
}

void cg_store_matrices(cg_func *c, const cg_matrices *m, const cg_access *a, uint32_t r, const cg_val *regs)
{
    cg_val words[1 << MOST_MATRICES_LOG2];
    for (uint32_t i = 0; i < 1u << m->bits; i++) {
        uint32_t at = register_of(m, r, i);
        words[i] = cg_join(c, (cg_val[]){regs[at], regs[at | (uint32_t)1 << m->pair]}, 2, 16);
    }
    cg_put(c, "\tstmatrix.sync.aligned.m8n8.x%u%s.shared.b16 ", 1u << m->bits, m->transposed ? ".trans" : "");
    cg_put_address(c, a);
    cg_put(c, ", %V;\n", words, 1u << m->bits);
}

void cg_load_matrices(cg_func *c, const cg_matrices *m, const cg_access *a, uint32_t r, cg_val *out_regs)
{
    cg_val words[1 << MOST_MATRICES_LOG2];
    for (uint32_t i = 0; i < 1u << m->bits; i++)
        words[i] = cg_new(c, CG_B32);
    cg_put(c, "\tldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 %V, ", 1u << m->bits, m->transposed ? ".trans" : "", words,
           1u << m->bits);
    cg_put_address(c, a);
    cg_put(c, ";\n");
    for (uint32_t i = 0; i < 1u << m->bits; i++) {
        uint32_t at = register_of(m, r, i);
        cg_val pair[2];
        cg_split(c, a->kind, words[i], 2, 16, pair);
        out_regs[at] = pair[0];
        out_regs[at | (uint32_t)1 << m->pair] = pair[1];
    }
}
