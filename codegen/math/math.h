/* Mathematical functions as PTX (codegen/math/math.def). The algorithms are in codegen/math/exp.c and trig.c. */
#ifndef TILEVM_CODEGEN_MATH_MATH_H
#define TILEVM_CODEGEN_MATH_MATH_H

#include "codegen/math/real.h"
#include "codegen/ptx/emit.h"

/* Emits instructions that compute the function of its operands, which are registers. */
typedef cg_val cg_math_fn(const cg_real *k, const cg_val *x);
#define FUNCTION(op, f32, f64, operands, form) cg_math_fn cg_math_##f32, cg_math_##f64;
#include "codegen/math/math.def"

/* The same where *out_near, a predicate, is true. */
typedef cg_val cg_math_near_fn(const cg_real *k, cg_val x, cg_val *out_near);
#define NEAR(op, name, wide) cg_math_near_fn cg_math_##name;
#include "codegen/math/math.def"

/* The element-wise op on f32 or f64 elements; false: it is no function of math.def. variant is that of
   codegen/ops/maps.def. */
bool cg_math_element(cg_func *c, const char *op, const char *variant, bool wide, const cg_val *operands,
                     cg_val *out_result);

/* Has NEAR of math.def the function? */
bool cg_math_has_near(const char *op, bool wide);
/* Operands that share a test. Enough that a warp need not wait for its own results; all of them, and the results, are
   live until the test. Fewer of f64, of several temporary values of two registers each. */
enum { CG_MATH_GROUP = 8 };
uint32_t cg_math_group(bool wide);
/* Such a function of a group of operands, f32 or f64 in registers: computed side by side, with one test. */
void cg_math_together(cg_func *c, const char *op, bool wide, const cg_val *x, uint32_t count, cg_val *out);

/* 2 / pi in memory: an address that the function being emitted can read words at (codegen/math/two_over_pi.c). */
cg_val cg_two_over_pi(cg_func *c);

/* Whether the module has this already: a function by its number, or the table of 2/pi; it has from now on. */
enum { CG_TABLE_BIT = 63 };
static inline bool cg_math_once(cg_func *c, unsigned bit)
{
    bool first = !(c->written->functions >> bit & 1);
    c->written->functions |= (uint64_t)1 << bit;
    return first;
}

#endif
