/* Fragments of operands, from shared memory, from registers, or widened for instructions on f16, and the instruction
   itself. Source: PTX ISA, "Warp-level matrix instructions", fragment figures. */
#include <string.h>

#include "codegen/ops/map.h"
#include "codegen/ops/mma.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/memory.h"
#include "codegen/values/values.h"

/* Loads step `part` of the operand; its bits number K, the rows or columns, and the batch, as in lanes_of. */
static void load_fragments(cg_func *c, const cg_operand *o, uint32_t part, cg_val *out)
{
    cg_place place = cg_flat_place(c, o->base, o->encoding.bytes, &o->lanes, part);
    for (int i = 0; i < 4; i++)
        out[i] = cg_new(c, CG_B32);
    cg_ins(c, "ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 {%v, %v, %v, %v}, [%v+%d]", o->across ? ".trans" : "", out[0],
           out[1], out[2], out[3], place.address, (int)place.offset);
}

/* The same element by element; if B has only eight columns, they are used again as the second eight. */
static void load_elements(cg_func *c, const cg_operand *o, uint32_t part, cg_val *out)
{
    const uint32_t bits = 8 * o->encoding.bytes;
    for (uint32_t i = 0; i < 4; i++) {
        if (i == 2 && !o->lanes.reg[1]) {
            out[2] = out[0];
            out[3] = out[1];
            return;
        }
        cg_place place = cg_flat_place(c, o->base, o->encoding.bytes, &o->lanes, part << 2 | i);
        out[i] = cg_new(c, bits == 64 ? CG_B64 : CG_B32);
        cg_ins(c, "ld.shared.b%u %v, [%v+%d]", bits, out[i], place.address, (int)place.offset);
    }
}

/* Loads the elements of a fragment of 16-bit words, or longer ones, and rounds those that are f32 in the ring. */
static void load_words(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out)
{
    const bool rounds = p->in == BC_TF32 && bc_elem_kind(cg_source_of(o->v)->type) == BC_F32;
    (o->by_elements ? load_elements : load_fragments)(c, o, part, out);
    for (uint32_t i = 0; rounds && i < 4; i++)
        out[i] = cg_to_tf32(c, out[i]);
}

/* Two 8-bit floats, bytes 0 and 1 or 2 and 3 of x, as f16: exact. Without an instruction: e5m2 is the upper half of
   f16; e4m3 has one exponent bit less, a bias lower by 8, and a single NaN, with all bits set. */
static cg_val widen_pair(cg_func *c, const char *type, cg_val x, bool upper)
{
    bool is_e4m3 = strcmp(type, "e4m3x2") == 0;
    cg_val out = cg_new(c, CG_B32);
    if (c->target->features & CG_HAS_F8) {
        cg_val half[2];
        for (int i = 0; i < 2; i++)
            half[i] = cg_new(c, CG_B16);
        cg_ins(c, "mov.b32 {%v, %v}, %v", half[0], half[1], x);
        cg_ins(c, "cvt.rn.f16x2.%s %v, %v", type, out, half[upper]);
        return out;
    }
    cg_ins(c, "prmt.b32 %v, %v, 0, %s", out, x, upper ? "0x3424" : "0x1404");
    if (!is_e4m3)
        return out;
    cg_val magnitude = cg_new(c, CG_B32), sign = cg_new(c, CG_B32), nan = cg_new(c, CG_B32),
           shifted = cg_new(c, CG_B32);
    cg_val number = cg_new(c, CG_B32), scaled = cg_new(c, CG_B32), mask = cg_new(c, CG_B32), result = cg_new(c, CG_B32);
    cg_ins(c, "shr.u32 %v, %v, 1", shifted, out);
    cg_ins(c, "and.b32 %v, %v, 0x3f803f80", magnitude, shifted);
    cg_ins(c, "and.b32 %v, %v, 0x80008000", sign, out);
    cg_ins(c, "or.b32 %v, %v, %v", number, magnitude, sign);
    cg_ins(c, "mul.rn.f16x2 %v, %v, %r", scaled, number, cg_const(CG_B32, 0x5C005C00)); /* 2^8 */
    cg_ins(c, "add.u32 %v, %v, 0x00800080", nan, magnitude); /* 0x4000 for NaN, which gives 0x7c00, the bits of
                                                                infinity */
    cg_ins(c, "and.b32 %v, %v, 0x40004000", nan, nan);
    cg_ins(c, "shl.b32 %v, %v, 1", mask, nan);
    cg_ins(c, "shr.u32 %v, %v, 4", nan, nan);
    cg_ins(c, "sub.u32 %v, %v, %v", mask, mask, nan);
    cg_ins(c, "or.b32 %v, %v, %v", result, scaled, mask);
    return result;
}

/* Widens fragments of 8-bit floats to fragments of f16 for two instructions: out[0..3] from the lower halves of the
   four registers, out[4..7] from the upper halves. Each instruction gets every other pair along K. The order differs
   from that in memory, but is the same for A and B. */
static void widen(cg_func *c, const char *type, cg_val *out)
{
    for (int i = 0; i < 4; i++) {
        cg_val x = out[i];
        out[i] = widen_pair(c, type, x, false);
        out[4 + i] = widen_pair(c, type, x, true);
    }
}

void cg_pack_fragments(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out)
{
    bool is_low = p->m < CG_ATOM_ROW_BITS; /* registers 1 and 3 hold the rows from 8 on */
    for (uint32_t i = 0; i < 4; i++) {
        const cg_val *of = o->fragments + ((is_low ? part << 1 | i >> 1 : part << 2 | i) << p->atom.element_bits);
        if (is_low && i % 2) {
            out[i] = cg_new(c, CG_B32);
            cg_ins(c, "mov.b32 %v, 0", out[i]);
        } else if (!p->atom.element_bits) {
            out[i] = cg_reg(c, of[0]);
        } else if (p->atom.element_bits == 1) {
            out[i] = cg_new(c, CG_B32);
            cg_ins(c, "mov.b32 %v, {%r, %r}", out[i], of[0], of[1]);
        } else {
            out[i] = cg_join(c, of, 4, 8);
        }
    }
}

/* The same of a right operand in registers: two registers for each 8 columns. */
static void pack_right(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out)
{
    const uint32_t count = p->n - p->along_n > 3 ? 4 : 2;
    for (uint32_t i = 0; i < 4; i++) {
        const cg_val *of = o->fragments + ((part * count + i % count) << p->atom.element_bits);
        out[i] = p->atom.element_bits ? cg_new(c, CG_B32) : cg_reg(c, of[0]);
        if (p->atom.element_bits)
            cg_ins(c, "mov.b32 %v, {%r, %r}", out[i], of[0], of[1]);
    }
}

/* Nibbles i and i + 4 of a word as two f16, whose exponent bias is larger by 14. */
static cg_val widen_two(cg_func *c, cg_val word, uint32_t i)
{
    cg_val sign = cg_new(c, CG_B32), magnitude = cg_new(c, CG_B32), both = cg_new(c, CG_B32), out = cg_new(c, CG_B32);
    cg_val cut_sign = cg_new(c, CG_B32), cut = cg_new(c, CG_B32);
    cg_ins(c, "shl.b32 %v, %v, %u", sign, word, 12 - 4 * i);
    cg_ins(c, i < 3 ? "shl.b32 %v, %v, %u" : "shr.u32 %v, %v, %u", magnitude, word, i < 3 ? 9 - 4 * i : 3);
    cg_ins(c, "and.b32 %v, %v, 0x80008000", cut_sign, sign);
    cg_ins(c, "and.b32 %v, %v, 0x0e000e00", cut, magnitude);
    cg_ins(c, "or.b32 %v, %v, %v", both, cut_sign, cut);
    cg_ins(c, "mul.rn.f16x2 %v, %v, %r", out, both, cg_const(CG_B32, 0x74007400)); /* 2^14 */
    return out;
}

/* Widens four words of an f4 fragment to f16: four groups of four registers, two for each half of K. */
static void widen_four(cg_func *c, bool left, const cg_val *words, cg_val *out)
{
    /* Each instruction takes an eighth of K, in the same order for A and B. */
    for (uint32_t half = 0; half < 2; half++)
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t word = left ? 2 * half + (i & 1) : half + (i & 2), two = 2 * (i / 4) + (left ? i / 2 % 2 : i % 2);
            out[8 * half + i] = widen_two(c, words[word], two);
        }
}

/* Of four adjacent lanes, the first two have elements of even blocks of 16, and the others of odd blocks: bit 1 of
   the lane number says which. */
cg_val cg_odd_blocks(cg_func *c)
{
    cg_val mask = cg_new(c, CG_B32);
    cg_ins(c, "bfe.s32 %v, %v, 1, 1", mask, cg_tid(c));
    return mask;
}

/* Splits a fragment of A in a[0..3]: its even blocks stay there, its odd ones go to a[4..7]. p->scales->odd_blocks
   must be given. */
static void split_blocks(cg_func *c, const cg_product *p, cg_val *a)
{
    for (int i = 0; i < 4; i++) {
        cg_val even = cg_new(c, CG_B32), odd = cg_new(c, CG_B32);
        cg_ins(c, "and.b32 %v, %v, %v", odd, a[i], p->scales->odd_blocks);
        cg_ins(c, "xor.b32 %v, %v, %v", even, a[i], odd);
        a[i] = even;
        a[4 + i] = odd;
    }
}

/* Widens fragments of f4 to f16: 16 registers for each four of the 4 << alternate registers. */
static void widen_halves(cg_func *c, bool left, uint32_t alternate, cg_val *out)
{
    for (uint32_t i = 1 + alternate; i-- > 0;) {
        cg_val words[4];
        memcpy(words, out + 4 * i, sizeof words);
        widen_four(c, left, words, out + 16 * i);
    }
}

/* Bytes of an even and an odd row or column alternate in four registers, of which two have each half of K. Register
   `odd` of the result begins with the odd one, register `upper` with the upper half of K. */
static void part_bytes(cg_func *c, const cg_val *x, uint32_t odd, uint32_t upper, cg_val *out)
{
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t k = i & upper ? 2 : 0;
        out[i] = cg_new(c, CG_B32);
        cg_ins(c, "prmt.b32 %v, %v, %v, %s", out[i], x[k], x[k + 1], i & odd ? "0x7531" : "0x6420");
    }
}

void cg_take_left(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out)
{
    if (o->fragments) {
        cg_pack_fragments(c, p, o, part, out);
        return;
    }
    cg_val x[4];
    load_words(c, p, o, part, p->row_pairs ? x : out);
    if (p->row_pairs)
        part_bytes(c, x, 1, 2, out);
    uint32_t alternate = p->scaling ? p->scaling->alternate : 0;
    if (alternate)
        split_blocks(c, p, out);
    if (p->atom.widened && p->packed)
        widen_halves(c, true, alternate, out);
    else if (p->atom.widened)
        widen(c, p->atom.widened, out);
}

void cg_take_right(cg_func *c, const cg_product *p, const cg_operand *o, uint32_t part, cg_val *out)
{
    cg_val x[4];
    if (o->fragments) {
        pack_right(c, p, o, part, out);
        return;
    }
    load_words(c, p, o, part, p->pairs ? x : out);
    if (p->pairs)
        part_bytes(c, x, 2, 1, out);
    if (p->atom.widened && p->packed)
        widen_halves(c, false, 0, out);
    else if (p->atom.widened)
        widen(c, p->atom.widened, out);
}

cg_val cg_add_up(cg_func *c, cg_val sum, cg_val part)
{
    if (sum.known && !sum.bits) /* a sum of products that starts at +0 is never -0 */
        return part;
    cg_val out = cg_new(c, CG_B32);
    cg_ins(c, "add.rn.f32 %v, %r, %v", out, sum, part);
    return out;
}

/* sums += a * b by the instructions that the atom consists of. Registers of A are numbered by the half of the rows,
   then that of K, those of B by the half of K, those of sums by the half of the rows. Sums go along K in order. */
static void multiply_parts(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, uint32_t count,
                           cg_val *sums)
{
    uint32_t row_parts = p->halves_rows ? 2 : 1, k_parts = p->halves_k ? 2 : 1, sum_count = count / row_parts;
    cg_class cls = p->acc == BC_F64 ? CG_B64 : CG_B32;
    for (uint32_t i = 0; i < row_parts * k_parts; i++) {
        uint32_t row = i % row_parts, k = i / row_parts, left_count = 0;
        cg_val left[4], out[4], *part = sums + row * sum_count;
        for (uint32_t r = 0; r < 4; r++)
            if ((row_parts == 1 || r % 2 == row) && (k_parts == 1 || r / 2 == k))
                left[left_count++] = a[r];
        for (uint32_t r = 0; r < sum_count; r++) {
            out[r] = cg_new(c, cls);
            part[r] = cg_reg(c, part[r]);
        }
        cg_ins(c, "mma.sync.aligned.%s %V, %V, %V, %V", p->atom.text, out, sum_count, left, left_count, b + k,
               2 / k_parts, part, sum_count);
        memcpy(part, out, sum_count * sizeof *out);
    }
}

/* The same for f16 sums, two in a register. */
static void multiply_half_sums(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, cg_val *d)
{
    cg_val sums[2];
    for (int i = 0; i < 2; i++) {
        sums[i] = cg_new(c, CG_B32);
        cg_ins(c, "mov.b32 %v, {%r, %r}", sums[i], d[2 * i], d[2 * i + 1]);
    }
    multiply_parts(c, p, a, b, 2, sums);
    for (int i = 0; i < 2; i++) {
        d[2 * i] = cg_new(c, CG_B16);
        d[2 * i + 1] = cg_new(c, CG_B16);
        cg_ins(c, "mov.b32 {%v, %v}, %v", d[2 * i], d[2 * i + 1], sums[i]);
    }
}

void cg_multiply_fragments(cg_func *c, const cg_product *p, const cg_val *a, const cg_val *b, cg_val *d)
{
    bool adds_up = p->adds_up && !p->atom.widened;
    cg_val sums[4];
    if (p->atom.half_accumulator) {
        multiply_half_sums(c, p, a, b, d);
        return;
    }
    for (int i = 0; i < 4; i++)
        sums[i] = adds_up ? cg_const(CG_B32, 0) : d[i];
    multiply_parts(c, p, a, b, 4, sums);
    for (int i = 0; i < 4; i++)
        d[i] = adds_up ? cg_add_up(c, d[i], sums[i]) : sums[i];
}
