/* Exponentials, logarithms, powers, hyperbolic functions.

   All go through two of them that carry a pair of numbers: e^(high + low), and the logarithm as a pair. */
#include "codegen/math/math.h"
#include "codegen/ptx/ptx.h"

/* ---- e^x ---- */

/* (value.high + value.low) * 2^n; n is a 32-bit register. */
typedef struct power {
    cg_pair value;
    cg_val n;
} power;

static cg_val to_int(const cg_real *k, cg_val x)
{
    cg_val n = cg_new(k->c, CG_B32);
    cg_ins(k->c, "cvt.rzi.s32.%s %v, %v", k->wide ? "f64" : "f32", n, x);
    return n;
}

/* e^(r.high + r.low) for |r| <= ln 2 / 2, as 1 + what this gives. */
static cg_pair small_power(const cg_real *k, cg_pair r)
{
    cg_val low = r_fma(k, r.low, r.high, r.low);
    cg_val square = r_mul(k, r.high, r.high);
    return r_fast_two_sum(k, r.high, r_fma(k, square, r_polynomial(k, CG_EXP_F32, r.high), low));
}

static cg_pair one_and(const cg_real *k, cg_pair t)
{
    cg_pair sum = r_fast_two_sum(k, r_number(k, 1), t.high);
    sum.low = r_add(k, sum.low, t.low);
    return sum;
}

/* x = n ln 2 + r. The first part of ln 2 has so few bits that the first step is exact. */
static cg_pair reduce(const cg_real *k, cg_pair x, cg_val *out_n)
{
    cg_val n = r_rint(k, r_mul(k, x.high, r_part(k, CG_LOG2_E_F32, 0))), minus = r_neg(k, n);
    cg_val first = r_fma(k, minus, r_part(k, CG_LN_2_F32, 0), x.high);
    cg_val high = r_fma(k, minus, r_part(k, CG_LN_2_F32, 1), first);
    cg_val low = r_fma(k, minus, r_part(k, CG_LN_2_F32, 1), r_sub(k, first, high));
    *out_n = to_int(k, n);
    return r_fast_two_sum(k, high, r_add(k, low, x.low)); /* x.low may count: x is larger than r */
}

/* |x| is at most what r_scale takes. */
static power power_of(const cg_real *k, cg_pair x)
{
    power p;
    cg_pair r = reduce(k, x, &p.n);
    p.value = one_and(k, small_power(k, r));
    return p;
}

/* Beyond these the result is 0 or Inf. */
static cg_val exp_limit(const cg_real *k)
{
    return r_either(k, 110, 750);
}

/* 2^n e^r for |r| <= ln 2 / 2; n is the end of what t, a sum with 1.5 2^52, is made of. In f64. */
static cg_val scaled_power(const cg_real *k, cg_val r, cg_val t)
{
    cg_val n = cg_new(k->c, CG_B32), upper = cg_new(k->c, CG_B32), one = r_number(k, 1);
    cg_ins(k->c, "mov.b64 {%v, %v}, %v", n, upper, t);
    return r_scale(k, r_fma(k, r_fma(k, r_polynomial(k, CG_EXP_F32, r), r, one), r, one), n);
}

/* In f64: x = n ln 2 + r, where n times the first part of ln 2 is exact. */
cg_val cg_math_exp(const cg_real *k, const cg_val *x)
{
    cg_val limited = r_clamp(k, x[0], exp_limit(k)), shift = r_number(k, 0x1.8p52);
    cg_val t = r_fma(k, limited, r_part(k, CG_LOG2_E_F32, 0), shift), n = r_sub(k, t, shift);
    cg_val r = r_fma(k, n, r_minus_part(k, CG_LN_2_F32, 0), limited);
    return scaled_power(k, r_fma(k, n, r_minus_part(k, CG_LN_2_F32, 1), r), t);
}

/* 2^n 2^f, |f| <= 1/2 and some. n, from -126 to 127, is the end of what the sum with 1.5 2^23 is made of, as the
   exponent of a number; the fraction of 253 that it is cannot leave 0 to 1. Where x log2(e) is beyond, so is f, and
   2^f 2^n is subnormal, 0 or Inf: rounded once, and less exact by less than such a number tells. NaN makes f one. */
cg_val cg_math_exp_f32(const cg_real *k, const cg_val *x)
{
    enum { BIAS = 127, LEAST = 126, STEPS = 253, MANTISSA = 23 };
    const double shift = 0x1.8p23;
    cg_val log2_e = r_part(k, CG_LOG2_E_F32, 0), part = r_number(k, 0x1.715476p0 / STEPS);
    cg_val of_steps = r_op(k, "fma.rn.sat", 3, x[0], part, r_number(k, (double)LEAST / STEPS));
    cg_val n = r_fma(k, of_steps, r_number(k, STEPS), r_number(k, shift + BIAS - LEAST));
    cg_val f = r_fma(k, x[0], log2_e, r_sub(k, r_number(k, shift + BIAS), n));
    f = r_fma(k, x[0], r_part(k, CG_LOG2_E_F32, 1), f);
    cg_val factor = cg_int_op(k->c, "shl.b32", n, cg_const(CG_B32, MANTISSA));
    return r_mul(k, r_op(k, "ex2.approx.ftz", 1, f, f, f), factor);
}

/* In f64; f32 has an instruction. */
cg_val cg_math_exp2(const cg_real *k, const cg_val *x)
{
    cg_val limited = r_clamp(k, x[0], r_number(k, 1080)), shift = r_number(k, 0x1.8p52);
    cg_val t = r_add(k, limited, shift), rest = r_sub(k, limited, r_sub(k, t, shift));
    cg_val r = r_mul(k, rest, r_part(k, CG_LN_2_PAIR_F32, 0));
    return scaled_power(k, r_fma(k, rest, r_part(k, CG_LN_2_PAIR_F32, 1), r), t);
}

/* ---- 1 / x of normal numbers, f64 ---- */

/* What the instruction gives, within 2^-20 of 1 / x. */
static cg_val near_inverse(const cg_real *k, cg_val x)
{
    return r_op(k, "rcp.approx.ftz", 1, x, x, x);
}

/* 1 / x within 2^-60, but for the rounding, from q, which is near it: q (1 + e + e^2) for e = 1 - q x. */
static cg_val inverse_from(const cg_real *k, cg_val q, cg_val e)
{
    return r_fma(k, q, r_fma(k, e, e, e), q);
}

/* ---- logarithm ---- */

/* x = m 2^n with m from sqrt(1/2) to sqrt(2), for x > 0; n comes as a number of the type. */
static cg_val split(const cg_real *k, cg_val x, cg_val *out_n)
{
    cg_func *c = k->c;
    cg_class cls = r_class(k);
    unsigned width = k->wide ? 64 : 32, mantissa = k->wide ? 52 : 23;
    cg_val subnormal = r_test(k, "lt", x, r_either(k, 0x1p-126, 0x1p-1022));
    cg_val scaled = r_select(k, subnormal, r_mul(k, x, r_either(k, 0x1p24, 0x1p54)), x);
    cg_val above = cg_new(c, cls), n = cg_new(c, cls), shifted = cg_new(c, cls), m = cg_new(c, cls),
           number = cg_new(c, cls);
    cg_val least = cg_reg(c, r_bits(k, 0x3f3504f3, UINT64_C(0x3fe6a09e667f3bcd))); /* sqrt(1/2) */
    cg_ins(c, "sub.s%u %v, %v, %v", width, above, scaled, least);
    cg_ins(c, "shr.s%u %v, %v, %u", width, n, above, mantissa);
    cg_ins(c, "shl.b%u %v, %v, %u", width, shifted, n, mantissa);
    cg_ins(c, "sub.s%u %v, %v, %v", width, m, scaled, shifted);
    cg_ins(c, "cvt.rn.f%u.s%u %v, %v", width, width, number, n);
    *out_n = r_select(k, subnormal, r_sub(k, number, r_either(k, 24, 54)), number);
    return m;
}

/* ln m = 2 atanh(s) = 2 (s + s z (1/3 + z P(z))), s = (m - 1) / (m + 1), z = s^2. */
static cg_pair log_of_mantissa(const cg_real *k, cg_val m)
{
    cg_val one = r_number(k, 1), sum = r_add(k, m, one);
    cg_pair under = {sum, r_sub(k, m, r_sub(k, sum, one))}, over = {r_sub(k, m, one), r_number(k, 0)};
    cg_pair s = r_pair_quotient(k, over, under), z = r_pair_product(k, s, s);
    cg_val rest = r_mul(k, z.high, r_polynomial(k, CG_LOG_F32, z.high));
    cg_pair third = r_fast_two_sum(k, r_part(k, CG_THIRD_F32, 0), rest);
    third.low = r_add(k, third.low, r_part(k, CG_THIRD_F32, 1));
    cg_pair v = r_pair_product(k, s, r_pair_product(k, z, third));
    cg_pair t = r_fast_two_sum(k, s.high, v.high);
    cg_val low = r_add(k, t.low, r_add(k, s.low, v.low));
    t = r_fast_two_sum(k, t.high, low);
    cg_val high = r_add(k, t.high, t.high);
    return (cg_pair){high, r_add(k, t.low, t.low)};
}

/* ln x for finite x > 0. */
static cg_pair log_of(const cg_real *k, cg_val x)
{
    cg_val n;
    cg_pair m = log_of_mantissa(k, split(k, x, &n));
    cg_pair sum = r_fast_two_sum(k, r_mul(k, n, r_part(k, CG_LN_2_F32, 0)), m.high);
    cg_val low = r_add(k, sum.low, r_fma(k, n, r_part(k, CG_LN_2_F32, 1), m.low));
    return r_fast_two_sum(k, sum.high, low);
}

/* What a logarithm is where x is 0, negative, Inf or NaN. */
static cg_val log_special(const cg_real *k, cg_val x, cg_val result)
{
    cg_val zero = r_number(k, 0), inf = r_infinity(k);
    result = r_select(k, r_test(k, "lt", x, inf), result, x); /* Inf and NaN */
    result = r_select(k, r_test(k, "lt", x, zero), r_nan(k), result);
    return r_select(k, r_test(k, "eq", x, zero), r_bits(k, 0xff800000, UINT64_C(0xfff0000000000000)), result);
}

/* In f64, with less of what is left over: s = f / (2 + f) for f = m - 1, and u = 2 s is off by (2 f - u (2 + f)) / (2 +
   f), which counts. Then ln x = n ln 2 + u + u z (1/3 + z P(z)), z = s^2. */
cg_val cg_math_log(const cg_real *k, const cg_val *x)
{
    cg_val n, m = split(k, x[0], &n), one = r_number(k, 1), f = r_sub(k, m, one), sum = r_add(k, m, one);
    cg_val q = near_inverse(k, sum), inverse = inverse_from(k, q, r_fma(k, r_neg(k, sum), q, one));
    cg_val s = r_mul(k, f, inverse), u = r_add(k, s, s), rest = r_sub(k, f, u), z = r_mul(k, s, s);
    cg_val twice = r_add(k, rest, rest);
    rest = r_mul(k, r_fma(k, r_neg(k, u), f, twice), inverse);
    cg_val series = r_mul(k, z, r_fma(k, z, r_polynomial(k, CG_LOG_F32, z), r_part(k, CG_THIRD_F32, 0)));
    cg_val high = r_fma(k, n, r_part(k, CG_LN_2_F32, 0), u);
    cg_val low = r_add(k, u, r_fma(k, n, r_part(k, CG_LN_2_F32, 0), r_neg(k, high)));
    low = r_add(k, low, r_fma(k, u, series, rest));
    return log_special(k, x[0], r_add(k, high, r_fma(k, n, r_part(k, CG_LN_2_F32, 1), low)));
}

cg_val cg_math_log2(const cg_real *k, const cg_val *x)
{
    cg_val n;
    cg_pair m = log_of_mantissa(k, split(k, x[0], &n));
    m = r_pair_product(k, m, (cg_pair){r_part(k, CG_LOG2_E_F32, 0), r_part(k, CG_LOG2_E_F32, 1)});
    cg_pair sum = r_fast_two_sum(k, n, m.high);
    return log_special(k, x[0], r_add(k, sum.high, r_add(k, sum.low, m.low)));
}

/* log, log2 and tanh of f32 give the bits of CUDA's functions: their coefficients and the order of operations are such
   that all results agree which were measured of those (codegen/math/coefficients.py, docs/reference/numerics.md). */

/* x = m 2^n with m from the number with the bits least to twice that, for x > 0: m - 1, exactly. n comes as a number
   and times 2^23. */
static cg_val split_f32(const cg_real *k, cg_val x, uint32_t least, cg_val *out_n)
{
    cg_func *c = k->c;
    cg_val subnormal = r_test(k, "lt", x, r_number(k, 0x1p-126)), number = cg_new(c, CG_B32);
    cg_val scaled = r_select(k, subnormal, r_mul(k, x, r_number(k, 0x1p23)), x);
    cg_val above = cg_int_op(c, "sub.s32", scaled, cg_const(CG_B32, least));
    cg_val n = cg_int_op(c, "and.b32", above, cg_const(CG_B32, 0xff800000));
    cg_ins(c, "cvt.rn.f32.s32 %v, %v", number, n);
    *out_n = r_add(k, number, r_select(k, subnormal, r_number(k, -23 * 0x1p23), r_number(k, 0)));
    return r_sub(k, cg_int_op(c, "sub.s32", scaled, n), r_number(k, 1));
}

/* The same of f32 in fewer instructions: Inf, NaN and negative numbers are those whose bits are no less than Inf's,
   and x Inf + Inf is Inf, NaN and NaN there. */
static cg_val log_special_f32(const cg_real *k, cg_val x, cg_val result)
{
    cg_val inf = r_infinity(k), outside = cg_new(k->c, CG_PRED);
    cg_ins(k->c, "setp.ge.u32 %v, %v, %v", outside, x, inf);
    result = r_select(k, outside, r_fma(k, x, inf, inf), result);
    return r_select(k, r_test(k, "eq", x, r_number(k, 0)), r_bits(k, 0xff800000, 0), result);
}

cg_val cg_math_log_f32(const cg_real *k, const cg_val *x)
{
    cg_val n, r = split_f32(k, x[0], 0x3f2aaaab, &n); /* 2/3 */
    cg_val of_m = r_fma(k, r_mul(k, r_polynomial(k, CG_LOG_1P_F32, r), r), r, r);
    return log_special_f32(k, x[0], r_fma(k, n, r_number(k, 0x1.62e43p-24), of_m)); /* ln 2 2^-23 */
}

cg_val cg_math_log2_f32(const cg_real *k, const cg_val *x)
{
    cg_val n, r = split_f32(k, x[0], 0x3f3504f3, &n); /* sqrt(1/2) */
    cg_val rest = r_mul(k, r_mul(k, r_polynomial(k, CG_LOG2_1P_F32, r), r), r);
    cg_val of_m = r_fma(k, r, r_part(k, CG_LOG2_E_F32, 0), rest);
    return log_special_f32(k, x[0], r_fma(k, n, r_number(k, 0x1p-23), of_m));
}

/* ---- powers: C's pow ---- */

/* |x|^(y.high + y.low); x is neither 0 nor Inf. */
static cg_val magnitude_power(const cg_real *k, cg_val x, cg_pair y)
{
    cg_pair product = r_pair_product(k, log_of(k, r_abs(k, x)), y);
    product = r_fast_two_sum(k, product.high, product.low);
    cg_val limit = exp_limit(k), beyond = r_test(k, "gt", r_abs(k, product.high), limit);
    product.high = r_select(k, beyond, r_copysign(k, limit, product.high), product.high);
    product.low = r_select(k, beyond, r_number(k, 0), product.low);
    power p = power_of(k, product);
    return r_scale(k, r_add(k, p.value.high, p.value.low), p.n);
}

/* The power where x is 0 or Inf, else result. */
static cg_val end_of_range(const cg_real *k, cg_val x, cg_val y_negative, cg_val result)
{
    cg_val zero = r_number(k, 0), inf = r_infinity(k), size = r_abs(k, x);
    cg_val of_zero = r_select(k, y_negative, inf, zero);
    result = r_select(k, r_test(k, "eq", size, zero), of_zero, result);
    cg_val of_inf = r_select(k, y_negative, zero, inf);
    return r_select(k, r_test(k, "eq", size, inf), of_inf, result);
}

cg_val cg_math_pow(const cg_real *k, const cg_val *x)
{
    cg_val zero = r_number(k, 0), one = r_number(k, 1), base = x[0], inf = r_infinity(k);
    cg_val y = r_clamp(k, x[1], r_either(k, 0x1p64, 0x1p100)); /* more gives 0 or Inf too, unless |x| is 1 */
    cg_val result = magnitude_power(k, base, (cg_pair){y, zero});
    result = end_of_range(k, base, r_test(k, "lt", y, zero), result);
    cg_val half = r_mul(k, y, r_number(k, 0.5)), negative = r_test(k, "lt", base, zero);
    cg_val fraction = r_test(k, "neu", r_rint(k, y), y), odd = r_test(k, "neu", r_rint(k, half), half);
    cg_val flipped = r_select(k, odd, r_copysign(k, result, base), result);
    result = r_select(k, fraction, result, flipped);
    cg_val finite = r_test(k, "lt", r_abs(k, base), inf);
    cg_val root = r_select(k, fraction, r_select(k, finite, r_nan(k), result), result);
    result = r_select(k, negative, root, result);
    result = r_select(k, r_test(k, "nan", base, x[1]), r_nan(k), result);
    result = r_select(k, r_test(k, "eq", base, one), one, result);
    return r_select(k, r_test(k, "eq", x[1], zero), one, result);
}

/* x[1]: a 32-bit integer, as two numbers whose sum is exact. */
cg_val cg_math_powi(const cg_real *k, const cg_val *x)
{
    cg_func *c = k->c;
    const char *type = k->wide ? "f64" : "f32";
    cg_val base = x[0], y = x[1], high = cg_new(c, r_class(k)), low = cg_new(c, r_class(k));
    cg_ins(c, "cvt.rn.%s.s32 %v, %v", type, high, cg_int_op(c, "and.b32", y, cg_const(CG_B32, 0xfffff000)));
    cg_ins(c, "cvt.rn.%s.s32 %v, %v", type, low, cg_int_op(c, "and.b32", y, cg_const(CG_B32, 0xfff)));
    cg_val result = magnitude_power(k, base, r_two_sum(k, high, low));
    cg_val negative = cg_new(c, CG_PRED), odd = cg_new(c, CG_PRED), none = cg_new(c, CG_PRED);
    cg_ins(c, "setp.lt.s32 %v, %v, 0", negative, y);
    cg_ins(c, "setp.ne.s32 %v, %v, 0", odd, cg_int_op(c, "and.b32", y, cg_const(CG_B32, 1)));
    cg_ins(c, "setp.eq.s32 %v, %v, 0", none, y);
    result = end_of_range(k, base, negative, result);
    result = r_select(k, odd, r_copysign(k, result, base), result);
    result = r_select(k, r_test(k, "nan", base, base), base, result);
    return r_select(k, none, r_number(k, 1), result);
}

/* ---- hyperbolic functions ---- */

/* In f64: (e^x + sign e^-x) / 2 for x >= 0, as a pair times 2^n: the smaller term only counts while n is small. */
static cg_val half_sum(const cg_real *k, cg_val x, bool minus)
{
    cg_func *c = k->c;
    cg_val limit = exp_limit(k), size = r_abs(k, x);
    size = r_select(k, r_test(k, "gt", size, limit), limit, size);
    power p = power_of(k, (cg_pair){size, r_number(k, 0)});
    cg_val twice = cg_int_op(c, "add.s32", p.n, p.n), most = cg_const(CG_B32, 1000);
    twice = cg_int_op(c, "min.s32", twice, most);
    cg_val negated = cg_int_op(c, "sub.s32", cg_reg(c, cg_const(CG_B32, 0)), twice);
    cg_val inverse = r_op(k, "rcp.rn", 1, p.value.high, limit, limit);
    cg_val other = r_mul(k, inverse, r_power_of_two(k, negated));
    cg_pair sum = r_two_sum(k, p.value.high, minus ? r_neg(k, other) : other);
    cg_val total = r_add(k, sum.high, r_add(k, sum.low, p.value.low));
    return r_scale(k, total, cg_int_op(c, "sub.s32", p.n, cg_const(CG_B32, 1)));
}

cg_val cg_math_cosh(const cg_real *k, const cg_val *x)
{
    return half_sum(k, x[0], false);
}

/* x + x z P(z) */
static cg_val odd_polynomial(const cg_real *k, cg_coefficients row, cg_val x)
{
    cg_val z = r_mul(k, x, x), factor = r_polynomial(k, row, z);
    return r_fma(k, r_mul(k, x, z), factor, x);
}

cg_val cg_math_sinh(const cg_real *k, const cg_val *x)
{
    cg_val large = r_copysign(k, half_sum(k, x[0], true), x[0]), small = odd_polynomial(k, CG_SINH_F32, x[0]);
    return r_select(k, r_test(k, "lt", r_abs(k, x[0]), r_number(k, 1)), small, large);
}

/* In f64: 1 - 2 / (e^2x + 1) where x is large enough; from 20 on it is 1. Integers double and limit |x| by its upper
   half, and NaN too, so that this one must be `small`. One part of ln 2 is enough: its error times n is less than what
   e^-2x leaves of it. */
cg_val cg_math_tanh(const cg_real *k, const cg_val *x)
{
    const uint32_t twenty = 0x40340000, doubling = 0x00100000; /* upper halves of 20, and what multiplies by 2 */
    cg_func *c = k->c;
    cg_val size = r_abs(k, x[0]), one = r_number(k, 1), shift = r_number(k, 0x1.8p52);
    cg_val lower = cg_new(c, CG_B32), upper = cg_new(c, CG_B32), twice = cg_new(c, CG_B64);
    cg_ins(c, "mov.b64 {%v, %v}, %v", lower, upper, size);
    upper = cg_int_op(c, "min.s32", upper, cg_const(CG_B32, twenty));
    upper = cg_int_op(c, "add.s32", upper, cg_const(CG_B32, doubling));
    cg_ins(c, "mov.b64 %v, {%v, %v}", twice, lower, upper);
    cg_val sum = r_fma(k, twice, r_part(k, CG_LOG2_E_F32, 0), shift), n = r_sub(k, sum, shift);
    cg_val r = r_fma(k, n, r_minus_part(k, CG_LN_2_PAIR_F32, 0), twice);
    cg_val factor_of_square = r_polynomial(k, CG_EXP_F32, r), t = r_fma(k, r_mul(k, r, r), factor_of_square, r);
    cg_val exponent = cg_new(c, CG_B32), unused = cg_new(c, CG_B32);
    cg_ins(c, "mov.b64 {%v, %v}, %v", exponent, unused, sum);
    cg_val factor = r_power_of_two(k, exponent), over = r_add(k, factor, one), whole = r_fma(k, t, factor, over);
    cg_val rest = r_fma(k, t, factor, r_sub(k, over, whole)), q = near_inverse(k, whole);
    cg_val near = r_fma(k, r_neg(k, whole), q, one), e = r_fma(k, r_neg(k, rest), q, near);
    cg_val large = r_fma(k, inverse_from(k, q, e), r_number(k, -2), one);
    cg_val small = odd_polynomial(k, CG_TANH_F32, x[0]);
    return r_copysign(k, r_select(k, r_test(k, "ge", size, r_number(k, 0.55)), large, small), x[0]);
}

/* In f32 they are made of the instructions for 2^x and 1 / x, as exp is. */

/* e^size / 4 for 0 <= size < 90: 2^f 2^n / 4, where |f| < 1. n is the end of what the sum with 2^23 is made of. */
static cg_val quarter_power_f32(const cg_real *k, cg_val size)
{
    cg_val shift = r_number(k, 0x1p23), scaled = r_mul(k, size, r_part(k, CG_LOG2_E_F32, 0));
    cg_val n = r_op(k, "add.rz", 2, scaled, shift, shift), whole = r_sub(k, n, shift);
    cg_val r = r_fma(k, whole, r_minus_part(k, CG_LN_2_PAIR_F32, 0), size);
    r = r_fma(k, whole, r_minus_part(k, CG_LN_2_PAIR_F32, 1), r);
    cg_val f = r_mul(k, r, r_part(k, CG_LOG2_E_F32, 0)), e = r_op(k, "ex2.approx.ftz", 1, f, f, f);
    return r_mul(k, e, r_power_of_two(k, cg_int_op(k->c, "add.s32", n, cg_const(CG_B32, (uint32_t)-2))));
}

/* (e^|x| + sign e^-|x|) / 2 */
static cg_val half_sum_f32(const cg_real *k, cg_val x, double sign)
{
    cg_val limit = r_number(k, 89.5), e = quarter_power_f32(k, r_limited(k, r_abs(k, x), limit));
    cg_val other = r_mul(k, r_op(k, "rcp.approx.ftz", 1, e, e, e), r_number(k, sign * 0.125));
    return r_fma(k, e, r_number(k, 2), other);
}

/* x + x z P(z) */
static cg_val odd_polynomial_f32(const cg_real *k, cg_coefficients row, cg_val x)
{
    cg_val z = r_mul(k, x, x);
    return r_fma(k, r_mul(k, r_polynomial(k, row, z), z), x, x);
}

cg_val cg_math_cosh_f32(const cg_real *k, const cg_val *x)
{
    return half_sum_f32(k, x[0], 1);
}

cg_val cg_math_sinh_f32(const cg_real *k, const cg_val *x)
{
    cg_val large = r_copysign(k, half_sum_f32(k, x[0], -1), x[0]), small = odd_polynomial_f32(k, CG_SINH_F32, x[0]);
    return r_select(k, r_test(k, "lt", r_abs(k, x[0]), r_number(k, 1)), small, large);
}

/* 1 - 2 / (e^2x + 1) where x is large enough; from 10 on it is 1. */
cg_val cg_math_tanh_f32(const cg_real *k, const cg_val *x)
{
    cg_val size = r_abs(k, x[0]), one = r_number(k, 1), limited = r_limited(k, size, r_number(k, 10));
    cg_val scaled = r_mul(k, limited, r_number(k, 0x1.715476p+1)), e = r_op(k, "ex2.approx.ftz", 1, scaled, one, one);
    cg_val inverse = r_op(k, "rcp.approx.ftz", 1, r_add(k, e, one), one, one);
    cg_val large = r_fma(k, inverse, r_number(k, -2), one), small = odd_polynomial_f32(k, CG_TANH_F32, x[0]);
    return r_copysign(k, r_select(k, r_test(k, "lt", size, r_number(k, 0.6)), small, large), x[0]);
}

/* ---- 1 / sqrt(x), f64 (f32 has an instruction) ---- */

/* From y, which is 1 / sqrt(x) rounded twice: 1 / sqrt(x) = y (1 + (1 - root y)) (1 - (x - root^2) / x / 2). */
cg_val cg_math_rsqrt(const cg_real *k, const cg_val *x)
{
    cg_val zero = r_number(k, 0), small = r_test(k, "lt", x[0], r_either(k, 0x1p-60, 0x1p-800));
    cg_val scaled = r_select(k, small, r_mul(k, x[0], r_either(k, 0x1p60, 0x1p400)), x[0]);
    cg_val root = r_op(k, "sqrt.rn", 1, scaled, zero, zero), y = r_op(k, "rcp.rn", 1, root, zero, zero);
    cg_val of_y = r_fma(k, r_neg(k, root), y, r_number(k, 1)), of_root = r_fma(k, r_neg(k, root), root, scaled);
    cg_val relative = r_fma(k, r_mul(k, r_mul(k, of_root, y), y), r_number(k, -0.5), of_y);
    cg_val better = r_fma(k, y, relative, y), ordinary = r_test(k, "lt", zero, scaled), finite;
    finite = r_test(k, "lt", scaled, r_infinity(k));
    y = r_select(k, ordinary, r_select(k, finite, better, y), y);
    return r_select(k, small, r_mul(k, y, r_either(k, 0x1p30, 0x1p200)), y);
}

/* The same of a normal number, NaN if it is negative, from the instruction's approximation, within 2^-20 of it: y + y e
   (1/2 + 3/8 e) for e = 1 - x y^2. The upper half of y has so few bits that its square is exact. */
cg_val cg_math_near_rsqrt(const cg_real *k, cg_val x, cg_val *out_near)
{
    const uint32_t least = 0x00100000, infinite = 0x7ff00000; /* upper halves */
    cg_func *c = k->c;
    cg_val upper = cg_new(c, CG_B32), lower = cg_new(c, CG_B32), y = cg_new(c, CG_B64);
    cg_val approximate = r_op(k, "rsqrt.approx.ftz", 1, x, x, x);
    cg_ins(c, "mov.b64 {%v, %v}, %v", lower, upper, approximate);
    cg_ins(c, "mov.b64 %v, {%r, %v}", y, cg_const(CG_B32, 0), upper);
    cg_val square = r_mul(k, y, y), minus = r_neg(k, x);
    cg_val e = r_fma(k, minus, square, r_number(k, 1));
    cg_val factor = r_fma(k, e, r_number(k, 0.375), r_number(k, 0.5)), high = cg_new(c, CG_B32),
           low = cg_new(c, CG_B32);
    cg_ins(c, "mov.b64 {%v, %v}, %v", low, high, x);
    *out_near = cg_new(c, CG_PRED);
    high = cg_int_op(c, "and.b32", high, cg_const(CG_B32, 0x7fffffff));
    high = cg_int_op(c, "sub.u32", high, cg_const(CG_B32, least));
    cg_ins(c, "setp.lt.u32 %v, %v, %u", *out_near, high, infinite - least);
    return r_fma(k, r_mul(k, y, e), factor, y);
}
