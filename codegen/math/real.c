/* Arithmetic on f32 or f64 as instructions. */
#include "codegen/math/real.h"

#include <string.h>

#include "codegen/ptx/ptx.h"

typedef struct row {
    uint8_t count;
    double items[16];
} row;

#define ROW(...) {sizeof((const double[]){__VA_ARGS__}) / sizeof(double), {__VA_ARGS__}},
static const row rows[CG_COEFFICIENTS] = {
#define POLYNOMIAL(name, type, ...) ROW(__VA_ARGS__)
#define PARTS(name, type, ...) ROW(__VA_ARGS__)
#include "codegen/math/coefficients.def"
};

static const char *suffix(const cg_real *k)
{
    return k->wide ? "f64" : "f32";
}

cg_val r_op(const cg_real *k, const char *op, unsigned operands, cg_val a, cg_val b, cg_val d)
{
    cg_val result = cg_new(k->c, r_class(k));
    a = cg_reg(k->c, a);
    if (operands == 1) {
        cg_ins(k->c, "%s.%s %v, %v", op, suffix(k), result, a);
    } else if (operands == 2) {
        cg_ins(k->c, "%s.%s %v, %v, %r", op, suffix(k), result, a, b);
    } else {
        b = cg_reg(k->c, b);
        cg_ins(k->c, "%s.%s %v, %v, %v, %r", op, suffix(k), result, a, b, d);
    }
    return result;
}

cg_val r_number(const cg_real *k, double x)
{
    uint64_t bits = 0;
    float narrow = (float)x;
    if (k->wide)
        memcpy(&bits, &x, sizeof x);
    else
        memcpy(&bits, &narrow, sizeof narrow); /* little-endian, as everywhere in the library's files */
    return cg_const(r_class(k), bits);
}

cg_val r_part(const cg_real *k, cg_coefficients first, unsigned i)
{
    return r_number(k, rows[first + k->wide].items[i]);
}

cg_val r_minus_part(const cg_real *k, cg_coefficients first, unsigned i)
{
    return r_number(k, -rows[first + k->wide].items[i]);
}

cg_val r_polynomial(const cg_real *k, cg_coefficients first, cg_val x)
{
    const row *r = &rows[first + k->wide];
    cg_val sum = r_number(k, r->items[r->count - 1]);
    for (unsigned i = r->count - 1u; i-- > 0;)
        sum = r_fma(k, sum, x, r_number(k, r->items[i]));
    return sum;
}

cg_val r_rint(const cg_real *k, cg_val a)
{
    cg_val result = cg_new(k->c, r_class(k));
    cg_ins(k->c, "cvt.rni.%s.%s %v, %v", suffix(k), suffix(k), result, a);
    return result;
}

cg_val r_test(const cg_real *k, const char *comparison, cg_val a, cg_val b)
{
    cg_val p = cg_new(k->c, CG_PRED);
    a = cg_reg(k->c, a);
    cg_ins(k->c, "setp.%s.%s %v, %v, %r", comparison, suffix(k), p, a, b);
    return p;
}

cg_val r_select(const cg_real *k, cg_val p, cg_val a, cg_val b)
{
    return cg_select(k->c, p, a, b);
}

cg_val r_copysign(const cg_real *k, cg_val a, cg_val b)
{
    return r_op(k, "copysign", 2, b, a, a);
}

/* Does the target have min and max that propagate NaN? f64 has none. */
static bool has_nan_forms(const cg_real *k)
{
    return !k->wide && k->c->target->features & CG_HAS_MIN_MAX;
}

cg_val r_limited(const cg_real *k, cg_val x, cg_val limit)
{
    if (has_nan_forms(k))
        return r_op(k, "min.NaN", 2, x, limit, limit);
    return r_select(k, r_test(k, "gt", x, limit), limit, x);
}

cg_val r_clamp(const cg_real *k, cg_val x, cg_val limit)
{
    if (has_nan_forms(k))
        return r_op(k, "min.NaN", 2, r_op(k, "max.NaN", 2, x, cg_const(CG_B32, limit.bits | 0x80000000), x), limit, x);
    cg_val beyond = r_test(k, "gt", r_abs(k, x), limit);
    return r_select(k, beyond, r_copysign(k, limit, x), x);
}

cg_pair r_two_sum(const cg_real *k, cg_val a, cg_val b)
{
    cg_val sum = r_add(k, a, b), of_b = r_sub(k, sum, a);
    cg_val rest_a = r_sub(k, a, r_sub(k, sum, of_b)), rest_b = r_sub(k, b, of_b);
    return (cg_pair){sum, r_add(k, rest_a, rest_b)};
}

cg_pair r_fast_two_sum(const cg_real *k, cg_val a, cg_val b)
{
    cg_val sum = r_add(k, a, b);
    return (cg_pair){sum, r_add(k, r_sub(k, a, sum), b)};
}

cg_pair r_two_product(const cg_real *k, cg_val a, cg_val b)
{
    cg_val product = r_mul(k, a, b);
    return (cg_pair){product, r_fma(k, a, b, r_neg(k, product))};
}

cg_pair r_pair_product(const cg_real *k, cg_pair a, cg_pair b)
{
    cg_pair p = r_two_product(k, a.high, b.high);
    cg_val cross = r_fma(k, a.low, b.high, r_mul(k, a.high, b.low));
    return (cg_pair){p.high, r_add(k, p.low, cross)};
}

cg_pair r_pair_quotient(const cg_real *k, cg_pair a, cg_pair b)
{
    cg_val inverse = r_op(k, "rcp.rn", 1, b.high, b.high, b.high), quotient = r_mul(k, a.high, inverse);
    cg_val minus = r_neg(k, quotient), rest = r_fma(k, minus, b.high, a.high);
    rest = r_fma(k, minus, b.low, r_add(k, rest, a.low));
    return (cg_pair){quotient, r_mul(k, rest, inverse)};
}

cg_val cg_int_op(cg_func *c, const char *op, cg_val a, cg_val b)
{
    cg_val result = cg_new(c, CG_B32);
    cg_ins(c, "%s %v, %v, %v", op, result, a, b);
    return result;
}

cg_val r_power_of_two(const cg_real *k, cg_val n)
{
    cg_val field = cg_int_op(k->c, "add.s32", n, cg_const(CG_B32, k->wide ? 1023 : 127));
    cg_val top = cg_int_op(k->c, "shl.b32", field, cg_const(CG_B32, k->wide ? 20 : 23));
    if (!k->wide)
        return top;
    cg_val result = cg_new(k->c, CG_B64);
    cg_ins(k->c, "mov.b64 %v, {%r, %v}", result, cg_const(CG_B32, 0), top);
    return result;
}

cg_val r_scale(const cg_real *k, cg_val x, cg_val n)
{
    cg_val half = cg_int_op(k->c, "shr.s32", n, cg_const(CG_B32, 1)), rest = cg_int_op(k->c, "sub.s32", n, half);
    cg_val last = r_power_of_two(k, rest);
    return r_mul(k, r_mul(k, x, r_power_of_two(k, half)), last);
}
