/* Stores tiles from registers to encodings, whole or in parts. */
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* The layout with the index bits of mask moved above all others. */
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

/* Removes the register bits whose image has bits from `low` on, and returns them as a mask. */
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

/* Stores elements at base + their index in `at`, if the thread's bits from `low` on are `top`. */
static void fill_where(cg_func *c, const cg_encoding *s, cg_val base, bc_kind kind, const cg_layout *at,
                       const cg_val *regs, uint32_t low, uint32_t top)
{
    uint32_t upper = (uint32_t)(((uint64_t)1 << at->tile_bits) - 1) >> low << low;
    cg_val own = cg_thread_index(c, at, upper, low), here = cg_new(c, CG_B32), elsewhere = cg_new(c, CG_PRED);
    uint32_t label = cg_label(c);
    if (own.known) {
        if (own.bits == top)
            cg_flat_store(c, kind, base, at, regs);
        return;
    }
    cg_ins(c, "sub.u32 %v, %v, %u", here, base, top * s->bytes << low);
    cg_ins(c, "setp.ne.u32 %v, %v, %u", elsewhere, own, top);
    cg_ins(c, "@%v bra %l", elsewhere, label);
    cg_flat_store_some(c, kind, here, at, regs);
    cg_place_label(c, label);
}

void cg_encode(cg_func *c, const cg_encoding *s, cg_val base, bc_kind kind, const cg_layout *l, const cg_val *regs,
               uint32_t mask, uint32_t part)
{
    uint32_t low = l->tile_bits - cg_count_bits(mask);
    cg_layout raised = with_on_top(l, mask), whole = cg_encoding_layout(s, &raised), kept;
    whole.tile_bits = l->tile_bits;
    kept = whole;
    uint32_t upper = take_upper_bits(&kept, low), lower = cg_layout_regs(&whole) - 1u - upper;
    cg_val *some = cg_vals(c, cg_layout_regs(&kept));
    for (uint32_t g = 0; some && g < 1u << cg_count_bits(upper) && !c->failed; g++) {
        uint32_t first = cg_scatter_bits(g, upper), image = cg_layout_reg(&whole, first);
        if (image & (((uint32_t)1 << low) - 1))
            cg_unsupported(c, cg_lowered(c), "a tile in this layout cannot go to shared memory in parts");
        for (uint32_t r = 0; r < cg_layout_regs(&kept); r++)
            some[r] = regs[cg_scatter_bits(r, lower) | first];
        fill_where(c, s, base, kind, &kept, some, low, image >> low ^ part);
    }
}

void cg_store_zeros(cg_func *c, cg_val base, cg_zeros to)
{
    enum { VECTOR = 16 };
    cg_val zero = cg_new(c, CG_B32), at = cg_new(c, CG_B32);
    uint32_t at_once = cg_threads(c) * VECTOR;
    cg_ins(c, "mov.b32 %v, 0", zero);
    cg_ins(c, "mad.lo.u32 %v, %v, %d, %v", at, cg_tid(c), VECTOR, base);
    for (uint32_t from = 0; from < to.bytes; from += at_once) {
        uint32_t rest = to.bytes - from < at_once ? to.bytes - from : at_once;
        cg_val stores = cg_new(c, CG_PRED);
        cg_ins(c, "setp.lt.u32 %v, %v, %u", stores, cg_tid(c), rest / VECTOR);
        for (uint32_t i = 0; i < to.count; i++)
            cg_ins(c, "@%v st.shared.v4.b32 [%v+%u], {%v, %v, %v, %v}", stores, at, to.offset + from + i * to.stride,
                   zero, zero, zero, zero);
    }
}

cg_val cg_descriptor_at(cg_func *c, cg_val descriptor, uint32_t bytes)
{
    enum { UNIT_BITS = 4 /* addresses in descriptors count 16 bytes */ };
    if (!(bytes >> UNIT_BITS))
        return descriptor;
    cg_val d = cg_new(c, CG_B64);
    cg_ins(c, "add.s64 %v, %v, %u", d, descriptor, bytes >> UNIT_BITS);
    return d;
}
