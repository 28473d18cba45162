/* Scaled products by mma.sync: with .block_scale if the target has it; otherwise as sums of blocks of f16, which are
   exact for f4, and are scaled afterwards. A byte holds two 4-bit elements that are neighbours along K. Source: PTX
   ISA, "Block scaling for mma.sync" and the fragments of m16n8k32 and m16n8k64, which are the same as for bytes. */
#include <string.h>

#include "codegen/analysis/scaling.h"
#include "codegen/ops/map.h"
#include "codegen/ops/mma.h"
#include "codegen/ptx/access.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/values.h"

/* ---- scales ---- */

/* log2 of the scales along K that an instruction uses, and of those of a row or column, of which up to four make a
   word. */
static uint32_t run_bits(const cg_product *p)
{
    return p->scaling->scale_bits - p->scaling->alternate;
}

static uint32_t line_bits(const cg_product *p)
{
    return p->k - p->atom.k_bits + run_bits(p);
}

static uint32_t word_bits(const cg_product *p)
{
    return line_bits(p) < 2 ? line_bits(p) : 2;
}

static cg_val scale_word(cg_func *c, bc_kind kind, const cg_val *scales, uint32_t count)
{
    cg_val word = count > 1 ? cg_join(c, scales, count, 8) : scales[0];
    word = cg_reg(c, cg_to_b32(c, count == 4 ? BC_I32 : count == 2 ? BC_I16 : BC_I8, false, word));
    if (kind != BC_F8E4M3FN)
        return word;
    cg_val cut = cg_new(c, CG_B32); /* ue4m3 has no sign, so that of -0 is cleared */
    cg_ins(c, "and.b32 %v, %v, 0x7f7f7f7f", cut, word);
    return cut;
}

void cg_take_scales(cg_func *c, const ct_op *op, const cg_product *p, uint32_t side)
{
    const cg_layout *l = cg_value_of(c, p->result)->source + 2 + side;
    uint32_t bits = word_bits(p), alternate = p->scaling->alternate, words = cg_layout_regs(l) >> bits;
    const cg_val *scales = cg_get(c, ct_operands(op)[3 + side], l);
    cg_val *out = cg_vals(c, cg_layout_regs(l)), some[4];
    if (p->scaling->after) {
        p->scales->words[side] = scales;
        p->scales->factors[side] = out;
        return;
    }
    p->scales->words[side] = out;
    for (uint32_t w = 0; scales && out && w < words; w++) {
        for (uint32_t i = 0; i < 1u << bits; i++)
            some[i] = scales[(w >> alternate << bits | i) << alternate | (w & alternate)];
        out[w] = scale_word(c, (bc_kind)p->scaling->scale, some, 1u << bits);
    }
}

/* The word with the scales of row or column number `line` in step `step`; *out_byte: the byte of the first scale. */
static cg_val find_word(const cg_product *p, uint32_t side, uint32_t line, uint32_t step, uint32_t odd,
                        uint32_t *out_byte)
{
    uint32_t first = line << line_bits(p) | step << run_bits(p);
    *out_byte = first & ((1u << word_bits(p)) - 1);
    return p->scales->words[side][first >> word_bits(p) << p->scaling->alternate | odd];
}

static void multiply_native(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, const cg_scale_at *at,
                            uint32_t odd, cg_val *d)
{
    uint32_t byte_a, byte_b;
    cg_val scale_a = find_word(p, 0, at->row, at->step, odd, &byte_a), out[4];
    cg_val scale_b = find_word(p, 1, at->column, at->step, odd, &byte_b);
    for (int i = 0; i < 4; i++)
        out[i] = cg_new(c, CG_B32);
    cg_ins(
        c,
        "mma.sync.aligned.%s {%v, %v, %v, %v}, {%v, %v, %v, %v}, {%v, %v}, {%r, %r, %r, %r}, %v, {%u, 0}, %v, {%u, 0}",
        p->atom.text, out[0], out[1], out[2], out[3], a[0], a[1], a[2], a[3], b[0], b[1], d[0], d[1], d[2], d[3],
        scale_a, byte_a, scale_b, byte_b);
    memcpy(d, out, sizeof out);
}

/* The scale of the thread's row or column number `line`, as f32. */
static cg_val factor_of(cg_func *c, const cg_product *p, uint32_t side, uint32_t line, uint32_t block)
{
    uint32_t at = line << (p->k - p->atom.k_bits + p->scaling->scale_bits) | block;
    cg_val *factor = &p->scales->factors[side][at];
    if (!factor->id)
        *factor = cg_any_to_f32(c, p->scale_kind, p->scales->words[side][at]);
    return *factor;
}

/* Adds one block: the sum of two instructions that start at 0, times the scales of row and column. */
static void add_block(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, const cg_scale_at *at,
                      uint32_t block, cg_val *d)
{
    cg_val sum[4];
    for (int i = 0; i < 4; i++)
        sum[i] = cg_const(CG_B32, 0);
    for (int i = 0; i < 2; i++)
        cg_multiply_fragments(c, p, a + 4 * i, b + 4 * i, sum);
    for (uint32_t i = 0; i < 4; i++) {
        cg_val scale = cg_new(c, CG_B32), out = cg_new(c, CG_B32);
        cg_val left = factor_of(c, p, 0, at->row << 1 | i >> 1, block),
               right = factor_of(c, p, 1, at->column << 1 | (i & 1), block);
        cg_ins(c, "mul.rn.f32 %v, %v, %v", scale, left, right);
        cg_ins(c, "fma.rn.f32 %v, %v, %v, %r", out, sum[i], scale, d[i]);
        d[i] = out;
    }
}

void cg_multiply_scaled(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, const cg_scale_at *at,
                        cg_val *d)
{
    uint32_t alternate = p->scaling->alternate, halves = 1 + p->packed;
    for (uint32_t odd = 0; odd <= alternate && !p->scaling->after; odd++)
        multiply_native(c, p, a + 4 * odd, b, at, odd, d);
    for (uint32_t half = 0; half < halves && p->scaling->after; half++)
        for (uint32_t odd = 0; odd <= alternate; odd++)
            add_block(c, p, a + 8 * (odd * halves + half), b + 8 * half, at,
                      at->step << p->scaling->scale_bits | half << alternate | odd, d);
}

/* ---- 4-bit elements ---- */

const cg_val *cg_pack_bytes(cg_func *c, const cg_product *p, bool left, const cg_layout *l, const cg_val *regs)
{
    if (!p->packed || !regs)
        return regs;
    uint32_t own = cg_half_register(p, left, l), half = (uint32_t)1 << own, count = cg_layout_regs(l) / 2;
    cg_val *out = own < l->reg_bits ? cg_vals(c, count) : NULL;
    if (own == l->reg_bits)
        cg_unsupported(c, cg_lowered(c), "a tile in this layout cannot be packed");
    for (uint32_t r = 0; out && r < count; r++) {
        uint32_t low = (r & (half - 1)) | (r & ~(half - 1)) << 1;
        out[r] = cg_join(c, (cg_val[]){regs[low], regs[low | half]}, 2, 4);
    }
    return out;
}
