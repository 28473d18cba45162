/* Numbers that are linear in the bits of others, made at the start of the kernel. */
#include "codegen/ptx/ptx.h"

/* value ^= the bits of x from `bit` on, `count` of them, moved to bit `to` */
static cg_val add_run(cg_func *c, cg_val x, cg_val value, uint32_t bit, uint32_t count, uint32_t to, uint32_t total)
{
    cg_val part = x;
    if (bit + count < total) {
        cg_val cut = cg_new(c, CG_B32);
        cg_ins_first(c, "and.b32 %v, %v, %x", cut, part, (((uint32_t)1 << count) - 1) << bit);
        part = cut;
        if (to != bit) {
            cg_val moved = cg_new(c, CG_B32);
            cg_ins_first(c, to > bit ? "shl.b32 %v, %v, %u" : "shr.u32 %v, %v, %u", moved, part,
                         to > bit ? to - bit : bit - to);
            part = moved;
        }
    } else {
        if (bit) {
            cg_val low = cg_new(c, CG_B32);
            cg_ins_first(c, "shr.u32 %v, %v, %u", low, part, bit);
            part = low;
        }
        if (to) {
            cg_val moved = cg_new(c, CG_B32);
            cg_ins_first(c, "shl.b32 %v, %v, %u", moved, part, to);
            part = moved;
        }
    }
    if (value.known && value.bits == 0)
        return part;
    cg_val sum = cg_new(c, CG_B32);
    cg_ins_first(c, "xor.b32 %v, %v, %v", sum, value, part);
    return sum;
}

cg_val cg_linear(cg_func *c, cg_val x, const uint32_t *images, uint32_t total)
{
    cg_val value = cg_const(CG_B32, 0);
    for (uint32_t i = 0; i < total;) {
        uint32_t image = images[i], count = 1;
        if (image & (image - 1)) { /* several bits: one run for each of them */
            for (uint32_t rest = image; rest; rest &= rest - 1)
                value = add_run(c, x, value, i, 1, tv_trailing_zeros(rest), total);
        } else if (image) {
            while (i + count < total && images[i + count] == image << count)
                count++;
            value = add_run(c, x, value, i, count, tv_trailing_zeros(image), total);
        }
        i += count;
    }
    return value;
}
