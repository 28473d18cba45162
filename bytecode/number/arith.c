/* Float arithmetic with one correct rounding in any mode, by integers: an operation makes the exact result, or its
   first 57 bits or more and whether anything follows, and bc_float_join rounds it. Independent of the machine's
   floating point and of its rounding mode. Only for kinds of up to 53 significant bits with sign, Inf and NaN. */
#include "bytecode/number/number.h"

typedef bc_float_parts parts;

static bool is_subnormal(bc_kind kind, uint64_t bits)
{
    const bc_float_format *f = bc_float_format_of(kind);
    uint64_t magnitude = bits & bc_int_mask(f->exponent_bits + f->mantissa_bits);
    return magnitude != 0 && magnitude >> f->mantissa_bits == 0;
}

static uint64_t sign_of(bc_kind kind)
{
    return (uint64_t)1 << (bc_kind_bits(kind) - 1);
}

uint64_t bc_float_flush(bc_kind kind, uint64_t bits)
{
    return is_subnormal(kind, bits) ? bits & sign_of(kind) : bits & bc_int_mask(bc_kind_bits(kind));
}

static parts operand(bc_kind kind, uint64_t bits, bool ftz)
{
    return bc_float_split(kind, ftz ? bc_float_flush(kind, bits) : bits);
}

/* ---- what is not a finite number ---- */

static uint64_t quiet(uint64_t f64_nan)
{
    return f64_nan | 0x0008000000000000;
}

/* The NaN of an operation with these operands, at least one of them NaN. */
static uint64_t nan_of(bc_kind kind, const uint64_t *operands, unsigned count)
{
    if (kind == BC_F64)
        for (unsigned i = 0; i < count; i++)
            if (bc_float_is_nan(kind, operands[i]))
                return quiet(operands[i]);
    return bc_float_format_of(kind)->nan;
}

static uint64_t invalid(bc_kind kind)
{
    return kind == BC_F64 ? 0xFFF8000000000000 : bc_float_format_of(kind)->nan;
}

static uint64_t infinity(bc_kind kind, bool negative)
{
    return bc_float_format_of(kind)->infinity | (negative ? sign_of(kind) : 0);
}

static uint64_t zero(bc_kind kind, bool negative)
{
    return negative ? sign_of(kind) : 0;
}

/* bc_float_join; with ftz, what is below the smallest normal number once rounded becomes a zero of its sign. It is
   rounded as if exponents had no lower limit: a value that only the spacing of subnormals takes up to that number is
   flushed (measured on an H200; IEEE 754 calls it tininess after rounding). */
static uint64_t round_flushed(bc_kind kind, bool negative, uint64_t significand, int32_t exponent, bool sticky,
                              bc_RoundingMode mode, bool ftz)
{
    enum { FAR = 64 }; /* beyond the subnormals of f32, the only kind that is flushed, and below its largest number */
    uint64_t bits = bc_float_join(kind, negative, significand, exponent, sticky, mode);
    unsigned mantissa_bits = bc_float_format_of(kind)->mantissa_bits;
    uint64_t smallest_normal = (uint64_t)1 << mantissa_bits;
    if (!ftz || (bits & ~sign_of(kind)) > smallest_normal)
        return bits;
    uint64_t scaled = bc_float_join(kind, negative, significand, exponent + FAR, sticky, mode) & ~sign_of(kind);
    return scaled >> mantissa_bits > FAR ? bits : zero(kind, negative);
}

/* ---- 128-bit values ---- */

/* (high * 2^64 + low) * 2^exponent. Bit 126 is the highest one set. */
typedef struct wide {
    bool negative;
    int32_t exponent;
    uint64_t high, low;
} wide;

static wide wide_of(const parts *x)
{
    return (wide){x->negative, x->exponent - 63, x->significand >> 1, x->significand << 63};
}

/* Exact: the factors have at most 53 bits, so the bit that may be shifted out is 0. */
static wide wide_product(const parts *a, const parts *b)
{
    wide w = {.negative = a->negative != b->negative, .exponent = a->exponent + b->exponent};
    w.low = tv_multiply_wide(a->significand, b->significand, &w.high);
    if (w.high >> 63) {
        w.low = w.low >> 1 | w.high << 63;
        w.high >>= 1;
        w.exponent++;
    }
    return w;
}

/* Shifts right; the lowest bit of the result is set if any bit that fell out was. */
static void wide_shift_right(wide *w, unsigned count)
{
    bool lost = false;
    if (count >= 128) {
        lost = true;
        w->high = w->low = 0;
    } else {
        if (count >= 64) {
            lost = w->low != 0;
            w->low = w->high;
            w->high = 0;
            count -= 64;
        }
        if (count) {
            lost |= w->low << (64 - count) != 0;
            w->low = w->low >> count | w->high << (64 - count);
            w->high >>= count;
        }
    }
    w->low |= lost;
}

static uint64_t wide_round(bc_kind kind, const wide *w, bc_RoundingMode mode, bool ftz)
{
    uint64_t high = w->high, low = w->low;
    int32_t exponent = w->exponent + 64;
    if (high == 0) {
        high = low;
        low = 0;
        exponent -= 64;
    }
    unsigned zeros = tv_leading_zeros(high);
    if (zeros) {
        high = high << zeros | low >> (64 - zeros);
        low <<= zeros;
    }
    return round_flushed(kind, w->negative, high, exponent - (int32_t)zeros, low != 0, mode, ftz);
}

/* x + y, rounded. Bits shifted out of the smaller one are kept as one low bit. That is enough: operands have at most
   106 of 127 bits, so they only fall out when the exponents differ by more than 21; then at most one leading bit
   cancels, and the low bit stays far below the rounding place. */
static uint64_t wide_sum(bc_kind kind, wide x, wide y, bc_RoundingMode mode, bool ftz)
{
    if (x.exponent < y.exponent
        || (x.exponent == y.exponent && (x.high < y.high || (x.high == y.high && x.low < y.low)))) {
        wide t = x;
        x = y;
        y = t;
    }
    wide_shift_right(&y, (unsigned)(x.exponent - y.exponent));
    if (x.negative == y.negative) {
        x.low += y.low;
        x.high += y.high + (x.low < y.low);
    } else {
        uint64_t low = x.low;
        x.low -= y.low;
        x.high -= y.high + (low < y.low);
        if (!x.high && !x.low)
            return zero(kind, mode == BC_RoundingMode_negative_inf);
    }
    return wide_round(kind, &x, mode, ftz);
}

/* ---- operations ---- */

/* x + y where at least one is zero. */
static uint64_t sum_with_zero(bc_kind kind, const parts *x, const parts *y, bc_RoundingMode mode)
{
    const parts *other = x->class_ == BC_FLOAT_ZERO ? y : x;
    if (other->class_ != BC_FLOAT_ZERO)
        return bc_float_join(kind, other->negative, other->significand, other->exponent, false, mode);
    bool negative = x->negative == y->negative ? x->negative : mode == BC_RoundingMode_negative_inf;
    return zero(kind, negative);
}

uint64_t bc_float_add(bc_kind kind, uint64_t a, uint64_t b, bc_RoundingMode mode, bool ftz)
{
    parts x = operand(kind, a, ftz), y = operand(kind, b, ftz);

    if (x.class_ == BC_FLOAT_NAN || y.class_ == BC_FLOAT_NAN)
        return nan_of(kind, (const uint64_t[]){a, b}, 2);
    if (x.class_ == BC_FLOAT_INF && y.class_ == BC_FLOAT_INF && x.negative != y.negative)
        return invalid(kind);
    if (x.class_ == BC_FLOAT_INF || y.class_ == BC_FLOAT_INF)
        return infinity(kind, x.class_ == BC_FLOAT_INF ? x.negative : y.negative);
    if (x.class_ == BC_FLOAT_ZERO || y.class_ == BC_FLOAT_ZERO)
        return sum_with_zero(kind, &x, &y, mode);
    return wide_sum(kind, wide_of(&x), wide_of(&y), mode, ftz);
}

uint64_t bc_float_sub(bc_kind kind, uint64_t a, uint64_t b, bc_RoundingMode mode, bool ftz)
{
    if (!bc_float_is_nan(kind, b))
        b ^= sign_of(kind);
    return bc_float_add(kind, a, b, mode, ftz);
}

uint64_t bc_float_mul(bc_kind kind, uint64_t a, uint64_t b, bc_RoundingMode mode, bool ftz)
{
    parts x = operand(kind, a, ftz), y = operand(kind, b, ftz);
    bool negative = x.negative != y.negative;
    bool any_inf = x.class_ == BC_FLOAT_INF || y.class_ == BC_FLOAT_INF;
    bool any_zero = x.class_ == BC_FLOAT_ZERO || y.class_ == BC_FLOAT_ZERO;

    if (x.class_ == BC_FLOAT_NAN || y.class_ == BC_FLOAT_NAN)
        return nan_of(kind, (const uint64_t[]){a, b}, 2);
    if (any_inf)
        return any_zero ? invalid(kind) : infinity(kind, negative);
    if (any_zero)
        return zero(kind, negative);
    wide product = wide_product(&x, &y);
    return wide_round(kind, &product, mode, ftz);
}

/* high * 2^64 / divisor, where high < divisor and divisor has its top bit set; two steps of schoolbook division in base
   2^32, each with a quotient digit that is estimated from the top of the divisor and at most 2 too large. */
static uint64_t divide_wide(uint64_t high, uint64_t divisor, bool *out_rest)
{
    uint64_t d1 = divisor >> 32, d0 = divisor & UINT32_MAX, rest = high, quotient = 0;
    for (unsigned step = 0; step < 2; step++) {
        uint64_t digit = rest / d1, partial = rest % d1;
        while (digit * d0 > partial << 32) { /* digit <= 2^32 + 1, partial < 2^32: neither side overflows */
            digit--;
            partial += d1;
            if (partial > UINT32_MAX)
                break;
        }
        rest = (rest << 32) - digit * divisor; /* fits: the true difference is below divisor */
        quotient = quotient << 32 | digit;
    }
    *out_rest = rest != 0;
    return quotient;
}

uint64_t bc_float_div(bc_kind kind, uint64_t a, uint64_t b, bc_RoundingMode mode, bool ftz)
{
    parts x = operand(kind, a, ftz), y = operand(kind, b, ftz);
    bool negative = x.negative != y.negative, rest;

    if (x.class_ == BC_FLOAT_NAN || y.class_ == BC_FLOAT_NAN)
        return nan_of(kind, (const uint64_t[]){a, b}, 2);
    if (x.class_ == y.class_ && x.class_ != BC_FLOAT_FINITE)
        return invalid(kind); /* 0/0, Inf/Inf */
    if (x.class_ == BC_FLOAT_INF || y.class_ == BC_FLOAT_ZERO)
        return infinity(kind, negative);
    if (x.class_ == BC_FLOAT_ZERO || y.class_ == BC_FLOAT_INF)
        return zero(kind, negative);
    /* Halved, the numerator is below the divisor. 63 or 64 bits of quotient. */
    uint64_t quotient = divide_wide(x.significand >> 1, y.significand, &rest);
    int32_t exponent = x.exponent - y.exponent - 63;
    return round_flushed(kind, negative, quotient, exponent, rest, mode, ftz);
}

uint64_t bc_float_fma(bc_kind kind, uint64_t a, uint64_t b, uint64_t c, bc_RoundingMode mode, bool ftz)
{
    parts x = operand(kind, a, ftz), y = operand(kind, b, ftz), z = operand(kind, c, ftz);
    bool negative = x.negative != y.negative;
    bool product_inf = x.class_ == BC_FLOAT_INF || y.class_ == BC_FLOAT_INF;
    bool product_zero = x.class_ == BC_FLOAT_ZERO || y.class_ == BC_FLOAT_ZERO;

    if (x.class_ == BC_FLOAT_NAN || y.class_ == BC_FLOAT_NAN || z.class_ == BC_FLOAT_NAN)
        return nan_of(kind, (const uint64_t[]){a, b, c}, 3);
    if (product_inf && (product_zero || (z.class_ == BC_FLOAT_INF && z.negative != negative)))
        return invalid(kind);
    if (product_inf || z.class_ == BC_FLOAT_INF)
        return infinity(kind, product_inf ? negative : z.negative);
    if (product_zero) {
        parts none = {.class_ = BC_FLOAT_ZERO, .negative = negative};
        return sum_with_zero(kind, &none, &z, mode);
    }
    wide product = wide_product(&x, &y);
    if (z.class_ == BC_FLOAT_ZERO)
        return wide_round(kind, &product, mode, ftz);
    return wide_sum(kind, product, wide_of(&z), mode, ftz);
}

enum { ROOT_BITS = 58 }; /* remainder and trial value stay below 2^60 */

/* floor(sqrt(n * 2^52)) for n >= 2^62: 58 bits, found from the top, each from two bits of the radicand. */
static uint64_t square_root(uint64_t n, bool *out_rest)
{
    uint64_t root = 0, rest = 0;
    for (unsigned i = 0; i < ROOT_BITS; i++) {
        rest = rest << 2 | n >> 62;
        n <<= 2;
        uint64_t trial = root << 2 | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    *out_rest = rest != 0;
    return root;
}

uint64_t bc_float_sqrt(bc_kind kind, uint64_t a, bc_RoundingMode mode, bool ftz)
{
    parts x = operand(kind, a, ftz);
    bool rest;

    if (x.class_ == BC_FLOAT_NAN)
        return nan_of(kind, &a, 1);
    if (x.class_ == BC_FLOAT_ZERO)
        return zero(kind, x.negative);
    if (x.negative)
        return invalid(kind);
    if (x.class_ == BC_FLOAT_INF)
        return infinity(kind, false);
    /* The exponent must be even to be halved. The radicand gets 2 * ROOT_BITS - 64 = 52 more bits. */
    bool odd = x.exponent & 1;
    uint64_t root = square_root(x.significand >> odd, &rest);
    int32_t exponent = (x.exponent + odd - 52) / 2;
    return round_flushed(kind, false, root, exponent, rest, mode, ftz);
}

/* ---- maximum and minimum ---- */

/* Orders patterns of numbers as their values, -0 just below +0. */
static uint64_t order_key(bc_kind kind, uint64_t bits)
{
    uint64_t sign = sign_of(kind);
    return bits & sign ? ~bits & bc_int_mask(bc_kind_bits(kind)) : bits | sign;
}

static uint64_t choose(bc_kind kind, uint64_t a, uint64_t b, bool propagate_nan, bool ftz, bool larger)
{
    uint64_t mask = bc_int_mask(bc_kind_bits(kind));
    bool a_nan = bc_float_is_nan(kind, a), b_nan = bc_float_is_nan(kind, b);

    if (a_nan && b_nan && !propagate_nan)
        return nan_of(kind, (const uint64_t[]){a, b}, 2);
    if ((a_nan || b_nan) && propagate_nan)
        return bc_float_format_of(kind)->nan;
    a = ftz ? bc_float_flush(kind, a) : a & mask;
    b = ftz ? bc_float_flush(kind, b) : b & mask;
    if (a_nan || b_nan)
        return a_nan ? b : a;
    return (order_key(kind, a) > order_key(kind, b)) == larger ? a : b;
}

uint64_t bc_float_max(bc_kind kind, uint64_t a, uint64_t b, bool propagate_nan, bool ftz)
{
    return choose(kind, a, b, propagate_nan, ftz, true);
}

uint64_t bc_float_min(bc_kind kind, uint64_t a, uint64_t b, bool propagate_nan, bool ftz)
{
    return choose(kind, a, b, propagate_nan, ftz, false);
}
