/* Conversions between number kinds, one element at a time, or two if an instruction converts two. Source: operation
   reference, section 5.

   Every float except f64 is exactly an f32, so conversions go through f32. f64 and wide integers would lose bits
   there, so they are rounded to odd: truncated, with the last bit set if something was cut off. The second rounding,
   to at least two bits fewer, is then the right one (S. Boldo and G. Melquiond, "Emulation of FMA and correctly
   rounded sums: proved algorithms using rounding to odd", 2008). */
#include "bytecode/number/number.h"
#include "codegen/analysis/ring.h"
#include "codegen/facts/facts.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/access.h"
#include "codegen/ptx/ptx.h"

static const char *const rounding_suffix[] = {
    [BC_RoundingMode_nearest_even] = "rn",  [BC_RoundingMode_zero] = "rz",
    [BC_RoundingMode_negative_inf] = "rm",  [BC_RoundingMode_positive_inf] = "rp",
    [BC_RoundingMode_nearest_away] = "rna", [BC_RoundingMode_nearest_int_to_zero] = "rzi",
};

/* ---- short forms: instructions with a 32-bit result, predicates ---- */

static cg_val word2(cg_func *c, const char *op, cg_val a, cg_val b)
{
    cg_val result = cg_new(c, CG_B32);
    cg_ins(c, "%s %v, %v, %v", op, result, a, b);
    return result;
}

static cg_val word(uint32_t x)
{
    return cg_const(CG_B32, x);
}

static cg_val test(cg_func *c, const char *op, cg_val a, cg_val b)
{
    cg_val p = cg_new(c, CG_PRED);
    cg_ins(c, "%s %v, %v, %v", op, p, a, b);
    return p;
}

static cg_val is_nan(cg_func *c, cg_val x)
{
    return test(c, x.cls == CG_B64 ? "setp.nan.f64" : "setp.nan.f32", x, x);
}

static cg_val magnitude(cg_func *c, cg_val x)
{
    return word2(c, "and.b32", x, word(0x7fffffff));
}

/* ---- integers ---- */

static cg_val extend(cg_func *c, const ct_op *op, bc_kind from, bc_kind to, cg_val x)
{
    bool is_signed = ct_attr_u(op, F_exti_signedness) == BC_Signedness_signed;
    return to == BC_I64 ? cg_to_b64(c, from, is_signed, x) : cg_from_b32(c, to, cg_to_b32(c, from, is_signed, x));
}

static cg_val truncate(cg_func *c, bc_kind from, bc_kind to, cg_val x)
{
    cg_val low = x;
    if (from == BC_I64) {
        low = cg_new(c, CG_B32);
        cg_ins(c, "cvt.u32.u64 %v, %r", low, x);
    } else if (from == BC_I16) {
        low = cg_to_b32(c, from, false, x);
    }
    return cg_from_b32(c, to, low);
}

/* ---- to f32, exactly ---- */

/* Converts a small float to f32. Its exponent and mantissa, moved to the positions of f32's, represent a number that
   is too small by a power of two. */
static cg_val small_to_f32(cg_func *c, bc_kind kind, cg_val x)
{
    const bc_float_format *f = bc_float_format_of(kind);
    uint32_t bits = f->exponent_bits + f->mantissa_bits, size = ((uint32_t)1 << bits) - 1,
             sign = f->has_sign ? 1u << bits : 0;
    cg_val value = word2(c, "and.b32", x, word(size)), field = word2(c, "shl.b32", value, word(23u - f->mantissa_bits));
    cg_val scale = cg_reg(c, word((uint32_t)(254 - f->bias) << 23)), result = cg_new(c, CG_B32); /* 2^(127 - bias) */
    cg_ins(c, "mul.rn.f32 %v, %v, %v", result, field, scale);
    if (kind == BC_F8E5M2) /* the only one with infinities */
        result = cg_select(c, test(c, "setp.eq.u32", value, word(0x7c)), word(0x7f800000), result);
    if (f->nan > f->max_finite)
        result = cg_select(c, test(c, "setp.ge.u32", value, word(kind == BC_F8E5M2 ? 0x7d : (uint32_t)f->nan)),
                           word(0x7fffffff), result);
    if (!sign)
        return result;
    return word2(c, "or.b32", result, word2(c, "shl.b32", word2(c, "and.b32", x, word(sign)), word(31 - bits)));
}

static cg_val e8m0_to_f32(cg_func *c, cg_val x)
{
    cg_val result = word2(c, "shl.b32", x, word(23));
    result = cg_select(c, test(c, "setp.eq.u32", x, word(0)), word(0x00400000), result); /* 2^-127 */
    return cg_select(c, test(c, "setp.eq.u32", x, word(0xff)), word(0x7fffffff), result);
}

/* The instruction converts two elements at a time. */
/* Does the target convert this kind by instructions? On sm_89 they are as new as PTX 8.1. */
static bool is_f8(cg_func *c, bc_kind kind)
{
    bool is = (kind == BC_F8E4M3FN || kind == BC_F8E5M2) && c->target->features & CG_HAS_F8;
    if (is)
        cg_need_ptx(c, 81);
    return is;
}

static cg_val native_f8_to_f32(cg_func *c, bc_kind kind, cg_val x)
{
    cg_val byte = cg_new(c, CG_B16), pair = cg_new(c, CG_B32), half = cg_new(c, CG_B16), none = cg_new(c, CG_B16);
    cg_ins(c, "cvt.u16.u32 %v, %v", byte, x);
    cg_ins(c, "cvt.rn.f16x2.%s %v, %v", kind == BC_F8E4M3FN ? "e4m3x2" : "e5m2x2", pair, byte);
    cg_ins(c, "mov.b32 {%v, %v}, %v", half, none, pair);
    return cg_to_f32(c, BC_F16, half);
}

cg_val cg_any_to_f32(cg_func *c, bc_kind kind, cg_val x)
{
    x = cg_reg(c, x);
    switch (kind) {
    case BC_F32:
    case BC_TF32: /* its register is read as an f32 */ return x;
    case BC_F16:
    case BC_BF16: return cg_to_f32(c, kind, x);
    case BC_F8E8M0FNU: return e8m0_to_f32(c, x);
    case BC_F8E4M3FN:
    case BC_F8E5M2: return is_f8(c, kind) ? native_f8_to_f32(c, kind, x) : small_to_f32(c, kind, x);
    default: return small_to_f32(c, kind, x);
    }
}

cg_val cg_widened(cg_func *c, bc_kind kind, cg_val x)
{
    if (x.known)
        return cg_const(CG_B32, bc_float_convert(BC_F32, kind, x.bits, BC_RoundingMode_nearest_even));
    return cg_any_to_f32(c, kind, x);
}

/* ---- to f32, rounded to odd ---- */

static cg_val with_last_bit(cg_func *c, cg_val cut, cg_val inexact)
{
    return word2(c, "or.b32", cut, cg_select(c, inexact, word(1), word(0)));
}

static cg_val f64_to_odd(cg_func *c, cg_val x)
{
    cg_val cut = cg_new(c, CG_B32), back = cg_new(c, CG_B64);
    x = cg_reg(c, x);
    cg_ins(c, "cvt.rz.f32.f64 %v, %v", cut, x);
    cg_ins(c, "cvt.f64.f32 %v, %v", back, cut);
    return with_last_bit(c, cut, test(c, "setp.ne.f64", back, x));
}

/* An integer of 32 or 64 bits. */
static cg_val integer_to_odd(cg_func *c, cg_val x, bool is_signed)
{
    cg_val cut = cg_new(c, CG_B32), back = cg_new(c, (cg_class)x.cls);
    const char *sign = is_signed ? "s" : "u";
    uint32_t bits = cg_class_bits((cg_class)x.cls);
    cg_ins(c, "cvt.rz.f32.%s%u %v, %v", sign, bits, cut, x);
    cg_ins(c, "cvt.rzi.%s%u.f32 %v, %v", sign, bits, back, cut);
    return with_last_bit(c, cut, test(c, bits == 64 ? "setp.ne.s64" : "setp.ne.s32", back, x));
}

/* ---- f32 to the others ---- */

/* To bf16 without an instruction: the upper half, to nearest even by a carry from what is cut off. */
static cg_val upper_half(cg_func *c, bool nearest, cg_val x)
{
    cg_val sum = x, last = cg_new(c, CG_B32), narrow = cg_new(c, CG_B16);
    if (nearest) {
        cg_ins(c, "bfe.u32 %v, %v, 16, 1", last, x);
        sum = word2(c, "add.u32", word2(c, "add.u32", x, word(0x7fff)), last);
    }
    cg_val upper = word2(c, "shr.u32", sum, word(16)), result = cg_select(c, is_nan(c, x), word(0x7fff), upper);
    cg_ins(c, "cvt.u16.u32 %v, %r", narrow, result);
    return narrow;
}

/* Towards one of the infinities: truncates, and adds one if something was cut off on that side. */
static cg_val bf16_directed(cg_func *c, bool up, cg_val x)
{
    cg_val cut = cg_from_f32(c, BC_BF16, "rz", x), word_of = cg_new(c, CG_B32), narrow = cg_new(c, CG_B16);
    cg_val back = cg_to_f32(c, BC_BF16, cut), step = test(c, up ? "setp.lt.f32" : "setp.gt.f32", back, x);
    cg_ins(c, "cvt.u32.u16 %v, %v", word_of, cut);
    /* one step away from zero; from zero, to the smallest number with the sign of x */
    cg_val next = word2(c, "add.u32", word_of, cg_select(c, step, word(1), word(0)));
    cg_ins(c, "cvt.u16.u32 %v, %v", narrow, next);
    return narrow;
}

cg_val cg_from_f32(cg_func *c, bc_kind kind, const char *rounding, cg_val x)
{
    if (kind == BC_BF16 && rounding[1] != 'n' && rounding[1] != 'z')
        return bf16_directed(c, rounding[1] == 'p', x);
    if (kind == BC_BF16 && !(c->target->features & CG_HAS_BF16))
        return upper_half(c, rounding[1] == 'n', x);
    cg_val narrow = cg_new(c, CG_B16);
    cg_ins(c, "cvt.%s.%s.f32 %v, %v", rounding, kind == BC_F16 ? "f16" : "bf16", narrow, x);
    return narrow;
}

cg_val cg_to_tf32(cg_func *c, cg_val x)
{
    cg_val rounded = cg_new(c, CG_B32);
    cg_ins(c, "cvt.rn.tf32.f32 %v, %r", rounded, x);
    return rounded;
}

/* The upper 19 bits, rounded to nearest by the instruction, which gives the same word for every number and every NaN
   (docs/reference/numerics.md); otherwise as integers: a carry goes to the exponent. */
static cg_val f32_to_tf32(cg_func *c, bc_RoundingMode mode, cg_val x)
{
    if (mode == BC_RoundingMode_nearest_even && c->target->features & CG_HAS_TF32_ROUNDING)
        return cg_to_tf32(c, x);
    cg_val sum = x;
    if (mode == BC_RoundingMode_nearest_away) {
        sum = word2(c, "add.u32", x, word(0x1000));
    } else if (mode == BC_RoundingMode_nearest_even) {
        cg_val last = cg_new(c, CG_B32);
        cg_ins(c, "bfe.u32 %v, %v, 13, 1", last, x);
        sum = word2(c, "add.u32", word2(c, "add.u32", x, word(0xfff)), last);
    }
    cg_val result = word2(c, "and.b32", sum, word(0xffffe000));
    return cg_select(c, is_nan(c, x), word(0x7fffe000), result);
}

/* The power of two of the magnitude, rounded down or up (operation reference, 5.4). */
static cg_val f32_to_e8m0(cg_func *c, bool up, cg_val x)
{
    cg_val size = magnitude(c, x), field = size;
    if (up) {
        field = word2(c, "add.u32", size, word(0x7fffff));
        field = cg_select(c, test(c, "setp.le.u32", size, word(0x00400000)), word(0), field);
    }
    field = word2(c, "min.u32", word2(c, "shr.u32", field, word(23)), word(0xfe));
    return cg_select(c, is_nan(c, x), word(0xff), field);
}

/* Rounds the magnitude to nearest: normal numbers as integers, others by adding a number whose last place is the
   smallest subnormal. Then limits it. */
static cg_val f32_to_small(cg_func *c, bc_kind kind, cg_val x)
{
    const bc_float_format *f = bc_float_format_of(kind);
    uint32_t dropped = 23u - f->mantissa_bits, bits = f->exponent_bits + f->mantissa_bits;
    uint32_t offset = (uint32_t)(127 - f->bias) << 23, smallest = (uint32_t)(127 + f->min_exponent) << 23;
    uint32_t magic = (uint32_t)(127 + f->min_exponent - f->mantissa_bits + 23)
                     << 23; /* 2^23 times the smallest subnormal */
    cg_val size = magnitude(c, x), last = cg_new(c, CG_B32), sum = cg_new(c, CG_B32);
    cg_ins(c, "bfe.u32 %v, %v, %u, 1", last, size, dropped);
    cg_val rounded = word2(c, "add.u32", word2(c, "add.u32", size, word((1u << (dropped - 1)) - 1 - offset)), last);
    cg_val normal = word2(c, "shr.u32", rounded, word(dropped));
    cg_ins(c, "add.rn.f32 %v, %v, %r", sum, size, word(magic));
    cg_val subnormal = word2(c, "sub.u32", sum, word(magic));
    cg_val result = cg_select(c, test(c, "setp.lt.u32", size, word(smallest)), subnormal, normal);
    result = word2(c, "min.u32", result, word((uint32_t)f->max_finite));
    if (f->has_sign) {
        cg_val sign = word2(c, "shr.u32", word2(c, "and.b32", x, word(0x80000000)), word(31 - bits));
        result = word2(c, "or.b32", result, sign);
    } else { /* negative numbers become 0 */
        result = cg_select(c, test(c, "setp.lt.s32", x, word(0)), word(0), result);
    }
    return cg_select(c, is_nan(c, x), word((uint32_t)f->nan), result);
}

static cg_val native_f32_to_f8(cg_func *c, bc_kind kind, cg_val x)
{
    cg_val pair = cg_new(c, CG_B16), result = cg_new(c, CG_B32);
    cg_ins(c, "cvt.rn.satfinite.%s.f32 %v, %r, %v", kind == BC_F8E4M3FN ? "e4m3x2" : "e5m2x2", pair, word(0), x);
    cg_ins(c, "cvt.u32.u16 %v, %v", result, pair);
    return result;
}

/* x: an f32, exact or rounded to odd. To f64 it is exact. */
static cg_val from_f32(cg_func *c, bc_kind kind, bc_RoundingMode mode, cg_val x)
{
    cg_val result;
    switch (kind) {
    case BC_F64:
        result = cg_new(c, CG_B64);
        cg_ins(c, "cvt.f64.f32 %v, %v", result, x);
        return result;
    case BC_F32: return x;
    case BC_TF32: return f32_to_tf32(c, mode, x);
    case BC_F16:
    case BC_BF16: /* nearest_away occurs only for numbers that fit */
        return cg_from_f32(c, kind, mode == BC_RoundingMode_nearest_away ? "rn" : rounding_suffix[mode], x);
    case BC_F8E8M0FNU: return f32_to_e8m0(c, mode == BC_RoundingMode_positive_inf, x);
    case BC_F8E4M3FN:
    case BC_F8E5M2: return is_f8(c, kind) ? native_f32_to_f8(c, kind, x) : f32_to_small(c, kind, x);
    default: return f32_to_small(c, kind, x);
    }
}

/* ---- integer and float ---- */

enum { EXACT_BITS = 24 /* of an integer that f32 can hold */ };

static cg_val integer_to_f32(cg_func *c, cg_val x, bool is_signed)
{
    cg_val result = cg_new(c, CG_B32);
    cg_ins(c, "cvt.rn.f32.%s32 %v, %v", is_signed ? "s" : "u", result, x);
    return result;
}

static cg_val integer_to_float(cg_func *c, const ct_op *op, bc_kind from, bc_kind to, cg_val x)
{
    bool is_signed = ct_attr_u(op, F_itof_signedness) == BC_Signedness_signed;
    cg_val wide = cg_reg(c, from == BC_I64 ? x : cg_to_b32(c, from, is_signed, x));
    if (to == BC_F64 || to == BC_F32 || to == BC_F16) {
        cg_val result = cg_new(c, cg_class_of(to));
        cg_ins(c, "cvt.rn.f%u.%s%u %v, %v", bc_kind_bits(to), is_signed ? "s" : "u", from == BC_I64 ? 64u : 32u, result,
               wide);
        return result;
    }
    return from_f32(c, to, BC_RoundingMode_nearest_even,
                    bc_kind_bits(from) <= EXACT_BITS ? integer_to_f32(c, wide, is_signed)
                                                     : integer_to_odd(c, wide, is_signed));
}

/* Converts small integers by placing them in the lowest bits of 2^n: 0x6400 + x is 1024 + x in f16 if 0 <= x < 1024,
   and the difference to 1024 is exact. So two of them take three instructions without a conversion. `bias`, a power
   of two above all magnitudes, makes negative numbers positive: x ^ bias is x + bias in the bits below 2 * bias. */
typedef struct small_integers {
    uint32_t mask, bias; /* mask: the bits of x */
    uint32_t implied;    /* 2^n */
    uint32_t pattern;    /* the bits of 2^n in the type */
} small_integers;

static bool are_small(const ct_op *op, bc_kind to, small_integers *out)
{
    const ct_value *v = ct_operands(op)[0];
    bool is_signed = ct_attr_u(op, F_itof_signedness) == BC_Signedness_signed;
    uint32_t bits = bc_kind_bits(bc_elem_kind(v->type));
    cg_range r = cg_range_of(v);
    if ((to != BC_F16 && to != BC_BF16) || bits > 32)
        return false;
    if (!is_signed && r.low < 0)
        r = (cg_range){0, ((int64_t)1 << bits) - 1};
    int64_t reach = r.low < 0 && -r.low > r.high ? -r.low : r.high + 1, above = 1;
    while (above < reach)
        above *= 2;
    out->bias = r.low < 0 ? (uint32_t)above : 0;
    out->mask = (uint32_t)(above + out->bias - 1);
    out->implied = to == BC_F16 ? 1 << 10 : 1 << 7;
    out->pattern = to == BC_F16 ? 0x6400 : 0x4300;
    return above + out->bias <= out->implied;
}

/* Two bytes of a word, with the upper halves added. The other bits of a non-negative number's byte are zero. */
static cg_val join_bytes(cg_func *c, const small_integers *n, const cg_val *x)
{
    enum { EACH = 0x01010101, UPPER_HALF = 4, EACH_PAIR = 0x100 };
    cg_val from = {.cls = CG_B32, .id = x[0].word}, biased = from, pair = cg_new(c, CG_B32);
    if (n->bias) {
        biased = cg_new(c, CG_B32);
        cg_ins(c, "lop3.b32 %v, %v, %u, %u, 0x6a", biased, from, n->mask * EACH, n->bias * EACH);
    }
    uint32_t places = (x[0].at / 8u | UPPER_HALF << 4) | (x[1].at / 8u | UPPER_HALF << 4) * EACH_PAIR;
    cg_ins(c, "prmt.b32 %v, %v, %r, %u", pair, biased, word(n->pattern >> 8), places);
    return pair;
}

static bool are_bytes_of_word(bc_kind kind, const cg_val *x)
{
    return kind == BC_I8 && x[0].word_bits == 32 && x[1].word_bits == 32 && x[0].word == x[1].word;
}

/* Two separate numbers, with the upper halves added. */
static cg_val join_numbers(cg_func *c, const small_integers *n, bc_kind kind, const cg_val *x)
{
    enum { BOTH = 0x10001 };
    cg_val pair = cg_new(c, CG_B32), sum = cg_new(c, CG_B32), wide[2];
    for (int i = 0; i < 2; i++)
        wide[i] = cg_reg(c, cg_to_b32(c, kind, false, x[i]));
    cg_ins(c, "prmt.b32 %v, %v, %v, 0x5410", pair, wide[0], wide[1]);
    cg_ins(c, "lop3.b32 %v, %v, %u, %u, 0x6a", sum, pair, n->mask * BOTH, (n->pattern ^ n->bias) * BOTH);
    return sum;
}

/* Two small integers as floats, plus the addend, which is rounded once: of 2^n + x and of addend - 2^n, if that is a
   number of the type, the sum is the same as of x and the addend. */
static bool small_pair_to_float(cg_func *c, const ct_op *op, double addend, const cg_val *x, cg_val *out)
{
    enum { BOTH = 0x10001 };
    bc_kind from = bc_elem_kind(ct_operands(op)[0]->type), to = bc_elem_kind(cg_result(op, 0)->type);
    small_integers n;
    if (x[0].known || x[1].known || !are_small(op, to, &n) || (to == BC_BF16 && !(c->target->features & CG_HAS_BF16)))
        return false;
    double rest = addend - (double)(n.implied + n.bias);
    uint32_t pattern = (uint32_t)bc_float_round(to, rest, BC_RoundingMode_nearest_even);
    if (bc_float_value(to, pattern) != rest)
        return false;
    cg_val sum = are_bytes_of_word(from, x) ? join_bytes(c, &n, x) : join_numbers(c, &n, from, x),
           result = cg_new(c, CG_B32);
    cg_val one = cg_reg(c, word(0x3f80u * BOTH)), /* in bf16 */
        more = cg_reg(c, word(pattern * BOTH));
    if (to == BC_F16)
        cg_ins(c, "add.rn.f16x2 %v, %v, %v", result, sum, more);
    else
        cg_ins(c, "fma.rn.bf16x2 %v, %v, %v, %v", result, sum, one, more);
    cg_split(c, to, result, 2, 16, out);
    return true;
}

bool cg_convert_pair_to_sum(cg_func *c, const ct_op *op, double addend, const cg_val *x, cg_val *out)
{
    return small_pair_to_float(c, op, addend, x, out);
}

/* Two integers as bf16, by f32, in which they are exact. */
static bool pair_to_bf16(cg_func *c, const ct_op *op, const cg_val *x, cg_val *out)
{
    bc_kind from = bc_elem_kind(ct_operands(op)[0]->type), to = bc_elem_kind(cg_result(op, 0)->type);
    bool is_signed = ct_attr_u(op, F_itof_signedness) == BC_Signedness_signed;
    if (to != BC_BF16 || bc_kind_bits(from) > EXACT_BITS || !(c->target->features & CG_HAS_BF16))
        return false;
    cg_val pair = cg_new(c, CG_B32), wide[2];
    for (int i = 0; i < 2; i++)
        wide[i] = integer_to_f32(c, cg_reg(c, cg_to_b32(c, from, is_signed, x[i])), is_signed);
    cg_ins(c, "cvt.rn.bf16x2.f32 %v, %v, %v", pair, wide[1], wide[0]);
    cg_split(c, to, pair, 2, 16, out);
    return true;
}

/* Is v computed from a tile that consumers read from a slot (codegen/analysis/computed.h)? */
static bool is_of_consumers(const ct_value *v)
{
    enum { MOST_OPS = 16 };
    const ct_op *op = v->op;
    for (uint32_t i = 0; i < MOST_OPS && op && op->opcode != CT_staged; i++)
        op = op->operand_count && (ct_is_map(op) || cg_is_seen(op) || op->opcode == OP_cat) ? ct_operands(op)[0]->op
                                                                                            : NULL;
    return op && op->opcode == CT_staged && ((const cg_ring_load *)op->detail)->computed;
}

/* Two bytes of a word as f32: as the lowest bits of 2^23, from which the sum with 2^23 is taken off; all of it is
   exact. ptxas makes an instruction of the special function unit of a conversion of an unsigned byte, which takes as
   long as four others, and one that takes no longer than these of a signed one. Consumers do little else, and other
   kernels choose it where few warps hide how long it takes (codegen/choose_products.c). */
static bool bytes_to_f32(cg_func *c, const ct_op *op, const cg_val *x, cg_val *out)
{
    enum { EACH = 0x01010101, BIAS = 0x80, IMPLIED = 0x4B000000, MINUS = (int)0xCB000000, PLACES = 0x7440 };
    bc_kind from = bc_elem_kind(ct_operands(op)[0]->type), to = bc_elem_kind(cg_result(op, 0)->type);
    bool is_signed = ct_attr_u(op, F_itof_signedness) == BC_Signedness_signed,
         chosen = cg_choices_of(c)->bytes == CG_IF_LEGAL && !is_signed;
    if (to != BC_F32 || !are_bytes_of_word(from, x) || !(chosen || is_of_consumers(ct_operands(op)[0])))
        return false;
    cg_val all = {.cls = CG_B32, .id = x[0].word};
    all = is_signed ? word2(c, "xor.b32", all, word((uint32_t)BIAS * EACH)) : all;
    for (int i = 0; i < 2; i++) {
        cg_val sum = cg_new(c, CG_B32);
        out[i] = cg_new(c, CG_B32);
        cg_ins(c, "prmt.b32 %v, %v, %r, %u", sum, all, word(IMPLIED), (uint32_t)PLACES | x[i].at / 8u);
        cg_ins(c, "add.rn.f32 %v, %v, %r", out[i], sum, word((uint32_t)MINUS + (is_signed ? (uint32_t)BIAS : 0)));
    }
    return true;
}

/* The instruction limits the result to its type; 8 bits are taken from 16. NaN gives 0 in the 32-bit forms, and in
   every form if `saturating` is set. */
static cg_val float_to_integer(cg_func *c, const ct_op *op, bc_kind from, bc_kind to, cg_val x)
{
    bool is_signed = ct_attr_u(op, F_ftoi_signedness) == BC_Signedness_signed,
         saturating = ct_attr_u(op, F_ftoi_saturating);
    cg_val f = from == BC_F64 ? cg_reg(c, x) : cg_any_to_f32(c, from, x);
    const char *type = from == BC_F64 ? "f64" : "f32", *sign = is_signed ? "s" : "u";
    if (to == BC_I1) {
        cg_val p = cg_new(c, CG_PRED);
        cg_ins(c, "setp.neu.%s %v, %v, %r", type, p, f, cg_const((cg_class)f.cls, 0));
        return p;
    }
    uint32_t bits = to == BC_I8 ? 16 : bc_kind_bits(to);
    cg_val result = cg_new(c, bits == 64 ? CG_B64 : bits == 16 ? CG_B16 : CG_B32);
    cg_ins(c, "cvt.rzi.%s%u.%s %v, %v", sign, bits, type, result, f);
    if (to == BC_I8) {
        cg_val low = cg_new(c, CG_B32);
        cg_ins(c, "cvt.%s32.%s16 %v, %v", sign, sign, low, result);
        if (saturating && is_signed)
            low = word2(c, "min.s32", word2(c, "max.s32", low, word((uint32_t)-128)), word(127));
        else if (saturating)
            low = word2(c, "min.u32", low, word(255));
        result = word2(c, "and.b32", low, word(255));
    }
    return saturating ? cg_select(c, is_nan(c, f), cg_const((cg_class)result.cls, 0), result) : result;
}

/* ---- floats ---- */

static cg_val float_to_float(cg_func *c, const ct_op *op, bc_kind from, bc_kind to, cg_val x)
{
    bc_RoundingMode mode = (bc_RoundingMode)ct_attr_u(op, F_ftof_rounding_mode);
    if (from != BC_F64)
        return from_f32(c, to, mode, cg_any_to_f32(c, from, x));
    if (to != BC_F32 && to != BC_F16)
        return from_f32(c, to, mode, f64_to_odd(c, x));
    cg_val result = cg_new(c, cg_class_of(to));
    cg_ins(c, "cvt.%s.%s.f64 %v, %r", rounding_suffix[mode], to == BC_F32 ? "f32" : "f16", result, x);
    return result;
}

/* ---- two floats at a time ---- */

/* Two 8-bit elements as f16x2. */
static cg_val f8_pair_to_f16(cg_func *c, bc_kind kind, const cg_val *x)
{
    cg_val pair = cg_new(c, CG_B32), bytes = cg_join_f8(c, x);
    cg_ins(c, "cvt.rn.f16x2.%s %v, %v", kind == BC_F8E4M3FN ? "e4m3x2" : "e5m2x2", pair, bytes);
    return pair;
}

/* x: two f32, or two f16. */
static void pair_to_f8(cg_func *c, bc_kind kind, const cg_val *x, cg_val *out)
{
    cg_val bytes = cg_new(c, CG_B16);
    const char *type = kind == BC_F8E4M3FN ? "e4m3x2" : "e5m2x2";
    if (x[0].cls == CG_B16)
        cg_ins(c, "cvt.rn.satfinite.%s.f16x2 %v, %v", type, bytes, cg_join(c, x, 2, 16));
    else
        cg_ins(c, "cvt.rn.satfinite.%s.f32 %v, %r, %r", type, bytes, x[1], x[0]);
    cg_split(c, kind, bytes, 2, 8, out);
}

/* f16x2 or bf16x2. */
static void pair_to_half(cg_func *c, bc_kind kind, const char *rounding, const cg_val *x, cg_val *out)
{
    cg_val pair = cg_new(c, CG_B32);
    cg_ins(c, "cvt.%s.%sx2.f32 %v, %v, %v", rounding, bc_kinds[kind].text, pair, x[1], x[0]);
    cg_split(c, kind, pair, 2, 16, out);
}

bool cg_pair_from_f32(cg_func *c, bc_kind kind, const cg_val *x, cg_val *out)
{
    if (!(c->target->features & CG_HAS_HALF_PAIRS))
        return false;
    pair_to_half(c, kind, "rn", x, out);
    return true;
}

bool cg_convert_pair(cg_func *c, const ct_op *op, const cg_val *x, cg_val *out)
{
    bc_kind from = bc_elem_kind(ct_operands(op)[0]->type), to = bc_elem_kind(cg_result(op, 0)->type);
    if (op->opcode == OP_itof)
        return small_pair_to_float(c, op, 0, x, out) || bytes_to_f32(c, op, x, out) || pair_to_bf16(c, op, x, out);
    bc_RoundingMode mode = (bc_RoundingMode)ct_attr_u(op, F_ftof_rounding_mode);
    bool nearest = mode == BC_RoundingMode_nearest_even || mode == BC_RoundingMode_nearest_away;
    bool to_half = (to == BC_F16 || to == BC_BF16) && (nearest || mode == BC_RoundingMode_zero)
                   && c->target->features & CG_HAS_HALF_PAIRS;
    cg_val wide[2] = {x[0], x[1]};
    if (from == BC_F64 || !(is_f8(c, from) || is_f8(c, to) || to_half))
        return false;
    if (is_f8(c, from))
        cg_split(c, BC_F16, f8_pair_to_f16(c, from, x), 2, 16, wide);
    bc_kind kind = is_f8(c, from) ? BC_F16 : from;
    if (is_f8(c, to) && kind == BC_F16) {
        pair_to_f8(c, to, wide, out);
        return true;
    }
    for (int i = 0; i < 2; i++)
        out[i] = kind == to ? wide[i] : cg_any_to_f32(c, kind, wide[i]);
    if (kind == to)
        return true;
    if (is_f8(c, to)) {
        pair_to_f8(c, to, out, out);
    } else if (to_half) {
        pair_to_half(c, to, nearest ? "rn" : "rz", out, out);
    } else {
        for (int i = 0; i < 2; i++)
            out[i] = from_f32(c, to, mode, out[i]);
    }
    return true;
}

cg_val cg_convert_element(cg_func *c, const ct_op *op, cg_val x)
{
    bc_kind from = bc_elem_kind(ct_operands(op)[0]->type), to = bc_elem_kind(cg_result(op, 0)->type);
    switch ((int)op->opcode) {
    case OP_exti: return extend(c, op, from, to, x);
    case OP_trunci: return truncate(c, from, to, x);
    case OP_itof: return integer_to_float(c, op, from, to, x);
    case OP_ftoi: return float_to_integer(c, op, from, to, x);
    case OP_ftof: return float_to_float(c, op, from, to, x);
    default: /* bitcast, casts of pointers: the bits stay, and the register class with them */ return x;
    }
}
