/* Scaled products by mma.sync: with .block_scale, where the target has it; else as sums of blocks of f16, which are
   exact for f4, and scaled afterwards. Elements of half a byte lie two to a byte as K counts them. Source: PTX ISA,
   "Block scaling for mma.sync" and the fragments of m16n8k32 and m16n8k64, which are the same as bytes. */
#include <string.h>

#include "codegen/map.h"
#include "codegen/memory.h"
#include "codegen/mma.h"

const cg_scaling *cg_find_scaling(const cg_func *c, const ct_op *op, const cg_product *p)
{
    static const cg_scaling all[] = {
        {BC_F8E4M3FN,
         BC_F8E8M0FNU,
         5,
         0,
         0,
         0,
         false,
         {"m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0", 5, 2, false, NULL}},
        {BC_F8E5M2,
         BC_F8E8M0FNU,
         5,
         0,
         0,
         0,
         false,
         {"m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e5m2.f32.ue8m0", 5, 2, false, NULL}},
        {BC_F4E2M1FN,
         BC_F8E8M0FNU,
         5,
         1,
         1,
         0,
         false,
         {"m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", 5, 2, false, NULL}},
        /* .scale_vec::4X takes .ue8m0 from PTX 9.1 on only */
        {BC_F4E2M1FN,
         BC_F8E8M0FNU,
         4,
         1,
         2,
         1,
         false,
         {"m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", 5, 2, false, NULL}},
        {BC_F4E2M1FN,
         BC_F8E4M3FN,
         4,
         1,
         2,
         0,
         false,
         {"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", 5, 2, false, NULL}},
        {BC_F8E4M3FN, 0, 5, 0, 0, 0, true, {"m16n8k16.row.col.f32.f16.f16.f32", 5, 2, false, "e4m3x2"}},
        {BC_F8E5M2, 0, 5, 0, 0, 0, true, {"m16n8k16.row.col.f32.f16.f16.f32", 5, 2, false, "e5m2x2"}},
        {BC_F4E2M1FN, 0, 5, 1, 1, 0, true, {"m16n8k16.row.col.f32.f16.f16.f32", 5, 2, false, "e2m1x2"}},
        {BC_F4E2M1FN, 0, 4, 1, 2, 1, true, {"m16n8k16.row.col.f32.f16.f16.f32", 5, 2, false, "e2m1x2"}},
    };
    const bc_type *scale = ct_operands(op)[3]->type;
    bool native = c->target->features & CG_HAS_BLOCK_SCALE;
    int64_t scales = scale->shape[scale->rank - 1];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].in == p->in && scales << all[i].block == (int64_t)1 << p->k
            && (all[i].after || (native && all[i].scale == bc_elem_kind(scale))))
            return &all[i];
    return NULL;
}

/* ---- scales ---- */

/* Of A: each of four lanes side by side has those of the row in which their fragments of A begin, lane % 2 of 0, or of
   that 8 rows below, whichever two of them the instruction reads; registers: blocks of K, further rows, batches. Of B:
   all four have those of their column; registers: blocks of K, further columns, batches. Where scales come after, every
   lane has those of its accumulators: of two rows, and of two columns; registers: blocks of K, which of the two, the
   same as above. */
cg_layout cg_scale_layout(const cg_func *c, const cg_product *p, bool left)
{
    const uint8_t *n = cg_column_bits(p);
    bool after = p->scaling->after;
    uint32_t one = 1, blocks = p->k - p->atom.k_bits + p->scaling->scale_bits;
    uint32_t x = left ? p->m : p->n, k0 = left ? 0 : p->n, x0 = left ? blocks : 0,
             own = left ? p->m : p->n - p->along_n;
    cg_layout l = {.tile_bits = (uint8_t)(x + blocks + p->batch), .warp_bits = (uint8_t)c->warp_bits};
    for (uint32_t i = 0; i < blocks; i++)
        l.reg[l.reg_bits++] = one << (k0 + i);
    if (after)
        l.reg[l.reg_bits++] = one << (x0 + (left ? 3 : n[0]));
    for (uint32_t i = left ? 4 + p->along_m : 3; i < own; i++)
        l.reg[l.reg_bits++] = one << (x0 + (!left && i == 3 ? n[3] : i));
    for (uint32_t i = 0; i < p->batch; i++)
        l.reg[l.reg_bits++] = one << (x + blocks + i);
    if (left && !after)
        l.lane[0] = one << (x0 + 3);
    if (!left && after) {
        l.lane[0] = one << n[1];
        l.lane[1] = one << n[2];
    }
    for (uint32_t i = 0; i < 3 && (left || !after); i++)
        l.lane[2 + i] = one << (x0 + (left ? i : n[i]));
    for (uint32_t i = 0; left && i < p->along_m; i++)
        l.warp[i] = one << (x0 + 4 + i);
    for (uint32_t i = 0; !left && i < p->along_n; i++)
        l.warp[p->along_m + i] = one << (own + i);
    return l;
}

/* log2 of the scales along K that take part in one run of the instruction, and of those of a row or column; of such
   scales up to four make a word. */
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
    cg_val cut = cg_new(c, CG_B32); /* ue4m3 has no sign: that of -0 must not be there */
    cg_ins(c, "and.b32 %v, %v, 0x7f7f7f7f", cut, word);
    return cut;
}

void cg_take_scales(cg_func *c, const ct_op *op, cg_product *p, uint32_t side)
{
    const cg_layout *l = cg_value_of(c, p->result)->source + 2 + side;
    uint32_t bits = word_bits(p), alternate = p->scaling->alternate, words = cg_layout_regs(l) >> bits;
    const cg_val *scales = cg_get(c, ct_operands(op)[3 + side], l);
    cg_val *out = cg_vals(c, cg_layout_regs(l)), some[4];
    if (p->scaling->after) {
        p->scales[side] = scales;
        p->factors[side] = out;
        return;
    }
    p->scales[side] = out;
    for (uint32_t w = 0; scales && out && w < words; w++) {
        for (uint32_t i = 0; i < 1u << bits; i++)
            some[i] = scales[(w >> alternate << bits | i) << alternate | (w & alternate)];
        out[w] = scale_word(c, (bc_kind)p->scaling->scale, some, 1u << bits);
    }
}

/* The word with the scales of row or column number `line` in step `step`; *out_byte: the byte of it that has the first.
 */
static cg_val find_word(const cg_product *p, uint32_t side, uint32_t line, uint32_t step, uint32_t odd,
                        uint32_t *out_byte)
{
    uint32_t first = line << line_bits(p) | step << run_bits(p);
    *out_byte = first & ((1u << word_bits(p)) - 1);
    return p->scales[side][first >> word_bits(p) << p->scaling->alternate | odd];
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
        "mma.sync.aligned.%s {%v, %v, %v, %v}, {%v, %v, %v, %v}, {%v, %v}, {%v, %v, %v, %v}, %v, {%u, 0}, %v, {%u, 0}",
        p->atom.text, out[0], out[1], out[2], out[3], a[0], a[1], a[2], a[3], b[0], b[1], cg_reg(c, d[0]),
        cg_reg(c, d[1]), cg_reg(c, d[2]), cg_reg(c, d[3]), scale_a, byte_a, scale_b, byte_b);
    memcpy(d, out, sizeof out);
}

/* The scale of row or column number `line` of the thread, as f32. */
static cg_val factor_of(cg_func *c, const cg_product *p, uint32_t side, uint32_t line, uint32_t block)
{
    uint32_t at = line << (p->k - p->atom.k_bits + p->scaling->scale_bits) | block;
    cg_val *factor = &p->factors[side][at];
    if (!factor->id)
        *factor = cg_any_to_f32(c, p->scale_kind, p->scales[side][at]);
    return *factor;
}

/* One block: two instructions from 0 on; then their sums times the scales of their row and column. */
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
        cg_ins(c, "fma.rn.f32 %v, %v, %v, %v", out, sum[i], scale, cg_reg(c, d[i]));
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

/* Of four lanes side by side the first two have elements of even blocks of 16, the others of odd ones: that is bit 1 of
   their number. */
cg_val cg_odd_blocks(cg_func *c)
{
    cg_val mask = cg_new(c, CG_B32);
    cg_ins(c, "bfe.s32 %v, %v, 1, 1", mask, cg_tid(c));
    return mask;
}

void cg_split_blocks(cg_func *c, const cg_product *p, cg_val *a)
{
    for (int i = 0; i < 4; i++) {
        cg_val even = cg_new(c, CG_B32), odd = cg_new(c, CG_B32);
        cg_ins(c, "and.b32 %v, %v, %v", odd, a[i], p->odd_blocks);
        cg_ins(c, "xor.b32 %v, %v, %v", even, a[i], odd);
        a[i] = even;
        a[4 + i] = odd;
    }
}

/* ---- elements of half a byte ---- */

/* The bit of the operand's index that tells the halves of a byte apart. */
static uint32_t half_bit(const cg_product *p, bool left)
{
    return left ? 1 : (uint32_t)1 << p->n;
}

/* The register bit with that image, which no other has a part of; l->reg_bits: there is none. */
static uint32_t half_register(const cg_layout *l, uint32_t bit)
{
    uint32_t own = 0, users = 0;
    while (own < l->reg_bits && l->reg[own] != bit)
        own++;
    for (uint32_t i = 0; i < l->reg_bits; i++)
        users += (l->reg[i] & bit) != 0;
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        users += (l->lane[i] & bit) != 0;
    for (uint32_t i = 0; i < l->warp_bits; i++)
        users += (l->warp[i] & bit) != 0;
    return users == 1 ? own : l->reg_bits;
}

/* Where lanes or warps have the halves of a byte apart, the last bit of the registers trades places with theirs. */
cg_layout cg_with_halves(const cg_product *p, bool left, const cg_layout *l)
{
    cg_layout r = *l;
    uint32_t bit = half_bit(p, left), last = 0;
    if (!p->packed || half_register(l, bit) < l->reg_bits)
        return r;
    for (uint32_t i = 0; i < r.reg_bits; i++)
        last = r.reg[i] ? i : last;
    if (!r.reg_bits || !r.reg[last]) {
        last = r.reg_bits++;
        r.reg[last] = 0;
    }
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        r.lane[i] = r.lane[i] == bit ? r.reg[last] : r.lane[i];
    for (uint32_t i = 0; i < r.warp_bits; i++)
        r.warp[i] = r.warp[i] == bit ? r.reg[last] : r.warp[i];
    r.reg[last] = bit;
    return r;
}

cg_layout cg_as_bytes(const cg_product *p, bool left, const cg_layout *l)
{
    cg_layout r = *l;
    uint32_t bit = half_bit(p, left);
    if (!p->packed)
        return r;
    for (uint32_t i = half_register(l, bit); i + 1 < l->reg_bits; i++)
        r.reg[i] = l->reg[i + 1];
    r.reg_bits--;
    return cg_layout_squeeze(&r, bit);
}

cg_layout cg_from_bytes(const cg_product *p, bool left, const cg_layout *l)
{
    cg_layout r = *l;
    uint32_t *const images[] = {r.reg, r.lane, r.warp};
    const uint32_t counts[] = {l->reg_bits, CG_LANE_BITS, l->warp_bits};
    for (int part = 0; part < 3 && p->packed; part++)
        for (uint32_t i = 0; i < counts[part]; i++)
            images[part][i] = cg_scatter_bits(images[part][i], ~half_bit(p, left));
    return r;
}

const cg_val *cg_pack_bytes(cg_func *c, const cg_product *p, bool left, const cg_layout *l, const cg_val *regs)
{
    if (!p->packed || !regs)
        return regs;
    uint32_t own = half_register(l, half_bit(p, left)), half = (uint32_t)1 << own, count = cg_layout_regs(l) / 2;
    cg_val *out = own < l->reg_bits ? cg_vals(c, count) : NULL;
    if (own == l->reg_bits)
        cg_unsupported(c, c->op, "a tile in this layout cannot be packed");
    for (uint32_t r = 0; out && r < count; r++) {
        uint32_t low = (r & (half - 1)) | (r & ~(half - 1)) << 1;
        out[r] = cg_join(c, (cg_val[]){regs[low], regs[low | half]}, 2, 4);
    }
    return out;
}

/* Halves i and i + 4 of a word as two f16, whose exponent has 14 more for its bias. */
static cg_val widen_two(cg_func *c, cg_val word, uint32_t i)
{
    cg_val sign = cg_new(c, CG_B32), magnitude = cg_new(c, CG_B32), both = cg_new(c, CG_B32), out = cg_new(c, CG_B32);
    cg_val cut_sign = cg_new(c, CG_B32), cut = cg_new(c, CG_B32);
    cg_ins(c, "shl.b32 %v, %v, %u", sign, word, 12 - 4 * i);
    cg_ins(c, i < 3 ? "shl.b32 %v, %v, %u" : "shr.u32 %v, %v, %u", magnitude, word, i < 3 ? 9 - 4 * i : 3);
    cg_ins(c, "and.b32 %v, %v, 0x80008000", cut_sign, sign);
    cg_ins(c, "and.b32 %v, %v, 0x0e000e00", cut, magnitude);
    cg_ins(c, "or.b32 %v, %v, %v", both, cut_sign, cut);
    cg_ins(c, "mul.rn.f16x2 %v, %v, %v", out, both, cg_reg(c, cg_const(CG_B32, 0x74007400))); /* 2^14 */
    return out;
}

void cg_widen_halves(cg_func *c, bool left, const cg_val *words, cg_val *out)
{
    for (uint32_t half = 0; half < 2;
         half++) /* of K: every instruction takes an eighth of it, in the same order of A and B */
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t word = left ? 2 * half + (i & 1) : half + (i & 2), two = 2 * (i / 4) + (left ? i / 2 % 2 : i % 2);
            out[8 * half + i] = widen_two(c, words[word], two);
        }
}
