/* PTX ISA, "cvt" and "cvt.pack". in->type is the result's type, in->from the source's. */
#include <math.h>

#include "tests/ptxsim/lanes.h"

static bc_kind element_kind(ps_type type)
{
    return (bc_kind)ps_types[type].kind;
}

static bool is_float(ps_type type)
{
    return ps_types[type].class_ == PS_CLASS_FLOAT;
}

static bool is_signed(ps_type type)
{
    return ps_types[type].class_ == PS_CLASS_SINT;
}

static uint64_t largest(unsigned bits, bool with_sign)
{
    return with_sign ? ps_mask(bits - 1) : ps_mask(bits);
}

/* ---- integers ---- */

/* x, signed or not, brought into the range of the result's type. */
static uint64_t saturate(uint64_t x, bool x_signed, unsigned bits, bool to_signed)
{
    uint64_t most = largest(bits, to_signed);
    if (x_signed && (int64_t)x < 0) {
        int64_t least = to_signed ? -(int64_t)most - 1 : 0;
        return (int64_t)x < least ? (uint64_t)least : x;
    }
    return x > most ? most : x;
}

static uint64_t int_to_int(const ps_insn *in, uint64_t x)
{
    bool from_signed = is_signed((ps_type)in->from);
    if (from_signed)
        x = (uint64_t)ps_signed(x, in->bits);
    return in->sat ? saturate(x, from_signed, ps_types[in->type].bits, is_signed((ps_type)in->type)) : x;
}

static uint64_t int_to_float(const ps_insn *in, uint64_t x)
{
    bool negative = is_signed((ps_type)in->from) && ps_signed(x, in->bits) < 0;
    if (negative)
        x = 0 - (uint64_t)ps_signed(x, in->bits);
    return x ? bc_float_join(element_kind((ps_type)in->type), negative, x, 0, false, (bc_RoundingMode)in->rounding) : 0;
}

/* ---- floats ---- */

static double round_to_integer(double x, bc_RoundingMode mode)
{
    switch (mode) {
    case BC_RoundingMode_zero: return trunc(x);
    case BC_RoundingMode_negative_inf: return floor(x);
    case BC_RoundingMode_positive_inf: return ceil(x);
    default: return rint(x);
    }
}

/* Out of range gives the nearest number, NaN what the ISA's note says. */
static uint64_t float_to_int(const ps_insn *in, uint64_t bits)
{
    unsigned width = ps_types[in->type].bits;
    bool to_signed = is_signed((ps_type)in->type);
    double x = round_to_integer(bc_float_value((bc_kind)in->kind, bits), (bc_RoundingMode)in->rounding);
    if (x != x)
        return in->from == PS_F64 || width == 64 ? UINT64_C(1) << (width - 1) : 0;
    double limit = ldexp(1, to_signed ? (int)width - 1 : (int)width);
    if (x >= limit)
        return largest(width, to_signed);
    if (x < (to_signed ? -limit : 0))
        return to_signed ? UINT64_C(1) << (width - 1) : 0;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* Rounded to the kind, then .relu, .sat and .satfinite. */
static uint64_t to_kind(const ps_insn *in, bc_kind to, bc_kind from, uint64_t bits)
{
    const bc_float_format *f = bc_float_format_of(to);
    uint64_t result;
    if (in->ftz && from == BC_F32)
        bits = bc_float_flush(from, bits);
    if (in->to_integer)
        result = bc_float_round(to, round_to_integer(bc_float_value(from, bits), (bc_RoundingMode)in->rounding),
                                BC_RoundingMode_nearest_even);
    else
        result = bc_float_convert(to, from, bits, (bc_RoundingMode)in->rounding);
    if (in->ftz && to == BC_F32)
        result = bc_float_flush(to, result);
    uint64_t sign = f->has_sign ? UINT64_C(1) << (bc_kind_bits(to) - 1) : 0;
    bool nan = bc_float_is_nan(from, bits);
    if (in->relu && !nan && result & sign)
        return 0;
    if (in->satfinite && !nan && (result & ~sign) > f->max_finite)
        return (result & sign) | f->max_finite;
    if (in->sat) {
        uint64_t unity = bc_float_round(to, 1.0, BC_RoundingMode_nearest_even);
        return nan || result & sign ? 0 : result > unity ? unity : result;
    }
    return result;
}

/* Conversions between these keep sign and payload of a NaN (seen on an H200); the others give the canonical one. */
static bool wide_nan(const ps_insn *in, uint64_t x, uint64_t *out)
{
    uint64_t top;
    if (in->sat || in->relu || in->satfinite || in->type == in->from || !bc_float_is_nan((bc_kind)in->kind, x))
        return false;
    switch (in->from) {
    case PS_F64: top = x; break;
    case PS_F32: top = (x & 0x80000000) << 32 | UINT64_C(0x7FF0000000000000) | (x & 0x7FFFFF) << 29; break;
    case PS_BF16: top = (x & 0x8000) << 48 | UINT64_C(0x7FF0000000000000) | (x & 0x7F) << 45; break;
    default: return false;
    }
    uint64_t narrow = top >> 32 & 0x80000000, payload = top >> 29 & 0x7FFFFF;
    switch (in->type) {
    case PS_F64: *out = top; return true;
    case PS_F32: *out = narrow | 0x7FC00000 | payload; return true;
    case PS_TF32: *out = narrow | 0x7FC00000 | (payload & 0x7FE000); return true;
    default: return false;
    }
}

static uint64_t float_to_float(const ps_insn *in, const uint64_t *v)
{
    const ps_type_info *to = &ps_types[in->type], *from = &ps_types[in->from];
    bc_kind to_kind_ = (bc_kind)to->kind, from_kind = (bc_kind)from->kind;
    uint64_t nan;
    if (to->count == 1 && wide_nan(in, v[0], &nan))
        return nan;
    if (to->count == 1) {
        uint64_t x = to_kind(in, to_kind_, from_kind, v[0]);
        return in->type == PS_TF32 ? bc_tf32_to_cell(x) : x;
    }
    /* Two sources: the first goes to the upper half. */
    unsigned to_bits = bc_kind_bits(to_kind_), from_bits = bc_kind_bits(from_kind);
    uint64_t low = from->count == 2 ? v[0] & ps_mask(from_bits) : v[1];
    uint64_t high = from->count == 2 ? v[0] >> from_bits & ps_mask(from_bits) : v[0];
    return to_kind(in, to_kind_, from_kind, low) | to_kind(in, to_kind_, from_kind, high) << to_bits;
}

/* cvt.pack: a above b, both saturated; for narrow types above what c held. */
static uint64_t pack(const ps_insn *in, const uint64_t *v)
{
    ps_type to = (ps_type)in->source_type[3]; /* in->type is that of all of the result */
    unsigned bits = ps_types[to].bits;
    bool to_signed = is_signed(to), from_signed = is_signed((ps_type)in->from);
    uint64_t a = from_signed ? (uint64_t)ps_signed(v[0], in->bits) : v[0],
             b = from_signed ? (uint64_t)ps_signed(v[1], in->bits) : v[1];
    uint64_t packed = (saturate(a, from_signed, bits, to_signed) & ps_mask(bits)) << bits
                      | (saturate(b, from_signed, bits, to_signed) & ps_mask(bits));
    return in->count == 4 ? packed | v[2] << 2 * bits : packed;
}

uint64_t ps_cvt(const ps_insn *in, const uint64_t *v)
{
    if (in->mode)
        return pack(in, v);
    if (!is_float((ps_type)in->type))
        return is_float((ps_type)in->from) ? float_to_int(in, v[0]) : int_to_int(in, v[0]);
    return is_float((ps_type)in->from) ? float_to_float(in, v) : int_to_float(in, v[0]);
}
