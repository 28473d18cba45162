#include "tests/matrix/exact.h"

#include <math.h>
#include <string.h>

#include "bytecode/base/compiler.h"

/* Operation references, section 1.2. */
static const exact_format formats[] = {
    {BC_F16, 5, 10, 15, true, true, true, true, 0x7BFF, 0x7E00},
    {BC_BF16, 8, 7, 127, true, true, true, true, 0x7F7F, 0x7FC0},
    {BC_TF32, 8, 10, 127, true, true, true, true, 0x3FBFF, 0x3FE00},
    {BC_F32, 8, 23, 127, true, true, true, true, 0x7F7FFFFF, 0x7FC00000},
    {BC_F64, 11, 52, 1023, true, true, true, true, 0x7FEFFFFFFFFFFFFF, 0x7FF8000000000000},
    {BC_F8E5M2, 5, 2, 15, true, true, true, true, 0x7B, 0x7F},
    {BC_F8E4M3FN, 4, 3, 7, true, false, true, true, 0x7E, 0x7F},
    {BC_F8E8M0FNU, 8, 0, 127, false, false, true, false, 0xFE, 0xFF},
    {BC_F4E2M1FN, 2, 1, 1, true, false, false, true, 0x7, 0x7},
    {BC_FNV8E5M3FNU, 5, 3, 15, false, false, true, true, 0xFE, 0xFF},
};

const exact_format *exact_format_of(bc_kind kind)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].kind == kind)
            return &formats[i];
    return NULL;
}

bool exact_is_float(bc_kind kind)
{
    return exact_format_of(kind) != NULL;
}

unsigned exact_bits(bc_kind kind)
{
    switch ((int)kind) {
    case BC_I1: return 1;
    case BC_I4:
    case BC_F4E2M1FN: return 4;
    case BC_I8:
    case BC_F8E4M3FN:
    case BC_F8E5M2:
    case BC_F8E8M0FNU:
    case BC_FNV8E5M3FNU: return 8;
    case BC_I16:
    case BC_F16:
    case BC_BF16: return 16;
    case BC_I32:
    case BC_F32:
    case BC_TF32: return 32;
    default: return 64;
    }
}

uint64_t exact_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

int64_t exact_signed(uint64_t pattern, unsigned width)
{
    pattern &= exact_mask(width);
    if (width < 64 && pattern >> (width - 1))
        pattern |= ~exact_mask(width);
    int64_t x;
    memcpy(&x, &pattern, sizeof x);
    return x;
}

/* ---- wide integers ---- */

static void clear(exact *x)
{
    x->class_ = EXACT_FINITE;
    x->negative = false;
    x->low = x->high = 0;
}

static uint32_t limb(const exact *x, int i)
{
    return i >= x->low && i < x->high ? x->limb[i] : 0;
}

static void set_special(exact *x, exact_class class_, bool negative)
{
    clear(x);
    x->class_ = class_;
    x->negative = negative;
}

/* Limbs [low, high) count from now on. */
static void widen(exact *x, int low, int high)
{
    if (x->low == x->high)
        x->low = x->high = low;
    while (x->low > low)
        x->limb[--x->low] = 0;
    while (x->high < high)
        x->limb[x->high++] = 0;
}

/* x += m * 2^exponent, for magnitudes. */
static void add_scaled(exact *x, uint64_t m, int exponent)
{
    int bit = exponent - EXACT_LOW, at = bit / 32, shift = bit % 32;
    uint32_t parts[3] = {(uint32_t)(m << shift), (uint32_t)(shift ? m >> (32 - shift) : m >> 32),
                         (uint32_t)(shift ? m >> (64 - shift) : 0)};
    uint64_t carry = 0;
    widen(x, at, at + 3);
    for (int i = 0; i < 3; i++) {
        carry += (uint64_t)x->limb[at + i] + parts[i];
        x->limb[at + i] = (uint32_t)carry;
        carry >>= 32;
    }
    for (int i = at + 3; carry; i++) {
        widen(x, i, i + 1);
        carry = ++x->limb[i] == 0;
    }
}

/* Position of the highest set bit, counted from bit 0; -1 for zero. */
static int top_bit(const exact *x)
{
    for (int i = x->high - 1; i >= x->low; i--)
        if (x->limb[i])
            return 32 * i + 63 - (int)tv_leading_zeros(x->limb[i]);
    return -1;
}

static bool get_bit(const exact *x, int bit)
{
    return bit >= 0 && (limb(x, bit / 32) >> (bit % 32) & 1);
}

static bool any_below(const exact *x, int bit)
{
    for (int i = x->low; i < x->high && 32 * i < bit; i++)
        if (x->limb[i] & (bit - 32 * i >= 32 ? UINT32_MAX : ((uint32_t)1 << (bit - 32 * i)) - 1))
            return true;
    return false;
}

static bool is_zero(const exact *x)
{
    return x->class_ == EXACT_FINITE && top_bit(x) < 0;
}

static int compare_magnitudes(const exact *a, const exact *b)
{
    int high = a->high > b->high ? a->high : b->high, low = a->low < b->low ? a->low : b->low;
    for (int i = high - 1; i >= low; i--)
        if (limb(a, i) != limb(b, i))
            return limb(a, i) < limb(b, i) ? -1 : 1;
    return 0;
}

/* Bits [bit, bit + 64) as a number. */
static uint64_t window(const exact *x, int bit)
{
    int at = bit / 32, shift = bit % 32;
    uint64_t m = limb(x, at) | (uint64_t)limb(x, at + 1) << 32;
    return shift ? m >> shift | (uint64_t)limb(x, at + 2) << (64 - shift) : m;
}

/* Significand and exponent of a float that has at most 63 significant bits: odd, or 0. */
static uint64_t digits_of(const exact *x, int *out_exponent)
{
    int top = top_bit(x), bottom = top > 63 ? top - 63 : 0;
    uint64_t m = top < 0 ? 0 : window(x, bottom);
    for (int step = 32; m && step; step /= 2) {
        if ((m & exact_mask((unsigned)step)) == 0) {
            m >>= step;
            bottom += step;
        }
    }
    *out_exponent = bottom + EXACT_LOW;
    return m;
}

/* ---- patterns ---- */

void exact_of_float(exact *out, bc_kind kind, uint64_t pattern)
{
    if (kind == BC_TF32)
        kind = BC_F32; /* low bits of a cell count */
    const exact_format *f = exact_format_of(kind);
    unsigned sign_at = f->exponent + f->mantissa;
    bool negative = f->has_sign && (pattern >> sign_at & 1);
    uint64_t magnitude = pattern & exact_mask(sign_at), field = magnitude >> f->mantissa,
             fraction = magnitude & exact_mask(f->mantissa), top = exact_mask(f->exponent);
    if (f->has_inf && field == top) {
        set_special(out, fraction ? EXACT_NAN : EXACT_INF, negative);
        return;
    }
    if (!f->has_inf && f->has_nan && magnitude == exact_mask(sign_at)) {
        set_special(out, EXACT_NAN, negative);
        return;
    }
    clear(out);
    out->negative = negative;
    if (field > 0 || !f->has_zero)
        fraction |= (uint64_t)1 << f->mantissa;
    else
        field = 1;
    add_scaled(out, fraction, (int)field - f->bias - f->mantissa);
}

void exact_of_int(exact *out, uint64_t pattern, unsigned width, bool is_signed)
{
    pattern &= exact_mask(width);
    clear(out);
    out->negative = is_signed && pattern >> (width - 1);
    add_scaled(out, out->negative ? (0 - pattern) & exact_mask(width) : pattern, 0);
}

void exact_of_double(exact *out, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    exact_of_float(out, BC_F64, bits);
}

/* ---- arithmetic ---- */

static void add_magnitudes(exact *out, const exact *a, const exact *b)
{
    int low = a->low < b->low ? a->low : b->low, high = a->high > b->high ? a->high : b->high;
    uint64_t carry = 0;
    int i = low;
    for (; i < high || carry; i++) {
        carry += (uint64_t)limb(a, i) + limb(b, i);
        out->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    out->low = low;
    out->high = i;
}

/* a - b, for a at least as large. */
static void subtract_magnitudes(exact *out, const exact *a, const exact *b)
{
    int low = a->low < b->low ? a->low : b->low, high = a->high > b->high ? a->high : b->high;
    int64_t borrow = 0;
    for (int i = low; i < high; i++) {
        int64_t digit = (int64_t)limb(a, i) - limb(b, i) + borrow;
        borrow = digit < 0 ? -1 : 0;
        out->limb[i] = (uint32_t)digit;
    }
    out->low = low;
    out->high = high;
}

void exact_add(exact *out, const exact *a, const exact *b, bool downward)
{
    clear(out);
    if (a->class_ == EXACT_NAN || b->class_ == EXACT_NAN) {
        out->class_ = EXACT_NAN;
    } else if (a->class_ == EXACT_INF || b->class_ == EXACT_INF) {
        bool both = a->class_ == b->class_;
        out->class_ = both && a->negative != b->negative ? EXACT_NAN : EXACT_INF;
        out->negative = a->class_ == EXACT_INF ? a->negative : b->negative;
    } else if (a->negative == b->negative) {
        out->negative = a->negative;
        add_magnitudes(out, a, b);
    } else {
        int order = compare_magnitudes(a, b);
        out->negative = order == 0 ? downward : order > 0 ? a->negative : b->negative;
        if (order > 0)
            subtract_magnitudes(out, a, b);
        if (order < 0)
            subtract_magnitudes(out, b, a);
    }
}

void exact_mul(exact *out, const exact *a, const exact *b)
{
    clear(out);
    out->negative = a->negative != b->negative;
    if (a->class_ == EXACT_NAN || b->class_ == EXACT_NAN) {
        out->class_ = EXACT_NAN;
    } else if (a->class_ == EXACT_INF || b->class_ == EXACT_INF) {
        out->class_ = is_zero(a) || is_zero(b) ? EXACT_NAN : EXACT_INF;
    } else {
        int ea, eb;
        uint64_t ma = digits_of(a, &ea), mb = digits_of(b, &eb);
        if (ma == 0 || mb == 0)
            return;
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                add_scaled(out, (ma >> (32 * i) & UINT32_MAX) * (mb >> (32 * j) & UINT32_MAX), ea + eb + 32 * (i + j));
    }
}

static void mark_rest(exact *x)
{
    widen(x, 0, 1);
    x->limb[0] |= 1;
}

void exact_div(exact *out, const exact *a, const exact *b)
{
    enum { EXTRA = 128 }; /* bits of the quotient after the point: significands differ by 2^53 at most */
    clear(out);
    out->negative = a->negative != b->negative;
    if (a->class_ == EXACT_NAN || b->class_ == EXACT_NAN) {
        out->class_ = EXACT_NAN;
    } else if (a->class_ == EXACT_INF) {
        out->class_ = b->class_ == EXACT_INF ? EXACT_NAN : EXACT_INF;
    } else if (b->class_ == EXACT_INF) {
        return;
    } else if (is_zero(b)) {
        out->class_ = is_zero(a) ? EXACT_NAN : EXACT_INF;
    } else if (!is_zero(a)) {
        int ea, eb;
        uint64_t ma = digits_of(a, &ea), mb = digits_of(b, &eb), rest = ma % mb;
        add_scaled(out, ma / mb, ea - eb);
        for (int i = 32; i <= EXTRA && rest; i += 32) {
            uint64_t digits = 0;
            for (int bit = 0; bit < 32; bit++) { /* significands have fewer than 63 bits */
                rest *= 2;
                digits = digits << 1 | (rest >= mb);
                rest -= rest >= mb ? mb : 0;
            }
            add_scaled(out, digits, ea - eb - i);
        }
        if (rest)
            mark_rest(out);
    }
}

/* floor(sqrt(m * 2^64)), digit by digit, and whether that is not all. m < 2^62. */
static uint64_t wide_root(uint64_t m, bool *out_rest)
{
    uint64_t root = 0, rest = 0; /* rest < 2 * root + 1 */
    for (int i = 0; i < 60; i++) {
        uint64_t pair = i < 32 ? m >> (62 - 2 * i) & 3 : 0, trial = root << 2 | 1;
        rest = rest << 2 | pair;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    *out_rest = rest != 0;
    return root << 4;
}

void exact_sqrt(exact *out, const exact *a)
{
    clear(out);
    if (a->class_ == EXACT_NAN || (a->negative && !is_zero(a))) {
        out->class_ = EXACT_NAN;
    } else if (a->class_ == EXACT_INF) {
        out->class_ = EXACT_INF;
    } else if (is_zero(a)) {
        out->negative = a->negative;
    } else {
        int e;
        bool rest;
        uint64_t m = digits_of(a, &e);
        while (m < (uint64_t)1 << 60 || e % 2 != 0) { /* an even exponent and many digits */
            m *= 2;
            e--;
        }
        uint64_t root = wide_root(m, &rest);
        add_scaled(out, root, e / 2 - 32);
        if (rest)
            mark_rest(out);
    }
}

void exact_remainder(exact *out, const exact *a, const exact *b)
{
    clear(out);
    out->negative = a->negative;
    if (a->class_ != EXACT_FINITE || b->class_ == EXACT_NAN || is_zero(b)) {
        out->class_ = EXACT_NAN;
        return;
    }
    if (b->class_ == EXACT_INF || compare_magnitudes(a, b) < 0) {
        *out = *a;
        return;
    }
    int ea, eb;
    uint64_t ma = digits_of(a, &ea), mb = digits_of(b, &eb);
    if (ea < eb) { /* |a| is the larger, so b shifted to a's last place still fits */
        mb <<= eb - ea;
        eb = ea;
    }
    uint64_t rest = ma % mb;
    for (int i = eb; i < ea; i++)
        rest = rest * 2 % mb;
    add_scaled(out, rest, eb);
}

int exact_compare(const exact *a, const exact *b)
{
    if (is_zero(a) && is_zero(b))
        return 0;
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    int order = a->class_ != b->class_   ? (a->class_ == EXACT_INF ? 1 : -1)
                : a->class_ == EXACT_INF ? 0
                                         : compare_magnitudes(a, b);
    return a->negative ? -order : order;
}

/* Does a magnitude with these digits after its last place go up by one there? */
static bool goes_up(bc_RoundingMode mode, bool negative, bool odd, bool half, bool more)
{
    switch (mode) {
    case BC_RoundingMode_zero:
    case BC_RoundingMode_nearest_int_to_zero: return false;
    case BC_RoundingMode_negative_inf: return negative && (half || more);
    case BC_RoundingMode_positive_inf: return !negative && (half || more);
    case BC_RoundingMode_nearest_away: return half;
    default: return half && (more || odd);
    }
}

void exact_to_integral(exact *x, bc_RoundingMode mode)
{
    int unit = -EXACT_LOW;
    if (x->class_ != EXACT_FINITE)
        return;
    bool up = goes_up(mode, x->negative, get_bit(x, unit), get_bit(x, unit - 1), any_below(x, unit - 1));
    for (int i = x->low; i < x->high && i < unit / 32; i++)
        x->limb[i] = 0;
    if (up)
        add_scaled(x, 1, 0);
}

/* f8 and f4 have nothing beyond the largest finite number, not even for an infinity. */
static bool saturates(bc_kind kind)
{
    return kind == BC_F8E5M2 || kind == BC_F8E4M3FN || kind == BC_F4E2M1FN || kind == BC_F8E8M0FNU
           || kind == BC_FNV8E5M3FNU;
}

static uint64_t infinity_of(const exact_format *f)
{
    return saturates(f->kind) ? f->max_finite : exact_mask(f->exponent) << f->mantissa;
}

static uint64_t too_large(const exact_format *f, bool negative, bc_RoundingMode mode)
{
    bool stays = mode == BC_RoundingMode_zero || (mode == BC_RoundingMode_negative_inf && !negative)
                 || (mode == BC_RoundingMode_positive_inf && negative);
    return stays ? f->max_finite : infinity_of(f);
}

/* Powers of two from 2^-127 on, for the magnitude; towards zero or up. */
static uint64_t round_power(const exact *x, bc_RoundingMode mode)
{
    int top = top_bit(x), exponent = top + EXACT_LOW;
    if (top < 0)
        return 0;
    if (mode == BC_RoundingMode_positive_inf && any_below(x, top))
        exponent++;
    return exponent < -127 ? 0 : exponent > 127 ? 0xFE : (uint64_t)(exponent + 127);
}

static uint64_t round_magnitude(const exact_format *f, const exact *x, bc_RoundingMode mode)
{
    int top = top_bit(x), least = 1 - f->bias - f->mantissa - EXACT_LOW; /* place of the smallest subnormal */
    if (top < 0)
        return 0;
    int unit = top - f->mantissa > least ? top - f->mantissa : least;
    uint64_t m = top < unit ? 0 : window(x, unit) & exact_mask((unsigned)(top - unit + 1));
    m += goes_up(mode, x->negative, m & 1, get_bit(x, unit - 1), any_below(x, unit - 1));
    /* The leading one of a normal number adds the first unit to the exponent field. */
    uint64_t bits = ((uint64_t)(unit - least) << f->mantissa) + m;
    return bits > f->max_finite ? too_large(f, x->negative, mode) : bits;
}

uint64_t exact_round(bc_kind kind, const exact *x, bc_RoundingMode mode)
{
    const exact_format *f = exact_format_of(kind);
    uint64_t bits;
    if (x->class_ == EXACT_NAN)
        bits = f->nan;
    else if (x->negative && !f->has_sign && kind != BC_F8E8M0FNU)
        bits = 0; /* undefined */
    else if (x->class_ == EXACT_INF)
        bits = infinity_of(f);
    else if (kind == BC_F8E8M0FNU)
        bits = round_power(x, mode);
    else
        bits = round_magnitude(f, x, mode);
    /* f8E5M2, f8E4M3FN and f4E2M1FN drop the sign of a NaN */
    if (f->has_sign && x->negative && x->class_ != EXACT_NAN)
        bits |= (uint64_t)1 << (f->exponent + f->mantissa);
    return kind == BC_TF32 ? bits << 13 : bits;
}

/* ---- integers ---- */

/* The low 64 bits of the integer part, and whether there are more. */
static uint64_t integer_part(const exact *x, bool *out_more)
{
    uint64_t m = window(x, -EXACT_LOW);
    *out_more = top_bit(x) >= 64 - EXACT_LOW;
    return m;
}

static uint64_t clamp_to_int(const exact *x, unsigned width, bool is_signed)
{
    bool more = false;
    uint64_t top = is_signed ? exact_mask(width - 1) : exact_mask(width), m = 0;
    if (x->class_ == EXACT_FINITE)
        m = integer_part(x, &more);
    if (x->class_ == EXACT_INF || more)
        m = UINT64_MAX;
    if (x->negative && !is_signed)
        return 0;
    if (x->negative)
        return m > top ? top + 1 : (0 - m) & exact_mask(width);
    return m > top ? top : m;
}

uint64_t exact_to_int(const exact *x, bc_kind from, unsigned width, bool is_signed, bool saturating)
{
    if (width == 1)
        return !is_zero(x);
    if (x->class_ == EXACT_NAN) {
        bool top_bit_set = !saturating && (width == 64 || (from == BC_F64 && width >= 16));
        return top_bit_set ? (uint64_t)1 << (width - 1) : 0;
    }
    if (width == 8 && !saturating)
        return clamp_to_int(x, 16, is_signed) & 0xFF;
    return clamp_to_int(x, width, is_signed);
}

/* ---- properties ---- */

bool exact_is_nan(bc_kind kind, uint64_t pattern)
{
    exact x;
    exact_of_float(&x, kind, pattern);
    return x.class_ == EXACT_NAN;
}

bool exact_is_subnormal(bc_kind kind, uint64_t pattern)
{
    const exact_format *f = exact_format_of(kind);
    uint64_t magnitude = pattern & exact_mask((unsigned)f->exponent + f->mantissa);
    return magnitude && magnitude >> f->mantissa == 0;
}

uint64_t exact_flush(bc_kind kind, uint64_t pattern)
{
    return exact_is_subnormal(kind, pattern) ? pattern & 0x80000000 : pattern;
}

uint64_t exact_round_flushed(bc_kind kind, const exact *x, bc_RoundingMode mode)
{
    uint64_t bits = exact_round(kind, x, mode), sign = bits & 0x80000000;
    bool away = mode == (sign ? BC_RoundingMode_negative_inf : BC_RoundingMode_positive_inf);
    bool nearest = mode == BC_RoundingMode_nearest_even;
    if (x->class_ != EXACT_FINITE)
        return bits;
    /* The numbers of 24 bits next to 2^-126 are 2^-150 below it and 2^-149 above; from the middle, nearest goes up. */
    exact magnitude = *x, least;
    magnitude.negative = false;
    exact_of_double(&least, nearest ? 0x1p-126 - 0x1p-151 : away ? 0x1p-126 - 0x1p-150 : 0x1p-126);
    int order = exact_compare(&magnitude, &least);
    return order < 0 || (away && order == 0) ? sign : bits;
}

long double exact_value(bc_kind kind, uint64_t pattern)
{
    exact x;
    long double v;
    int e;
    if (kind == BC_F32) {
        uint32_t bits = (uint32_t)pattern;
        float f;
        memcpy(&f, &bits, sizeof f);
        return (long double)f;
    }
    if (kind == BC_F64) {
        double d;
        memcpy(&d, &pattern, sizeof d);
        return (long double)d;
    }
    exact_of_float(&x, kind, pattern);
    if (x.class_ == EXACT_FINITE) {
        uint64_t m = digits_of(&x, &e);
        v = ldexpl((long double)m, e);
    } else {
        v = x.class_ == EXACT_NAN ? (long double)NAN : HUGE_VALL;
    }
    return x.negative ? -v : v;
}

double exact_ulps(bc_kind kind, uint64_t result, long double x)
{
    const exact_format *f = exact_format_of(kind);
    long double r = exact_value(kind, result);
    if (isnan(x) || isnan(r))
        return isnan(x) && isnan(r) ? 0 : HUGE_VAL;
    /* What is too large counts as the first power of two that is. */
    int top = (1 << f->exponent) - 1 - f->bias, exponent;
    long double limit = ldexpl(1, top);
    r = fabsl(r) > limit ? copysignl(limit, r) : r;
    x = fabsl(x) > limit ? copysignl(limit, x) : x;
    frexpl(x, &exponent); /* x = 0.5..1 * 2^exponent */
    int least = 1 - f->bias;
    exponent = exponent > top ? top : exponent;
    int unit = (x != 0 && exponent - 1 > least ? exponent - 1 : least) - f->mantissa;
    return (double)fabsl(ldexpl(r - x, -unit));
}
