/* Numbers as text, the way MLIR writes and reads them in attributes. Decimal and binary meet in big integers of fixed
   size, so every digit printed and every rounding is exact, for hostile input too: digits past the first 800 can only
   matter as "something follows", and exponents are cut off where the answer can no longer change. */
#include <stdio.h>
#include <string.h>

#include "bytecode/number/number.h"

/* ---- big integers ---- */

enum {
    BIG_LIMBS = 160,           /* 5120 bits: 800 digits next to 10^1130, or 2^1074 * 5^1074, with room to spare */
    MAX_DIGITS = 800,          /* no double needs more than 767 to be told from its neighbours' midpoint */
    MAX_DECIMAL_EXPONENT = 400 /* of the leading digit, either way: beyond every kind's range */
};

typedef struct big {
    unsigned count; /* limbs in use; the top one is not zero */
    uint32_t limb[BIG_LIMBS];
} big;

static void big_set(big *b, uint64_t value)
{
    b->count = 0;
    for (; value; value >>= 32)
        b->limb[b->count++] = (uint32_t)value;
}

/* b = b * factor + carry */
static void big_multiply_add(big *b, uint32_t factor, uint32_t carry)
{
    for (unsigned i = 0; i < b->count; i++) {
        uint64_t product = (uint64_t)b->limb[i] * factor + carry;
        b->limb[i] = (uint32_t)product;
        carry = (uint32_t)(product >> 32);
    }
    if (carry)
        b->limb[b->count++] = carry;
}

/* b = b * base^exponent; base is 5 or 10 */
static void big_multiply_power(big *b, uint32_t base, unsigned exponent)
{
    uint32_t chunk = base == 5 ? 1220703125u /* 5^13 */ : 1000000000u /* 10^9 */;
    unsigned step = base == 5 ? 13 : 9;
    for (; exponent >= step; exponent -= step)
        big_multiply_add(b, chunk, 0);
    for (; exponent; exponent--)
        big_multiply_add(b, base, 0);
}

static void big_divide(big *b, uint32_t divisor)
{
    uint64_t rest = 0;
    for (unsigned i = b->count; i-- > 0;) {
        rest = rest << 32 | b->limb[i];
        b->limb[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    while (b->count && b->limb[b->count - 1] == 0)
        b->count--;
}

static void big_shift_left(big *b, unsigned bits)
{
    unsigned limbs = bits / 32;
    if (b->count == 0)
        return;
    big_multiply_add(b, (uint32_t)1 << bits % 32, 0);
    memmove(b->limb + limbs, b->limb, b->count * sizeof b->limb[0]);
    memset(b->limb, 0, limbs * sizeof b->limb[0]);
    b->count += limbs;
}

static unsigned big_bits(const big *b)
{
    unsigned bits = b->count * 32;
    if (b->count)
        for (uint32_t top = b->limb[b->count - 1]; !(top >> 31); top <<= 1)
            bits--;
    return bits;
}

static int big_compare(const big *a, const big *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (unsigned i = a->count; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* a -= b, where b is not larger */
static void big_subtract(big *a, const big *b)
{
    uint64_t borrow = 0;
    for (unsigned i = 0; i < a->count; i++) {
        uint64_t take = (i < b->count ? b->limb[i] : 0) + borrow;
        borrow = a->limb[i] < take;
        a->limb[i] = (uint32_t)(a->limb[i] - take);
    }
    while (a->count && a->limb[a->count - 1] == 0)
        a->count--;
}

/* The top 64 bits, fewer if there are fewer; what is below them only as "something". */
static uint64_t big_top(const big *b, int32_t *out_exponent, bool *out_sticky)
{
    unsigned bits = big_bits(b), low = bits > 64 ? bits - 64 : 0;
    uint64_t top = 0;
    *out_sticky = false;
    for (unsigned i = 0; i < b->count; i++) {
        uint64_t limb = b->limb[i];
        if (i * 32 + 32 <= low)
            *out_sticky |= limb != 0;
        else if (i * 32 < low) {
            *out_sticky |= (limb & ((1u << (low - i * 32)) - 1)) != 0;
            top |= limb >> (low - i * 32);
        } else
            top |= limb << (i * 32 - low);
    }
    *out_exponent = (int32_t)low;
    return top;
}

/* ---- decimal to binary ---- */

/* (-1)^negative * 0.d1d2d3... * 10^point */
typedef struct decimal {
    bool negative;
    bool more;      /* digits that are not all zero follow the ones kept */
    unsigned count; /* digits kept; 0 for zero, else the first one is not 0 */
    int32_t point;
    uint8_t digit[MAX_DIGITS];
} decimal;

/* The digits as an integer. */
static void big_from_decimal(big *n, const decimal *d)
{
    big_set(n, 0);
    for (unsigned i = 0; i < d->count;) {
        uint32_t chunk = 0, power = 1;
        for (unsigned k = 0; k < 9 && i < d->count; k++, power *= 10)
            chunk = chunk * 10 + d->digit[i++];
        big_multiply_add(n, power, chunk);
    }
}

/* n / divisor as 63 or 64 bits and an exponent; neither is zero. Destroys both. Long division, a bit at a time. */
static uint64_t big_quotient(big *n, big *divisor, int32_t *out_exponent, bool *out_sticky)
{
    unsigned have = big_bits(n), need = big_bits(divisor);
    uint64_t quotient = 0;

    if (have < need)
        big_shift_left(n, need - have);
    else
        big_shift_left(divisor, have - need);
    for (unsigned i = 0; i < 64; i++) {
        quotient <<= 1;
        if (big_compare(n, divisor) >= 0) {
            big_subtract(n, divisor);
            quotient |= 1;
        }
        big_shift_left(n, 1);
    }
    *out_exponent = (int32_t)have - (int32_t)need - 63;
    *out_sticky = n->count != 0;
    return quotient;
}

/* The pattern nearest to d. False when its magnitude rounds to more than the largest finite one. */
static bool decimal_to_float(const decimal *d, bc_kind kind, uint64_t *out_bits)
{
    uint64_t top = 0;
    int32_t exponent = 0;
    bool sticky = false, overflow;

    if (d->count && d->point > MAX_DECIMAL_EXPONENT)
        return false;
    if (d->count && d->point < -MAX_DECIMAL_EXPONENT) {
        top = 1; /* anything this small */
        exponent = -2000;
    } else if (d->count) {
        big n, divisor;
        int32_t scale = d->point - (int32_t)d->count;
        big_from_decimal(&n, d);
        if (scale >= 0) {
            big_multiply_power(&n, 10, (unsigned)scale);
            top = big_top(&n, &exponent, &sticky);
        } else {
            big_set(&divisor, 1);
            big_multiply_power(&divisor, 10, (unsigned)-scale);
            top = big_quotient(&n, &divisor, &exponent, &sticky);
        }
    }
    *out_bits = bc_float_join_checked(kind, d->negative, top, exponent, sticky || d->more, BC_RoundingMode_nearest_even,
                                      &overflow);
    return !overflow;
}

/* ---- printing ---- */

/* digits * 10^exponent, digits without trailing zeros */
typedef struct shortened {
    uint64_t digits;
    unsigned count;
    int32_t exponent;
} shortened;

/* x to at most `wanted` (6..17) significant digits. Not the nearest: MLIR first drops whole decimal digits while more
   bits remain than `wanted` digits can need, then rounds half up what is left, so now and then this truncates. */
static shortened shorten(const bc_float_parts *x, unsigned wanted)
{
    uint64_t odd = x->significand;
    shortened s = {.exponent = x->exponent};
    big n;

    for (; !(odd & 1); odd >>= 1)
        s.exponent++;
    big_set(&n, odd);
    if (s.exponent > 0) {
        big_shift_left(&n, (unsigned)s.exponent);
        s.exponent = 0;
    } else {
        big_multiply_power(&n, 5, (unsigned)-s.exponent); /* N * 2^-e = N * 5^e * 10^-e */
    }
    unsigned bits = big_bits(&n), enough = (wanted * 196 + 58) / 59; /* 196/59: log2(10) from above */
    unsigned excess = bits > enough ? (bits - enough) * 59 / 196 : 0;
    s.exponent += (int32_t)excess;
    for (; excess >= 9; excess -= 9)
        big_divide(&n, 1000000000);
    for (; excess; excess--)
        big_divide(&n, 10);

    int32_t no_exponent;
    bool no_sticky;
    s.digits = big_top(&n, &no_exponent, &no_sticky);
    for (uint64_t rest = s.digits; rest; rest /= 10)
        s.count++;
    for (bool up = false; s.count > wanted; s.count--, s.exponent++) {
        up = s.count == wanted + 1 && s.digits % 10 >= 5;
        s.digits = s.digits / 10 + up;
    }
    for (; s.digits % 10 == 0; s.digits /= 10, s.exponent++)
        s.count--;
    return s;
}

static bool gives_back(const shortened *s, bool negative, bc_kind kind, uint64_t bits)
{
    decimal d = {.negative = negative, .count = s->count, .point = s->exponent + (int32_t)s->count};
    uint64_t rest = s->digits, again;
    for (unsigned i = s->count; i-- > 0; rest /= 10)
        d.digit[i] = (uint8_t)(rest % 10);
    return decimal_to_float(&d, kind, &again) && again == bits;
}

/* d.ddd e+dd. At least `decimals` digits after the point, at least exponent_digits in the exponent. */
static void print_scientific(bc_text *out, const shortened *s, unsigned decimals, char letter, int exponent_digits)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)s->digits);
    int32_t exponent = s->exponent + length - 1;

    bc_text_char(out, digits[0]);
    bc_text_char(out, '.');
    bc_text_puts(out, digits + 1);
    for (unsigned i = (unsigned)length - 1; i < decimals; i++)
        bc_text_char(out, '0');
    bc_text_printf(out, "%c%c%0*d", letter, exponent < 0 ? '-' : '+', exponent_digits,
                   exponent < 0 ? -exponent : exponent);
}

/* The form with up to `wanted` digits: plain unless the exponent is far off. False, and nothing printed, where it would
   have no decimal point. */
static bool print_long(bc_text *out, const shortened *s, bool negative, unsigned wanted)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)s->digits);
    int32_t whole = s->exponent + length; /* digits before the point; also the exponent of the leading one, plus 1 */
    bool scientific = s->exponent >= 0 ? s->exponent > 3 || whole > (int32_t)wanted : whole < -2;

    if (!scientific && s->exponent >= 0)
        return false;
    if (negative)
        bc_text_char(out, '-');
    if (scientific) {
        print_scientific(out, s, 1, 'E', 1);
    } else if (whole > 0) {
        bc_text_bytes(out, digits, (size_t)whole);
        bc_text_char(out, '.');
        bc_text_puts(out, digits + whole);
    } else {
        bc_text_puts(out, "0.");
        for (; whole < 0; whole++)
            bc_text_char(out, '0');
        bc_text_puts(out, digits);
    }
    return true;
}

void bc_print_float(bc_text *out, bc_kind kind, uint64_t bits)
{
    const bc_float_format *f = bc_float_format_of(kind);
    bits &= bc_int_mask(bc_kind_bits(kind));
    bc_float_parts x = bc_float_split(kind, bits);

    if (x.class_ == BC_FLOAT_ZERO) {
        bc_text_puts(out, x.negative ? "-0.000000e+00" : "0.000000e+00");
        return;
    }
    if (x.class_ == BC_FLOAT_FINITE) {
        shortened s = shorten(&x, 6);
        if (gives_back(&s, x.negative, kind, bits)) {
            if (x.negative)
                bc_text_char(out, '-');
            print_scientific(out, &s, 6, 'e', 2);
            return;
        }
        unsigned wanted = 2 + (f->mantissa_bits + 1u) * 59 / 196;
        s = shorten(&x, wanted);
        if (print_long(out, &s, x.negative, wanted))
            return;
    }
    bc_text_printf(out, "0x%llX", (unsigned long long)bits);
}

void bc_print_int(bc_text *out, bc_kind kind, uint64_t bits)
{
    if (kind == BC_I1)
        bc_text_puts(out, bits & 1 ? "true" : "false");
    else
        bc_text_printf(out, "%lld", (long long)bc_int_sign_extend(bits, bc_kind_bits(kind)));
}

void bc_print_number(bc_text *out, bc_kind kind, uint64_t bits)
{
    if (bc_kind_in(kind, BC_SET_FLOAT))
        bc_print_float(out, kind, bits);
    else
        bc_print_int(out, kind, bits);
}

/* ---- parsing: each gives NULL, or what is wrong ---- */

static const char not_a_number[] = "is not a number";
static const char no_point[] = "has no decimal point; write 1.0, or the bit pattern in hexadecimal";
static const char too_large[] = "is out of range for its type";
static const char too_wide[] = "has more bits than its type";
static const char no_sign[] = "is negative, but its type has no sign";
static const char signed_pattern[] = "is a bit pattern with a sign; put the sign into the pattern";

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(tv_str s)
{
    return s.len > 2 && s.ptr[0] == '0' && (s.ptr[1] == 'x' || s.ptr[1] == 'X');
}

static bool take_sign(tv_str *s)
{
    bool negative = s->len && s->ptr[0] == '-';
    if (s->len && (negative || s->ptr[0] == '+')) {
        s->ptr++;
        s->len--;
    }
    return negative;
}

static const char *parse_hex(tv_str s, unsigned width, uint64_t *out_bits)
{
    uint64_t bits = 0;
    bool wide = false;
    for (size_t i = 2; i < s.len; i++) {
        char c = s.ptr[i];
        char lower = (char)(c | 0x20);
        if (!is_digit(c) && !(lower >= 'a' && lower <= 'f'))
            return not_a_number;
        wide |= bits >> 60 != 0;
        bits = bits << 4 | (uint64_t)(is_digit(c) ? c - '0' : lower - 'a' + 10);
    }
    if (wide || bits & ~bc_int_mask(width))
        return too_wide;
    *out_bits = bits;
    return NULL;
}

static void add_digit(decimal *d, char c)
{
    if (d->count == 0 && c == '0')
        return;
    if (d->count < MAX_DIGITS)
        d->digit[d->count++] = (uint8_t)(c - '0');
    else
        d->more |= c != '0';
}

/* What follows the e. */
static const char *parse_exponent(tv_str s, int64_t *out_exponent)
{
    const int64_t enough = (int64_t)1 << 60; /* more than any text has digits */
    int64_t exponent = 0;
    bool negative = take_sign(&s);
    if (s.len == 0)
        return not_a_number;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]))
            return not_a_number;
        exponent = exponent > enough / 10 ? enough : exponent * 10 + (s.ptr[i] - '0');
    }
    *out_exponent = negative ? -exponent : exponent;
    return NULL;
}

/* Digits with a point, without sign. */
static const char *parse_decimal(tv_str s, decimal *d)
{
    int64_t point = 0, exponent = 0; /* digits before the point, less the zeros that lead the number */
    size_t i = 0;
    for (; i < s.len && is_digit(s.ptr[i]); i++) {
        add_digit(d, s.ptr[i]);
        point += d->count != 0;
    }
    if (i == 0)
        return not_a_number;
    if (i == s.len)
        return no_point;
    if (s.ptr[i] != '.')
        return not_a_number;
    for (i++; i < s.len && is_digit(s.ptr[i]); i++) {
        add_digit(d, s.ptr[i]);
        point -= d->count == 0;
    }
    if (i < s.len) {
        if ((s.ptr[i] | 0x20) != 'e')
            return not_a_number;
        const char *problem = parse_exponent((tv_str){s.ptr + i + 1, s.len - i - 1}, &exponent);
        if (problem)
            return problem;
    }
    point += exponent;
    const int64_t limit = 2 * MAX_DECIMAL_EXPONENT;
    d->point = (int32_t)(point > limit ? limit : point < -limit ? -limit : point);
    return NULL;
}

static const char *parse_float(tv_str s, bc_kind kind, uint64_t *out_bits)
{
    decimal d;
    size_t length = s.len;
    d.count = 0;
    d.more = false;
    d.negative = take_sign(&s);
    if (is_hex(s))
        return s.len < length ? signed_pattern : parse_hex(s, bc_kind_bits(kind), out_bits);
    const char *problem = parse_decimal(s, &d);
    if (problem)
        return problem;
    if (d.negative && !bc_float_format_of(kind)->has_sign)
        return no_sign;
    uint64_t bits;
    if (!decimal_to_float(&d, kind, &bits))
        return too_large;
    *out_bits = bits;
    return NULL;
}

static const char *parse_int(tv_str s, bc_kind kind, uint64_t *out_bits)
{
    unsigned width = bc_kind_bits(kind);
    uint64_t magnitude = 0;
    bool is_true = bc_str_is(s, "true");

    if (kind == BC_I1 && (is_true || bc_str_is(s, "false"))) {
        *out_bits = is_true;
        return NULL;
    }
    bool negative = take_sign(&s);
    if (is_hex(s)) {
        const char *problem = parse_hex(s, width, &magnitude);
        if (problem)
            return problem;
    } else {
        if (s.len == 0)
            return not_a_number;
        for (size_t i = 0; i < s.len; i++) {
            if (!is_digit(s.ptr[i]))
                return not_a_number;
            unsigned digit = (unsigned)(s.ptr[i] - '0');
            if (magnitude > (UINT64_MAX - digit) / 10)
                return too_large;
            magnitude = magnitude * 10 + digit;
        }
    }
    if (magnitude > (negative ? (uint64_t)1 << (width - 1) : bc_int_mask(width)))
        return too_large;
    *out_bits = (negative ? 0 - magnitude : magnitude) & bc_int_mask(width);
    return NULL;
}

static const char *parse_number(tv_str s, bc_kind kind, uint64_t *out_bits)
{
    return bc_kind_in(kind, BC_SET_FLOAT) ? parse_float(s, kind, out_bits) : parse_int(s, kind, out_bits);
}

bool bc_parse_float(tv_str s, bc_kind kind, uint64_t *out_bits)
{
    return parse_float(s, kind, out_bits) == NULL;
}

bool bc_parse_int(tv_str s, bc_kind kind, uint64_t *out_bits)
{
    return parse_int(s, kind, out_bits) == NULL;
}

bool bc_parse_number(tv_str s, bc_kind kind, uint64_t *out_bits)
{
    return parse_number(s, kind, out_bits) == NULL;
}

const char *bc_parse_problem(tv_str s, bc_kind kind)
{
    uint64_t ignored;
    return parse_number(s, kind, &ignored);
}
