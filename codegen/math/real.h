/* Arithmetic on f32 or f64 for functions that are emitted from C (codegen/math_*.c): one text for both types. Every
   operation is rounded to nearest, none is contracted, so that what a function gives does not depend on the target. */
#ifndef TILEVM_CODEGEN_MATH_REAL_H
#define TILEVM_CODEGEN_MATH_REAL_H

#include "codegen/kernel/kernel.h"

typedef struct cg_real {
    cg_func *c;
    bool wide; /* f64 */
} cg_real;

/* A number as a sum of two, the second at most half a unit in the last place of the first. */
typedef struct cg_pair {
    cg_val high, low;
} cg_pair;

/* The rows of codegen/math/coefficients.def; those of f64 follow those of f32. */
typedef enum cg_coefficients {
#define POLYNOMIAL(name, type, ...) CG_##name##_##type,
#define PARTS(name, type, ...) CG_##name##_##type,
#include "codegen/math/coefficients.def"
    CG_COEFFICIENTS
} cg_coefficients;

static inline cg_class r_class(const cg_real *k)
{
    return k->wide ? CG_B64 : CG_B32;
}

/* op.f32 or op.f64 of up to three operands. */
cg_val r_op(const cg_real *k, const char *op, unsigned operands, cg_val a, cg_val b, cg_val d);
/* A number, which must be one of the type. */
cg_val r_number(const cg_real *k, double x);
/* x in f32, y in f64. */
static inline cg_val r_either(const cg_real *k, double x, double y)
{
    return r_number(k, k->wide ? y : x);
}
/* Bits of the type: the pattern of f32 or f64. */
static inline cg_val r_bits(const cg_real *k, uint32_t narrow, uint64_t wide)
{
    return cg_const(r_class(k), k->wide ? wide : narrow);
}
static inline cg_val r_infinity(const cg_real *k)
{
    return r_bits(k, 0x7f800000, UINT64_C(0x7ff0000000000000));
}
static inline cg_val r_nan(const cg_real *k)
{
    return r_bits(k, 0x7fffffff, UINT64_C(0x7ff8000000000000));
}

/* Item i of a row; the polynomial of a row at x. row: the one of f32. */
cg_val r_part(const cg_real *k, cg_coefficients row, unsigned i);
cg_val r_polynomial(const cg_real *k, cg_coefficients row, cg_val x);
/* The negative of item i of a row. */
cg_val r_minus_part(const cg_real *k, cg_coefficients row, unsigned i);

static inline cg_val r_add(const cg_real *k, cg_val a, cg_val b)
{
    return r_op(k, "add.rn", 2, a, b, a);
}
static inline cg_val r_sub(const cg_real *k, cg_val a, cg_val b)
{
    return r_op(k, "sub.rn", 2, a, b, a);
}
static inline cg_val r_mul(const cg_real *k, cg_val a, cg_val b)
{
    return r_op(k, "mul.rn", 2, a, b, a);
}
static inline cg_val r_fma(const cg_real *k, cg_val a, cg_val b, cg_val d)
{
    return r_op(k, "fma.rn", 3, a, b, d);
}
static inline cg_val r_neg(const cg_real *k, cg_val a)
{
    return r_op(k, "neg", 1, a, a, a);
}
static inline cg_val r_abs(const cg_real *k, cg_val a)
{
    return r_op(k, "abs", 1, a, a, a);
}
/* The nearest integral number. */
cg_val r_rint(const cg_real *k, cg_val a);
/* a of the comparison ("lt", "neu", ...) as a predicate. */
cg_val r_test(const cg_real *k, const char *comparison, cg_val a, cg_val b);
/* p ? a : b */
cg_val r_select(const cg_real *k, cg_val p, cg_val a, cg_val b);
/* x where |x| <= limit, else the limit, a constant, with the sign of x; NaN stays. */
cg_val r_clamp(const cg_real *k, cg_val x, cg_val limit);
/* The smaller one of x and the limit; NaN if x is NaN. */
cg_val r_limited(const cg_real *k, cg_val x, cg_val limit);
/* |a| with the sign of b. */
cg_val r_copysign(const cg_real *k, cg_val a, cg_val b);
/* a + b, the rounding error of it too; fast: |a| >= |b|, or a is 0. */
cg_pair r_two_sum(const cg_real *k, cg_val a, cg_val b);
cg_pair r_fast_two_sum(const cg_real *k, cg_val a, cg_val b);
cg_pair r_two_product(const cg_real *k, cg_val a, cg_val b);
/* Products and quotients of pairs, not normalised. */
cg_pair r_pair_product(const cg_real *k, cg_pair a, cg_pair b);
cg_pair r_pair_quotient(const cg_real *k, cg_pair a, cg_pair b);
/* x * 2^n for a 32-bit integer register n, in two steps: exact where the result is normal. */
cg_val r_scale(const cg_real *k, cg_val x, cg_val n);
/* 2^n, normal. */
cg_val r_power_of_two(const cg_real *k, cg_val n);

/* Integer instructions on 32-bit registers. */
cg_val cg_int_op(cg_func *c, const char *op, cg_val a, cg_val b);

#endif
