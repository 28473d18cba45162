/* The right operand of reordered products (codegen/analysis/reordered.h), in rows along K in shared memory. A lane
   reads its elements for two steps along K as a vector of 16 bytes. */
#include "codegen/analysis/reordered.h"
#include "codegen/ops/mma.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

cg_layout cg_vector_lanes(const cg_func *c, const cg_product *p)
{
    enum { COLUMN_LANES = 3, STEPS = 4 /* the first bit of K that numbers steps */ };
    uint32_t one = 1, columns = p->n - p->along_n;
    cg_layout l = {.warp_bits = (uint8_t)c->warp_bits};
    for (uint32_t i = STEPS; i < p->k; i++)
        l.reg[l.reg_bits++] = one << (p->n + p->k_bit[i]);
    for (uint32_t i = COLUMN_LANES + 1; i < columns; i++)
        l.reg[l.reg_bits++] = one << i;
    l.reg[l.reg_bits++] = columns > COLUMN_LANES ? one << COLUMN_LANES : 0;
    l.lane[0] = one << (p->n + p->k_bit[1]);
    l.lane[1] = one << (p->n + p->k_bit[2]);
    for (uint32_t i = 0; i < COLUMN_LANES; i++)
        l.lane[2 + i] = one << i;
    for (uint32_t i = 0; i < p->along_n; i++)
        l.warp[p->along_m + i] = one << (columns + i);
    return l;
}

void cg_take_vectors(cg_func *c, const cg_operand *o, uint32_t part, cg_val *out)
{
    uint32_t half_bit = o->lanes.reg_bits - 1u, halves = o->lanes.reg[half_bit] ? 2 : 1;
    for (uint32_t half = 0; half < halves; half++) {
        cg_place place = cg_flat_place(c, o->base, o->encoding.bytes, &o->lanes, part | half << half_bit);
        cg_val x[4];
        for (uint32_t i = 0; i < 4; i++)
            x[i] = cg_new(c, CG_B32);
        cg_ins(c, "ld.shared.v4.b32 {%v, %v, %v, %v}, [%v+%d]", x[0], x[1], x[2], x[3], place.address,
               (int)place.offset);
        for (uint32_t i = 0; i < 4; i++)
            out[(i & 2) * 2 + 2 * half + (i & 1)] = x[i];
    }
}
