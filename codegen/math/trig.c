/* Sine, cosine, tangent, arc tangent, remainder. */
#include "codegen/math/math.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"

/* ---- x = q pi/2 + r, |r| <= pi/4 ---- */

typedef struct quadrant {
    cg_pair r;
    cg_val q; /* 32 bits; the low two count */
} quadrant;

/* Below this q fits 32 bits and q pi/2 is close enough with pi/2 in three parts. */
static cg_val near_limit(const cg_real *k)
{
    return r_either(k, 0x1p17, 0x1p28);
}

/* In f64. The first difference is exact: x and q pi/2 are near each other. */
static quadrant near_quadrant(const cg_real *k, cg_val x)
{
    cg_val n = r_rint(k, r_mul(k, x, r_part(k, CG_TWO_PI_F32, 0))), minus = r_neg(k, n), q = cg_new(k->c, CG_B32);
    cg_val first = r_fma(k, minus, r_part(k, CG_PI_2_F32, 0), x);
    cg_pair second = r_two_product(k, minus, r_part(k, CG_PI_2_F32, 1)), sum = r_two_sum(k, first, second.high);
    cg_val low = r_fma(k, minus, r_part(k, CG_PI_2_F32, 2), r_add(k, sum.low, second.low));
    cg_ins(k->c, "cvt.rzi.s32.f64 %v, %v", q, n);
    return (quadrant){r_fast_two_sum(k, sum.high, low), q};
}

/* Far from 0: the product of x's significand and the bits of 2/pi that matter, modulo 4, in integers (M. Payne and R.
   Hanek, 1983). With x = m 2^s, bits s - 1 and so on of 2/pi after its point are what counts; the table has 32 zeros in
   front. */
static void window(const cg_real *k, cg_val s, unsigned words, cg_val *out)
{
    cg_func *c = k->c;
    cg_val bit = cg_int_op(c, "add.s32", s, cg_const(CG_B32, 30)),
           shift = cg_int_op(c, "and.b32", bit, cg_const(CG_B32, 31));
    cg_val index = cg_int_op(c, "shr.u32", bit, cg_const(CG_B32, 5)), address = cg_new(c, CG_B64),
           base = cg_two_over_pi(c);
    cg_val word[8];
    cg_ins(c, "mad.wide.u32 %v, %v, 4, %v", address, index, base);
    for (unsigned i = 0; i <= words; i++) {
        word[i] = cg_new(c, CG_B32);
        cg_ins(c, "ld.const.b32 %v, [%v+%u]", word[i], address, 4 * i);
    }
    for (unsigned i = 0; i < words; i++) {
        out[i] = cg_new(c, CG_B32);
        cg_ins(c, "shf.l.wrap.b32 %v, %v, %v, %v", out[i], word[i + 1], word[i], shift);
    }
}

static cg_val wide_op(cg_func *c, const char *op, cg_val a, cg_val b)
{
    cg_val result = cg_new(c, CG_B64);
    cg_ins(c, "%s %v, %v, %v", op, result, a, b);
    return result;
}

static cg_val low_word(cg_func *c, cg_val x)
{
    cg_val word = cg_new(c, CG_B32);
    cg_ins(c, "cvt.u32.u64 %v, %v", word, x);
    return word;
}

/* The quadrant in the top two bits of fraction, rounded; fraction becomes what is left, signed. */
static cg_val take_quadrant(cg_func *c, cg_val *fraction)
{
    cg_val q = wide_op(c, "add.u64", *fraction, cg_const(CG_B64, UINT64_C(1) << 61));
    q = wide_op(c, "shr.u64", q, cg_const(CG_B32, 62));
    *fraction = wide_op(c, "sub.u64", *fraction, wide_op(c, "shl.b64", q, cg_const(CG_B32, 62)));
    return low_word(c, q);
}

static cg_val far_narrow(const cg_real *k, cg_val x, cg_val *out_q)
{
    cg_func *c = k->c;
    cg_real wide = {c, true};
    cg_val w[3], m = cg_int_op(c, "and.b32", x, cg_const(CG_B32, 0x7fffff)), r = cg_new(c, CG_B32);
    m = cg_int_op(c, "or.b32", m, cg_const(CG_B32, 0x800000));
    cg_val e = cg_int_op(c, "shr.u32", x, cg_const(CG_B32, 23));
    window(k, cg_int_op(c, "sub.s32", e, cg_const(CG_B32, 150)), 3, w);
    cg_val lowest = wide_op(c, "shr.u64", wide_op(c, "mul.wide.u32", m, w[2]), cg_const(CG_B32, 32)),
           sum = cg_new(c, CG_B64);
    cg_ins(c, "mad.wide.u32 %v, %v, %v, %v", sum, m, w[1], lowest);
    cg_val top = wide_op(c, "shl.b64", wide_op(c, "mul.wide.u32", m, w[0]), cg_const(CG_B32, 32));
    cg_val fraction = wide_op(c, "add.u64", sum, top), number = cg_new(c, CG_B64);
    *out_q = take_quadrant(c, &fraction);
    cg_ins(c, "cvt.rn.f64.s64 %v, %v", number, fraction);
    cg_ins(c, "cvt.rn.f32.f64 %v, %v", r,
           r_mul(&wide, number, r_number(&wide, 0x1.921fb54442d18p-62))); /* pi/2 2^-62 */
    return r;
}

/* A signed fraction of 126 bits after the point, in quadrants, as an angle. */
static cg_pair angle_of(const cg_real *k, cg_val high, cg_val low)
{
    cg_func *c = k->c;
    cg_val mask = wide_op(c, "shr.s64", high, cg_const(CG_B32, 63)), negative = cg_new(c, CG_PRED),
           zeros = cg_new(c, CG_B32);
    cg_val number[2];
    high = wide_op(c, "xor.b64", high, mask);
    low = wide_op(c, "xor.b64", low, mask);
    low = wide_op(c, "sub.cc.u64", low, mask); /* the two with nothing in between: the carry */
    high = wide_op(c, "subc.u64", high, mask);
    cg_ins(c, "setp.ne.s64 %v, %v, 0", negative, mask);
    cg_ins(c, "clz.b64 %v, %v", zeros, high);
    cg_val rest = cg_int_op(c, "sub.u32", cg_reg(c, cg_const(CG_B32, 64)), zeros);
    cg_val top_low = wide_op(c, "shr.u64", low, rest);
    cg_val top = wide_op(c, "or.b64", wide_op(c, "shl.b64", high, zeros), top_low);
    cg_val below = wide_op(c, "shr.u64", wide_op(c, "shl.b64", low, zeros), cg_const(CG_B32, 11)), parts[2];
    parts[0] = wide_op(c, "and.b64", top, cg_const(CG_B64, ~(uint64_t)0x7ff));
    parts[1] = wide_op(c, "or.b64", wide_op(c, "shl.b64", top, cg_const(CG_B32, 53)), below);
    for (int i = 0; i < 2; i++) {
        number[i] = cg_new(c, CG_B64);
        cg_ins(c, "cvt.rn.f64.u64 %v, %v", number[i], parts[i]);
    }
    cg_pair r = {number[0], r_mul(k, number[1], r_number(k, 0x1p-53))};
    r = r_pair_product(k, r, (cg_pair){r_part(k, CG_PI_2_F32, 0), r_part(k, CG_PI_2_F32, 1)});
    r = r_fast_two_sum(k, r.high, r.low);
    cg_val factor = r_power_of_two(k, cg_int_op(c, "sub.s32", cg_reg(c, cg_const(CG_B32, (uint32_t)-62)), zeros));
    factor = r_select(k, negative, r_neg(k, factor), factor);
    r.high = r_mul(k, r.high, factor);
    r.low = r_mul(k, r.low, factor);
    return r;
}

static quadrant far_wide(const cg_real *k, cg_val x)
{
    cg_func *c = k->c;
    cg_val w[6], words[3], m = wide_op(c, "and.b64", x, cg_const(CG_B64, UINT64_C(0xfffffffffffff)));
    m = wide_op(c, "or.b64", m, cg_const(CG_B64, UINT64_C(1) << 52));
    cg_val e = low_word(c, wide_op(c, "shr.u64", x, cg_const(CG_B32, 52)));
    window(k, cg_int_op(c, "sub.s32", e, cg_const(CG_B32, 1075)), 6, w);
    for (int i = 0; i < 3; i++) {
        words[i] = cg_new(c, CG_B64);
        cg_ins(c, "mov.b64 %v, {%v, %v}", words[i], w[2 * i + 1], w[2 * i]);
    }
    cg_val carry = wide_op(c, "mul.hi.u64", m, words[2]), low_product = wide_op(c, "mul.lo.u64", m, words[1]);
    cg_val high_product = wide_op(c, "mul.hi.u64", m, words[1]), top = wide_op(c, "mul.lo.u64", m, words[0]);
    cg_val low = wide_op(c, "add.cc.u64", low_product, carry), high = wide_op(c, "addc.u64", high_product, top);
    cg_val q = take_quadrant(c, &high);
    return (quadrant){angle_of(k, high, low), q};
}

static void branch(cg_func *c, cg_val condition, uint32_t label)
{
    bc_text_printf(&c->emit->body, "\t@%%p%u bra $L%u;\n", condition.id, label);
}

static void assign(const cg_real *k, cg_val to, cg_val from)
{
    cg_ins(k->c, "mov.b%u %v, %v", cg_class_bits((cg_class)to.cls), to, from);
}

/* In f64. */
static quadrant reduce(const cg_real *k, cg_val x)
{
    cg_func *c = k->c;
    cg_val size = r_abs(k, x), near = r_test(k, "le", size, near_limit(k)), minus = cg_new(c, CG_PRED);
    quadrant here = near_quadrant(k, size), result;
    result.r.high = cg_new(c, r_class(k));
    result.r.low = cg_new(c, r_class(k));
    result.q = cg_new(c, CG_B32);
    uint32_t done = cg_label(c);
    assign(k, result.r.high, here.r.high);
    assign(k, result.r.low, here.r.low);
    assign(k, result.q, here.q);
    branch(c, near, done);
    quadrant there = far_wide(k, size);
    assign(k, result.r.high, there.r.high);
    assign(k, result.r.low, there.r.low);
    assign(k, result.q, there.q);
    cg_place_label(c, done);
    cg_ins(c, "setp.lt.s%u %v, %v, 0", cg_class_bits(r_class(k)), minus, x);
    result.r.high = r_select(k, minus, r_neg(k, result.r.high), result.r.high);
    result.r.low = r_select(k, minus, r_neg(k, result.r.low), result.r.low);
    cg_val negated = cg_int_op(c, "sub.s32", cg_reg(c, cg_const(CG_B32, 0)), result.q);
    result.q = cg_select(c, minus, negated, result.q);
    return result;
}

/* In f32, for |x| up to 2^17 and NaN, which *out_near tells: r as one number, each step rounded once, which is within a
   unit of it; the quadrant, plus `turns`, is in the last two bits of q. */
static cg_val near_reduce_f32(const cg_real *k, cg_val x, uint32_t turns, cg_val *out_q, cg_val *out_near)
{
    cg_val shift = r_number(k, 0x1.8p23 + turns), q = r_fma(k, x, r_part(k, CG_TWO_PI_F32, 0), shift);
    cg_val n = r_sub(k, q, shift), r = x;
    for (unsigned i = 0; i < 3; i++)
        r = r_fma(k, n, r_minus_part(k, CG_PI_2_DOWN_F32, i), r);
    *out_near = r_test(k, "leu", r_abs(k, x), near_limit(k));
    *out_q = q;
    return r;
}

/* The same for all others. */
static cg_val far_reduce_f32(const cg_real *k, cg_val x, uint32_t turns, cg_val *out_q)
{
    cg_func *c = k->c;
    cg_val q, size = r_abs(k, x), r = far_narrow(k, size, &q), minus = cg_new(c, CG_PRED);
    cg_val negated = cg_int_op(c, "sub.s32", cg_reg(c, cg_const(CG_B32, 0)), q);
    cg_ins(c, "setp.lt.s32 %v, %v, 0", minus, x);
    q = cg_select(c, minus, negated, q);
    *out_q = turns ? cg_int_op(c, "add.s32", q, cg_const(CG_B32, turns)) : q;
    r = r_select(k, minus, r_neg(k, r), r);
    return r_select(k, r_test(k, "lt", size, r_infinity(k)), r, r_nan(k));
}

/* ---- sine and cosine ---- */

/* sin(r) = high + (high z S(z) + low (1 - z / 2)) */
static cg_pair sine(const cg_real *k, cg_pair r, cg_val z)
{
    cg_val cube = r_mul(k, r.high, z), of_low = r_fma(k, r_mul(k, z, r_number(k, -0.5)), r.low, r.low);
    return r_fast_two_sum(k, r.high, r_fma(k, cube, r_polynomial(k, CG_SIN_F32, z), of_low));
}

/* cos(r) = 1 - z / 2 + (z^2 C(z) - high low) */
static cg_pair cosine(const cg_real *k, cg_pair r, cg_val z)
{
    cg_val square = r_mul(k, z, z), rest = r_mul(k, square, r_polynomial(k, CG_COS_F32, z));
    rest = r_fma(k, r_neg(k, r.high), r.low, rest);
    cg_pair sum = r_fast_two_sum(k, r_number(k, 1), r_mul(k, z, r_number(k, -0.5)));
    /* what z has lost of high^2 */
    cg_val lost = r_fma(k, r.high, r.high, r_neg(k, z));
    rest = r_fma(k, lost, r_number(k, -0.5), r_add(k, rest, sum.low));
    return r_fast_two_sum(k, sum.high, rest);
}

static cg_val bit_set(cg_func *c, cg_val q, uint32_t bit)
{
    cg_val p = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ne.u32 %v, %v, 0", p, cg_int_op(c, "and.b32", q, cg_const(CG_B32, bit)));
    return p;
}

/* x itself where it is small, NaN where it is not finite. */
static cg_val ends(const cg_real *k, cg_val x, bool odd, cg_val result)
{
    cg_val size = r_abs(k, x);
    if (odd)
        result = r_select(k, r_test(k, "lt", size, r_number(k, 0x1p-28)), x, result);
    return r_select(k, r_test(k, "lt", size, r_infinity(k)), result, r_nan(k));
}

/* In f64: sin(x + turns pi/2) */
static cg_val turned_sine(const cg_real *k, cg_val x, uint32_t turns)
{
    quadrant r = reduce(k, x);
    cg_val z = r_mul(k, r.r.high, r.r.high), q = cg_int_op(k->c, "add.s32", r.q, cg_const(CG_B32, turns));
    cg_val even = sine(k, r.r, z).high, odd = cosine(k, r.r, z).high;
    cg_val result = r_select(k, bit_set(k->c, q, 1), odd, even), negated = r_neg(k, result);
    result = r_select(k, bit_set(k->c, q, 2), negated, result);
    return ends(k, x, turns == 0, result);
}

/* The same for |x| < 2^28 and NaN in fewer operations. x = n pi/2 + r: x less n times the first part of pi/2 is exact,
   as both are multiples of the last bit of one of them and the difference is small; what the next step rounds is low.
   sin(r) = r + (r z S(z) + low), cos(r) = 1 + (z (z C(z) - 1/2) - r low). */
static cg_val near_sine(const cg_real *k, cg_val x, uint32_t turns, cg_val *out_near)
{
    cg_func *c = k->c;
    cg_val shift = r_number(k, 0x1.8p52), t = r_fma(k, x, r_part(k, CG_TWO_PI_F32, 0), shift), n = r_sub(k, t, shift);
    cg_val first = r_fma(k, n, r_minus_part(k, CG_PI_2_F32, 0), x), q = cg_new(c, CG_B32), upper = cg_new(c, CG_B32);
    cg_val r = r_fma(k, n, r_minus_part(k, CG_PI_2_F32, 1), first);
    cg_val low = r_fma(k, n, r_minus_part(k, CG_PI_2_F32, 1), r_sub(k, first, r));
    low = r_fma(k, n, r_minus_part(k, CG_PI_2_F32, 2), low);
    cg_val z = r_mul(k, r, r), of_low = r_mul(k, r, low), factor = r_polynomial(k, CG_SIN_F32, z);
    cg_val sine = r_add(k, r, r_fma(k, r_mul(k, r, z), factor, low));
    cg_val rest = r_fma(k, z, r_polynomial(k, CG_COS_F32, z), r_number(k, -0.5));
    cg_val cosine = r_add(k, r_number(k, 1), r_fma(k, z, rest, r_neg(k, of_low)));
    cg_ins(c, "mov.b64 {%v, %v}, %v", q, upper, t);
    if (turns)
        q = cg_int_op(c, "add.s32", q, cg_const(CG_B32, turns));
    if (!turns)
        sine = r_select(k, r_test(k, "eq", x, r_number(k, 0)), x, sine); /* -0 */
    cg_val result = r_select(k, bit_set(c, q, 1), cosine, sine);
    *out_near = r_test(k, "ltu", r_abs(k, x), near_limit(k));
    cg_val negated = r_neg(k, result);
    return r_select(k, bit_set(c, q, 2), negated, result);
}

cg_val cg_math_near_sin(const cg_real *k, cg_val x, cg_val *out_near)
{
    return near_sine(k, x, 0, out_near);
}

cg_val cg_math_near_cos(const cg_real *k, cg_val x, cg_val *out_near)
{
    return near_sine(k, x, 1, out_near);
}

cg_val cg_math_sin(const cg_real *k, const cg_val *x)
{
    return turned_sine(k, x[0], 0);
}

cg_val cg_math_cos(const cg_real *k, const cg_val *x)
{
    return turned_sine(k, x[0], 1);
}

static cg_pair select_pair(const cg_real *k, cg_val condition, cg_pair a, cg_pair b)
{
    cg_val high = r_select(k, condition, a.high, b.high), low = r_select(k, condition, a.low, b.low);
    return (cg_pair){high, low};
}

cg_val cg_math_tan(const cg_real *k, const cg_val *x)
{
    quadrant r = reduce(k, x[0]);
    cg_val z = r_mul(k, r.r.high, r.r.high), odd = bit_set(k->c, r.q, 1);
    cg_pair s = sine(k, r.r, z), t = cosine(k, r.r, z);
    cg_pair over = select_pair(k, odd, t, s), under;
    under.high = r_select(k, odd, r_neg(k, s.high), t.high);
    under.low = r_select(k, odd, r_neg(k, s.low), t.low);
    cg_pair quotient = r_pair_quotient(k, over, under);
    return ends(k, x[0], true, r_add(k, quotient.high, quotient.low));
}

/* In f32: a polynomial each, of what reduction gives, in the order of operations that gives the bits of CUDA's
   functions. */
static cg_val sine_in_quadrant(const cg_real *k, cg_val r, cg_val q)
{
    cg_func *c = k->c;
    cg_val z = r_mul(k, r, r), one = r_number(k, 1);
    cg_val cube = r_fma(k, r, z, r_number(k, 0)); /* +0 for -0, so that the sum is -0 */
    cg_val s = r_fma(k, r_polynomial(k, CG_SIN_F32, z), cube, r);
    cg_val t = r_fma(k, r_polynomial(k, CG_COS_F32, z), z, one);
    cg_val sign =
        cg_int_op(c, "and.b32", cg_int_op(c, "shl.b32", q, cg_const(CG_B32, 30)), cg_const(CG_B32, 0x80000000));
    return cg_int_op(c, "xor.b32", r_select(k, bit_set(c, q, 1), t, s), sign);
}

static cg_val far_turned_sine_f32(const cg_real *k, cg_val x, uint32_t turns)
{
    cg_val q, r = far_reduce_f32(k, x, turns, &q);
    return sine_in_quadrant(k, r, q);
}

cg_val cg_math_sin_f32(const cg_real *k, const cg_val *x)
{
    return far_turned_sine_f32(k, x[0], 0);
}

cg_val cg_math_cos_f32(const cg_real *k, const cg_val *x)
{
    return far_turned_sine_f32(k, x[0], 1);
}

static cg_val near_turned_sine_f32(const cg_real *k, cg_val x, uint32_t turns, cg_val *out_near)
{
    cg_val q, r = near_reduce_f32(k, x, turns, &q, out_near);
    return sine_in_quadrant(k, r, q);
}

cg_val cg_math_near_sin_f32(const cg_real *k, cg_val x, cg_val *out_near)
{
    return near_turned_sine_f32(k, x, 0, out_near);
}

cg_val cg_math_near_cos_f32(const cg_real *k, cg_val x, cg_val *out_near)
{
    return near_turned_sine_f32(k, x, 1, out_near);
}

/* tan(r) or -1 / tan(r). */
static cg_val tangent_in_quadrant(const cg_real *k, cg_val r, cg_val q)
{
    cg_val z = r_mul(k, r, r), cube = r_mul(k, r, z), t = r_fma(k, r_polynomial(k, CG_TAN_F32, z), cube, r);
    cg_val inverse = r_neg(k, r_op(k, "rcp.approx.ftz", 1, t, t, t));
    return r_select(k, bit_set(k->c, q, 1), inverse, t);
}

cg_val cg_math_tan_f32(const cg_real *k, const cg_val *x)
{
    cg_val q, r = far_reduce_f32(k, x[0], 0, &q);
    return tangent_in_quadrant(k, r, q);
}

cg_val cg_math_near_tan_f32(const cg_real *k, cg_val x, cg_val *out_near)
{
    cg_val q, r = near_reduce_f32(k, x, 0, &q, out_near);
    return tangent_in_quadrant(k, r, q);
}

/* ---- atan2(y, x) ---- */

/* With a >= b the larger and smaller of |x| and |y|: atan(b / a), or pi/4 + atan((b - a) / (b + a)) where b / a is
   above tan(pi/8); the quadrants add a multiple of pi/4. */
cg_val cg_math_atan2(const cg_real *k, const cg_val *x)
{
    cg_func *c = k->c;
    cg_val y = x[0], zero = r_number(k, 0), one = r_number(k, 1), ay = r_abs(k, x[0]), ax = r_abs(k, x[1]),
           inf = r_infinity(k);
    cg_val steep = r_test(k, "gt", ay, ax), a = r_select(k, steep, ay, ax), b = r_select(k, steep, ax, ay);
    cg_val both_infinite = r_test(k, "eq", b, inf), infinite = r_test(k, "eq", a, inf), none = r_test(k, "eq", a, zero);
    b = r_select(k, both_infinite, one, r_select(k, infinite, zero, b));
    a = r_select(k, infinite, one, r_select(k, none, one, a));
    /* so small that it is its own arc tangent: one rounding, also where it is subnormal */
    cg_val slope = r_op(k, "div.rn", 2, b, a, a), flat = r_test(k, "lt", slope, r_either(k, 0x1p-16, 0x1p-30));
    cg_val huge = r_test(k, "gt", a, r_either(k, 0x1p100, 0x1p1000)),
           tiny = r_test(k, "lt", a, r_either(k, 0x1p-60, 0x1p-900));
    cg_val factor =
        r_select(k, huge, r_either(k, 0x1p-40, 0x1p-100), r_select(k, tiny, r_either(k, 0x1p90, 0x1p200), one));
    a = r_mul(k, a, factor);
    b = r_mul(k, b, factor);
    cg_val upper = r_test(k, "gt", b, r_mul(k, a, r_number(k, 0x1.a8279ap-2)));
    cg_pair difference = r_two_sum(k, b, r_neg(k, a)), sum = r_fast_two_sum(k, a, b);
    cg_pair over = select_pair(k, upper, difference, (cg_pair){b, zero});
    cg_pair under = select_pair(k, upper, sum, (cg_pair){a, zero});
    cg_pair q = r_pair_quotient(k, over, under);
    q = r_fast_two_sum(k, q.high, q.low);
    q = select_pair(k, flat, (cg_pair){slope, zero}, q);
    cg_val z = r_mul(k, q.high, q.high), series = r_polynomial(k, CG_ATAN_F32, z);
    cg_val rest = r_fma(k, r_mul(k, q.high, z), series, q.low);
    /* turns pi/4 + sign (q.high + rest) */
    cg_val left = cg_new(c, CG_PRED);
    cg_ins(c, "setp.lt.s%u %v, %v, 0", cg_class_bits(r_class(k)), left, x[1]);
    cg_val turns = r_select(k, upper, one, zero), sign = one;
    turns = r_select(k, steep, r_sub(k, r_number(k, 2), turns), turns);
    sign = r_select(k, steep, r_number(k, -1), sign);
    turns = r_select(k, left, r_sub(k, r_number(k, 4), turns), turns);
    sign = r_select(k, left, r_neg(k, sign), sign);
    cg_pair offset = r_two_product(k, turns, r_part(k, CG_PI_4_F32, 0));
    offset.low = r_fma(k, turns, r_part(k, CG_PI_4_F32, 1), offset.low);
    cg_pair total = r_fast_two_sum(k, offset.high, r_mul(k, sign, q.high));
    cg_val low = r_add(k, r_fma(k, sign, rest, offset.low), total.low);
    cg_val result = r_copysign(k, r_add(k, total.high, low), y);
    return r_select(k, r_test(k, "nan", y, x[1]), r_nan(k), result);
}

/* ---- remainder: C's fmod, exact ---- */

/* |x| = significand 2^exponent, as integers of the type's width; the exponent has the bias of the field. */
static cg_val take_apart(const cg_real *k, cg_val size, cg_val *out_exponent)
{
    cg_func *c = k->c;
    uint32_t mantissa = k->wide ? 52 : 23, width = cg_class_bits(r_class(k));
    uint64_t hidden = (uint64_t)1 << mantissa;
    cg_val field = cg_new(c, CG_B32), low = cg_new(c, r_class(k)), full = cg_new(c, r_class(k)),
           subnormal = cg_new(c, CG_PRED);
    if (k->wide)
        field = low_word(c, wide_op(c, "shr.u64", size, cg_const(CG_B32, mantissa)));
    else
        cg_ins(c, "shr.u32 %v, %v, %u", field, size, mantissa);
    cg_ins(c, "and.b%u %v, %v, %q", width, low, size, hidden - 1);
    cg_ins(c, "or.b%u %v, %v, %q", width, full, low, hidden);
    cg_ins(c, "setp.eq.u32 %v, %v, 0", subnormal, field);
    *out_exponent = cg_int_op(c, "max.u32", field, cg_const(CG_B32, 1));
    return cg_select(c, subnormal, low, full);
}

/* rest = rest 2^step mod divisor, for rest < divisor or step 0. The quotient comes from a division towards zero, which
   may be one too small; what is above the integers' width cancels. */
static void divide_once(const cg_real *k, cg_val rest, cg_val divisor, cg_val step)
{
    cg_func *c = k->c;
    uint32_t width = cg_class_bits(r_class(k));
    cg_class cls = r_class(k);
    cg_val over = cg_new(c, cls), under = cg_new(c, cls), quotient = cg_new(c, cls), product = cg_new(c, cls),
           less = cg_new(c, cls);
    cg_val again = cg_new(c, CG_PRED);
    cg_ins(c, "cvt.rn.f%u.u%u %v, %v", width, width, over, rest);
    cg_ins(c, "cvt.rn.f%u.u%u %v, %v", width, width, under, divisor);
    cg_val factor = r_power_of_two(k, step), scaled = r_mul(k, r_op(k, "div.rz", 2, over, under, over), factor);
    cg_ins(c, "cvt.rzi.u%u.f%u %v, %v", width, width, quotient, scaled);
    cg_ins(c, "mul.lo.u%u %v, %v, %v", width, product, quotient, divisor);
    cg_ins(c, "shl.b%u %v, %v, %v", width, rest, rest, step);
    cg_ins(c, "sub.u%u %v, %v, %v", width, rest, rest, product);
    cg_ins(c, "sub.u%u %v, %v, %v", width, less, rest, divisor);
    cg_ins(c, "setp.ge.u%u %v, %v, %v", width, again, rest, divisor);
    cg_ins(c, "selp.b%u %v, %v, %v, %v", width, rest, less, rest, again);
}

/* The remainder of the significands is shifted up as far as there is room and divided again, until the exponents meet.
 */
cg_val cg_math_remainder(const cg_real *k, const cg_val *x)
{
    cg_func *c = k->c;
    uint32_t width = cg_class_bits(r_class(k)), again = cg_label(c), done = cg_label(c);
    cg_val size[2], exponent[2];
    for (int i = 0; i < 2; i++)
        size[i] = r_abs(k, x[i]);
    cg_val rest = cg_new(c, r_class(k)), left = cg_new(c, CG_B32), step = cg_new(c, CG_B32), end = cg_new(c, CG_PRED);
    cg_val number = cg_new(c, r_class(k)), smaller = r_test(k, "lt", size[0], size[1]);
    assign(k, rest, take_apart(k, size[0], &exponent[0]));
    cg_val divisor = take_apart(k, size[1], &exponent[1]);
    cg_ins(c, "sub.s32 %v, %v, %v", left, exponent[0], exponent[1]);
    cg_ins(c, "mov.b32 %v, 0", step);
    branch(c, smaller, done);
    cg_place_label(c, again);
    divide_once(k, rest, divisor, step);
    cg_ins(c, "sub.s32 %v, %v, %v", left, left, step);
    cg_ins(c, "min.s32 %v, %v, %u", step, left, k->wide ? 50u : 21u);
    cg_ins(c, "setp.gt.s32 %v, %v, 0", end, left);
    branch(c, end, again);
    cg_place_label(c, done);
    cg_ins(c, "cvt.rn.f%u.u%u %v, %v", width, width, number, rest); /* exact: below the divisor */
    cg_val scale = cg_int_op(c, "sub.s32", exponent[1], cg_const(CG_B32, k->wide ? 1075 : 150));
    cg_val result = r_select(k, smaller, x[0], r_copysign(k, r_scale(k, number, scale), x[0]));
    cg_val valid = r_test(k, "gt", size[1], r_number(k, 0)), finite = r_test(k, "lt", size[0], r_infinity(k));
    result = r_select(k, valid, result, r_nan(k)); /* also where y is NaN */
    return r_select(k, finite, result, r_nan(k));
}
