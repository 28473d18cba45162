/* Swizzled matrices in shared memory; see the header. */
#include "codegen/stage.h"

cg_stage cg_stage_new(uint32_t rows, uint32_t columns, uint32_t batch, uint32_t bytes)
{
    cg_stage s = {.rows = rows, .columns = columns, .batch = batch, .bytes = bytes};
    while (bytes << (s.chunk + 1) <= 16)
        s.chunk++;
    uint32_t chunks = columns > s.chunk ? columns - s.chunk : 0; /* bits */
    s.swizzle = chunks < 3 ? chunks : 3;
    s.first = chunks < 3 ? 3 - chunks : 0;
    while (s.swizzle && s.first + s.swizzle > rows)
        s.swizzle--;
    return s;
}

uint32_t cg_stage_bytes(const cg_stage *s)
{
    return s->bytes << (s->rows + s->columns + s->batch);
}

static uint32_t swizzled(const cg_stage *s, uint32_t index)
{
    uint32_t row_bits = index >> (s->columns + s->first) & (((uint32_t)1 << s->swizzle) - 1);
    return index ^ row_bits << s->chunk;
}

cg_layout cg_stage_layout(const cg_stage *s, const cg_layout *l)
{
    cg_layout r = *l;
    r.tile_bits = (uint8_t)(s->rows + s->columns + s->batch);
    for (uint32_t i = 0; i < r.reg_bits; i++)
        r.reg[i] = swizzled(s, l->reg[i]);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        r.lane[i] = swizzled(s, l->lane[i]);
    for (uint32_t i = 0; i < r.warp_bits; i++)
        r.warp[i] = swizzled(s, l->warp[i]);
    return r;
}
