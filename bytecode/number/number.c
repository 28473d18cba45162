/* Float formats and exact conversions between them and to and from integers. Everything goes through one unpacked form
   (significand, exponent) and one rounding function, so no conversion rounds twice. */
#include "bytecode/number/number.h"

#include <stddef.h>
#include <string.h>

#define IEEE(e, m)                                                                                   \
    {                                                                                                \
        .exponent_bits = (e), .mantissa_bits = (m), .specials = BC_SPECIALS_IEEE, .has_sign = true,  \
        .has_subnormals = true, .bias = (1 << ((e)-1)) - 1, .min_exponent = 2 - (1 << ((e)-1)),      \
        .max_exponent = (1 << ((e)-1)) - 1, .max_finite = (((((uint64_t)1 << (e)) - 1) << (m)) - 1), \
        .infinity = ((((uint64_t)1 << (e)) - 1) << (m)), .nan = (((uint64_t)1 << ((e) + (m))) - 1)   \
    }

/* NaN and saturation: section 1.2 and 5.4 of the semantics, as the hardware does it. */
static const bc_float_format formats[BC_KIND_COUNT] = {
    [BC_F16] = IEEE(5, 10),
    [BC_BF16] = IEEE(8, 7),
    [BC_TF32] = IEEE(8, 10),
    [BC_F32] = IEEE(8, 23),
    [BC_F64] = {.exponent_bits = 11,
                .mantissa_bits = 52,
                .specials = BC_SPECIALS_IEEE,
                .has_sign = true,
                .has_subnormals = true,
                .bias = 1023,
                .min_exponent = -1022,
                .max_exponent = 1023,
                .max_finite = 0x7FEFFFFFFFFFFFFF,
                .nan = 0x7FF8000000000000,
                .infinity = 0x7FF0000000000000},
    [BC_F8E5M2] = {.exponent_bits = 5,
                   .mantissa_bits = 2,
                   .specials = BC_SPECIALS_IEEE,
                   .has_sign = true,
                   .has_subnormals = true,
                   .bias = 15,
                   .min_exponent = -14,
                   .max_exponent = 15,
                   .max_finite = 0x7B,
                   .nan = 0x7F,
                   .infinity = 0x7B},
    [BC_F8E4M3FN] = {.exponent_bits = 4,
                     .mantissa_bits = 3,
                     .specials = BC_SPECIALS_ONE_NAN,
                     .has_sign = true,
                     .has_subnormals = true,
                     .bias = 7,
                     .min_exponent = -6,
                     .max_exponent = 8,
                     .max_finite = 0x7E,
                     .nan = 0x7F,
                     .infinity = 0x7E},
    [BC_F8E8M0FNU] = {.exponent_bits = 8,
                      .mantissa_bits = 0,
                      .specials = BC_SPECIALS_ONE_NAN,
                      .bias = 127,
                      .min_exponent = -127,
                      .max_exponent = 127,
                      .max_finite = 0xFE,
                      .nan = 0xFF,
                      .infinity = 0xFE},
    [BC_F4E2M1FN] = {.exponent_bits = 2,
                     .mantissa_bits = 1,
                     .specials = BC_SPECIALS_NONE,
                     .has_sign = true,
                     .has_subnormals = true,
                     .bias = 1,
                     .min_exponent = 0,
                     .max_exponent = 2,
                     .max_finite = 0x7,
                     .nan = 0x7,
                     .infinity = 0x7},
    [BC_FNV8E5M3FNU] = {.exponent_bits = 5,
                        .mantissa_bits = 3,
                        .specials = BC_SPECIALS_ONE_NAN,
                        .has_subnormals = true,
                        .bias = 15,
                        .min_exponent = -14,
                        .max_exponent = 16,
                        .max_finite = 0xFE,
                        .nan = 0xFF,
                        .infinity = 0xFE},
};

const bc_float_format *bc_float_format_of(bc_kind kind)
{
    return (unsigned)kind < BC_KIND_COUNT && bc_kind_in(kind, BC_SET_FLOAT) ? &formats[kind] : NULL;
}

static uint64_t sign_bit(const bc_float_format *f)
{
    return f->has_sign ? (uint64_t)1 << (f->exponent_bits + f->mantissa_bits) : 0;
}

bc_float_parts bc_float_split(bc_kind kind, uint64_t bits)
{
    const bc_float_format *f = &formats[kind];
    uint64_t sign = sign_bit(f);
    uint64_t magnitude = bits & (((uint64_t)1 << (f->exponent_bits + f->mantissa_bits)) - 1);
    bc_float_parts parts = {.class_ = BC_FLOAT_FINITE, .negative = (bits & sign) != 0};

    if (magnitude > f->max_finite) {
        bool is_inf = f->specials == BC_SPECIALS_IEEE && magnitude == f->max_finite + 1;
        parts.class_ = is_inf ? BC_FLOAT_INF : BC_FLOAT_NAN;
        return parts;
    }
    uint64_t field = magnitude >> f->mantissa_bits;
    uint64_t mantissa = magnitude & (((uint64_t)1 << f->mantissa_bits) - 1);
    bool subnormal = field == 0 && f->has_subnormals;
    if (subnormal && mantissa == 0) {
        parts.class_ = BC_FLOAT_ZERO;
        return parts;
    }
    parts.significand = subnormal ? mantissa : mantissa | (uint64_t)1 << f->mantissa_bits;
    parts.exponent = (subnormal ? f->min_exponent : (int32_t)field - f->bias) - f->mantissa_bits;
    unsigned shift = tv_leading_zeros(parts.significand);
    parts.significand <<= shift;
    parts.exponent -= (int32_t)shift;
    return parts;
}

/* ---- rounding ---- */

/* Whether a value of that sign is rounded away from zero: odd is the last bit kept, half the first bit dropped, rest
   whether anything below it is set. */
static bool rounds_away(bc_RoundingMode mode, bool negative, bool odd, bool half, bool rest)
{
    switch (mode) {
    case BC_RoundingMode_zero: return false;
    case BC_RoundingMode_negative_inf: return negative && (half || rest);
    case BC_RoundingMode_positive_inf: return !negative && (half || rest);
    case BC_RoundingMode_nearest_away: return half;
    case BC_RoundingMode_nearest_even:
    case BC_RoundingMode_approx:
    case BC_RoundingMode_full:
    case BC_RoundingMode_nearest_int_to_zero: break;
    }
    return half && (rest || odd);
}

/* significand / 2^count, rounded to an integer. count is at least 1. */
static uint64_t shift_rounded(uint64_t significand, unsigned count, bool sticky, bool negative, bc_RoundingMode mode)
{
    uint64_t kept = 0;
    bool half = false, rest = true; /* count > 64: less than half a unit */
    if (count == 64) {
        half = significand >> 63;
        rest = significand << 1 || sticky;
    } else if (count < 64) {
        kept = significand >> count;
        half = significand >> (count - 1) & 1;
        rest = (significand & (((uint64_t)1 << (count - 1)) - 1)) || sticky;
    }
    return kept + rounds_away(mode, negative, kept & 1, half, rest);
}

/* Pattern of a magnitude beyond the largest finite one, sign apart. */
static uint64_t overflow_pattern(const bc_float_format *f, bool negative, bc_RoundingMode mode)
{
    return rounds_away(mode, negative, true, true, true) ? f->infinity : f->max_finite;
}

uint64_t bc_float_join(bc_kind kind, bool negative, uint64_t significand, int32_t exponent, bool sticky,
                       bc_RoundingMode mode)
{
    bool overflow;
    return bc_float_join_checked(kind, negative, significand, exponent, sticky, mode, &overflow);
}

uint64_t bc_float_join_checked(bc_kind kind, bool negative, uint64_t significand, int32_t exponent, bool sticky,
                               bc_RoundingMode mode, bool *out_overflow)
{
    const bc_float_format *f = &formats[kind];
    uint64_t sign = negative ? sign_bit(f) : 0;

    *out_overflow = false;
    if (negative && !f->has_sign) {
        /* e8m0 takes the magnitude; e5m3 has nothing below zero, so zero is the nearest it can give. */
        if (f->has_subnormals)
            return 0;
        negative = false;
    }
    if (significand == 0)
        return sign;
    unsigned zeros = tv_leading_zeros(significand);
    significand <<= zeros;
    int64_t top = (int64_t)exponent - zeros + 63; /* exponent of the leading bit */
    if (top > f->max_exponent) {
        *out_overflow = true;
        return sign | overflow_pattern(f, negative, mode);
    }
    if (top < f->min_exponent && !f->has_subnormals)
        return sign;

    int64_t normal = top < f->min_exponent ? f->min_exponent : top;
    int64_t count = 63 - f->mantissa_bits + (normal - top);
    uint64_t kept = shift_rounded(significand, count > 65 ? 65 : (unsigned)count, sticky, negative, mode);
    /* The leading bit of kept adds one to the exponent field, and so does a carry out of it. Fields start at 1, or at
       0 in a format without subnormals. */
    uint64_t field = (uint64_t)(normal - f->min_exponent);
    uint64_t pattern = (field << f->mantissa_bits) + kept - (f->has_subnormals ? 0 : 1);
    *out_overflow = pattern > f->max_finite;
    return sign | (*out_overflow ? overflow_pattern(f, negative, mode) : pattern);
}

/* ---- conversions ---- */

/* What NaN, Inf and zero become. */
static uint64_t join_special(bc_kind kind, bc_float_class class_, bool negative)
{
    const bc_float_format *f = &formats[kind];
    uint64_t sign = negative ? sign_bit(f) : 0;

    if (class_ == BC_FLOAT_NAN)
        return f->nan;
    if (class_ == BC_FLOAT_ZERO)
        return sign;
    return kind == BC_FNV8E5M3FNU && negative ? 0 : sign | f->infinity;
}

uint64_t bc_float_convert(bc_kind to, bc_kind from, uint64_t bits, bc_RoundingMode mode)
{
    if (to == from)
        return bits & bc_int_mask(bc_kind_bits(to));
    bc_float_parts x = bc_float_split(from, bits);
    if (x.class_ != BC_FLOAT_FINITE)
        return join_special(to, x.class_, x.negative);
    return bc_float_join(to, x.negative, x.significand, x.exponent, false, mode);
}

double bc_float_value(bc_kind kind, uint64_t bits)
{
    double value;
    bits = bc_float_convert(BC_F64, kind, bits, BC_RoundingMode_nearest_even);
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint64_t bc_float_round(bc_kind kind, double x, bc_RoundingMode mode)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bc_float_convert(kind, BC_F64, bits, mode);
}

uint64_t bc_int_to_float(bc_kind to, uint64_t bits, unsigned width, bool is_signed)
{
    int64_t value = bc_int_sign_extend(bits, width);
    bool negative = is_signed && value < 0;
    uint64_t magnitude = negative ? 0 - (uint64_t)value : bits & bc_int_mask(width);
    if (magnitude == 0)
        return join_special(to, BC_FLOAT_ZERO, false);
    return bc_float_join(to, negative, magnitude, 0, false, BC_RoundingMode_nearest_even);
}

/* The integer part, clamped to the range of a width-bit integer. */
static uint64_t clamp_to_int(const bc_float_parts *x, unsigned width, bool is_signed)
{
    uint64_t most = bc_int_mask(width) >> is_signed; /* largest value */
    uint64_t least = is_signed ? most + 1 : 0;       /* magnitude of the smallest value */
    uint64_t limit = x->negative ? least : most;
    uint64_t magnitude = limit;

    if (x->class_ == BC_FLOAT_ZERO || (x->class_ == BC_FLOAT_FINITE && x->exponent <= -64))
        magnitude = 0;
    else if (x->class_ == BC_FLOAT_FINITE && x->exponent <= 0)
        magnitude = x->significand >> -x->exponent;
    if (magnitude > limit)
        magnitude = limit;
    return (x->negative ? 0 - magnitude : magnitude) & bc_int_mask(width);
}

uint64_t bc_float_to_int(bc_kind from, uint64_t bits, unsigned width, bool is_signed, bool saturating)
{
    bc_float_parts x = bc_float_split(from, bits);

    if (width == 1) /* "is not zero", signed or not */
        return x.class_ != BC_FLOAT_ZERO;
    if (x.class_ == BC_FLOAT_NAN) {
        bool top_bit = !saturating && (width == 64 || (from == BC_F64 && width >= 16));
        return top_bit ? (uint64_t)1 << (width - 1) : 0;
    }
    if (width <= 8 && !saturating) /* the GPU converts to 16 bits and keeps the low ones */
        return clamp_to_int(&x, 16, is_signed) & bc_int_mask(width);
    return clamp_to_int(&x, width, is_signed);
}

uint64_t bc_padding_pattern(bc_kind kind, uint8_t padding)
{
    const bc_float_format *format = bc_float_format_of(kind);
    if (!format)
        return 0;
    uint64_t sign = format->has_sign ? (uint64_t)1 << (bc_kind_bits(kind) - 1) : 0;
    uint64_t infinity = format->infinity, nan = format->nan, pattern = 0;
    if (format->specials == BC_SPECIALS_IEEE) { /* f8E5M2 has an infinity, though conversions to it stop before */
        infinity = bc_int_mask(format->exponent_bits) << format->mantissa_bits;
        nan = infinity | (uint64_t)1 << (format->mantissa_bits - 1);
    }
    switch (padding) {
    case BC_PaddingValue_neg_zero: pattern = sign; break;
    case BC_PaddingValue_nan: pattern = nan; break;
    case BC_PaddingValue_pos_inf: pattern = infinity; break;
    case BC_PaddingValue_neg_inf: pattern = infinity | sign; break;
    default: break;
    }
    return kind == BC_TF32 ? bc_tf32_to_cell(pattern) : pattern;
}
