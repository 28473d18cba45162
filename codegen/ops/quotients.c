/* Quotients of f32, rounded to the nearest, several at a time. ptxas makes a test and a branch of each division, one
   after the other, though the reciprocal of one divisor would do for all; here all are computed side by side where one
   test finds every operand in a range in which nothing underflows or overflows, and one by one where it does not:

       y = rcp(b), twice y += y (1 - b y),   then of each a   q = a y, q += y (a - b q)

   which is the number nearest to a / b (P. Markstein, "Computation of elementary functions on the IBM RISC System/6000
   processor") for any reciprocal within 2 units in the last place to begin with (PTX ISA, "rcp.approx.ftz.f32": 1), but
   of divisors whose fraction is all ones, of which y may not be the nearest (tests/unit/quotients.c tries it). A zero
   has the sign of a y. Of a constant y is a constant, the nearest one. */
#include <math.h>

#include "bytecode/number/fast.h"
#include "bytecode/number/number.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/ptx.h"

enum { LANES = 4 /* of a minimum or maximum, so that they need not wait for each other */ };

/* Ranges in which q is normal and a - b q exact: of dividends up to 2^60, zero or at least 2^-100, of divisors 2^-60 to
   2^25. */
#define MOST "0f5D800000"
#define LEAST "0x1affffff" /* 2 (2^-100 as an integer) - 1: of a dividend without its sign zero is the largest then */
#define MOST_OF_DIVISORS "0f4C000000"
#define LEAST_OF_DIVISORS "0f21800000"

enum { ALL_ONES = 0x7FFFFF };

/* A minimum or maximum so far. */
typedef struct extreme {
    const char *ins;
    cg_val lanes[LANES];
    uint32_t count;
} extreme;

/* As f32: a register, and one that may be a constant. */
typedef struct quotient {
    cg_val a, b, result;
    uint32_t at, first; /* which register it is of; the first item with the same divisor */
} quotient;

typedef struct quotients {
    cg_func *c;
    quotient *items;
    uint32_t count, divisors;
    cg_val *inverse, *negative; /* by number of the first item with the divisor */
    extreme most, least, most_of_divisors, least_of_divisors, fraction;
} quotients;

static void take(cg_func *c, extreme *x, cg_val value)
{
    uint32_t lane = x->count++ % LANES;
    if (x->count <= LANES) {
        x->lanes[lane] = value;
        return;
    }
    cg_val next = cg_new(c, CG_B32);
    cg_ins(c, "%s %v, %v, %v", x->ins, next, x->lanes[lane], value);
    x->lanes[lane] = next;
}

static cg_val extreme_of(cg_func *c, const extreme *x)
{
    cg_val all = x->lanes[0];
    for (uint32_t i = 1; i < x->count && i < LANES; i++) {
        cg_val next = cg_new(c, CG_B32);
        cg_ins(c, "%s %v, %v, %v", x->ins, next, all, x->lanes[i]);
        all = next;
    }
    return all;
}

static cg_val magnitude(cg_func *c, cg_val value)
{
    cg_val size = cg_new(c, CG_B32);
    cg_ins(c, "abs.f32 %v, %v", size, value);
    return size;
}

static void look_at_dividend(quotients *x, cg_val a)
{
    cg_func *c = x->c;
    cg_val twice = cg_new(c, CG_B32), low = cg_new(c, CG_B32);
    take(c, &x->most, magnitude(c, a));
    cg_ins(c, "shl.b32 %v, %v, 1", twice, a);
    cg_ins(c, "sub.u32 %v, %v, 1", low, twice);
    take(c, &x->least, low);
}

static void look_at_divisor(quotients *x, cg_val b)
{
    cg_val size = magnitude(x->c, b), fraction = cg_new(x->c, CG_B32);
    take(x->c, &x->most_of_divisors, size);
    take(x->c, &x->least_of_divisors, size);
    cg_ins(x->c, "and.b32 %v, %v, %x", fraction, b, (uint32_t)ALL_ONES);
    take(x->c, &x->fraction, fraction);
}

static void test_divisors(const quotients *x, cg_val all)
{
    cg_func *c = x->c;
    if (!x->fraction.count)
        return; /* they are constants */
    cg_ins(c, "setp.le.and.f32 %v, %v, " MOST_OF_DIVISORS ", %v", all, extreme_of(c, &x->most_of_divisors), all);
    cg_ins(c, "setp.ge.and.f32 %v, %v, " LEAST_OF_DIVISORS ", %v", all, extreme_of(c, &x->least_of_divisors), all);
    cg_ins(c, "setp.ne.and.u32 %v, %v, %x, %v", all, extreme_of(c, &x->fraction), (uint32_t)ALL_ONES, all);
}

/* A predicate: are all operands in range, or NaN, which gives NaN in any case? */
static cg_val test(quotients *x)
{
    cg_func *c = x->c;
    for (uint32_t i = 0; i < x->count; i++) {
        look_at_dividend(x, x->items[i].a);
        if (x->items[i].first == i && !x->items[i].b.known)
            look_at_divisor(x, x->items[i].b);
    }
    cg_val all = cg_new(c, CG_PRED);
    cg_ins(c, "setp.le.f32 %v, %v, " MOST, all, extreme_of(c, &x->most));
    cg_ins(c, "setp.ge.and.u32 %v, %v, " LEAST ", %v", all, extreme_of(c, &x->least), all);
    test_divisors(x, all);
    return all;
}

/* Of a constant. */
static void know_inverse(quotients *x, uint32_t i)
{
    enum { ONE = 0x3F800000, SIGN = 31 };
    uint64_t b = x->items[i].b.bits;
    uint64_t y = bc_float_div(BC_F32, ONE, b, BC_RoundingMode_nearest_even, false);
    x->inverse[i] = cg_reg(x->c, cg_const(CG_B32, y));
    x->negative[i] = cg_reg(x->c, cg_const(CG_B32, b ^ (uint64_t)1 << SIGN));
}

static void invert(quotients *x, uint32_t i)
{
    enum { STEPS = 2 };
    cg_func *c = x->c;
    x->inverse[i] = cg_new(c, CG_B32);
    x->negative[i] = cg_new(c, CG_B32);
    cg_ins(c, "rcp.approx.ftz.f32 %v, %v", x->inverse[i], x->items[i].b);
    cg_ins(c, "neg.f32 %v, %v", x->negative[i], x->items[i].b);
    for (uint32_t step = 0; step < STEPS; step++) {
        cg_val rest = cg_new(c, CG_B32), better = cg_new(c, CG_B32);
        cg_ins(c, "fma.rn.f32 %v, %v, %v, 0f3F800000", rest, x->inverse[i], x->negative[i]);
        cg_ins(c, "fma.rn.f32 %v, %v, %v, %v", better, x->inverse[i], rest, x->inverse[i]);
        x->inverse[i] = better;
    }
}

static void divide(const quotients *x, uint32_t i)
{
    cg_func *c = x->c;
    const quotient *item = &x->items[i];
    cg_val y = x->inverse[item->first], first = cg_new(c, CG_B32), rest = cg_new(c, CG_B32), sum = cg_new(c, CG_B32),
           sign = cg_new(c, CG_B32);
    cg_ins(c, "mul.rn.f32 %v, %v, %v", first, item->a, y);
    cg_ins(c, "fma.rn.f32 %v, %v, %v, %v", rest, first, x->negative[item->first], item->a);
    cg_ins(c, "fma.rn.f32 %v, %v, %v, %v", sum, y, rest, first);
    cg_ins(c, "and.b32 %v, %v, 0x80000000", sign, first);
    cg_ins(c, "or.b32 %v, %v, %v", item->result, sum, sign);
}

/* No power of two either, which is multiplied by. */
static bool is_ordinary(cg_val divisor)
{
    uint32_t fraction = (uint32_t)divisor.bits & ALL_ONES;
    float size = fabsf(bc_f32_from_bits((uint32_t)divisor.bits));
    return size >= 0x1p-60f && size <= 0x1p25f && fraction && fraction != ALL_ONES;
}

/* ---- which ---- */

/* A constant stays one. */
static cg_val as_f32(cg_func *c, bc_kind kind, cg_val x)
{
    if (x.known)
        return cg_const(CG_B32, bc_float_convert(BC_F32, kind, x.bits, BC_RoundingMode_nearest_even));
    return cg_any_to_f32(c, kind, x);
}

/* False: there are too many divisors for the test and the second way to pay. */
static bool find(quotients *x, const cg_val *b, uint32_t count, uint32_t idle)
{
    enum { OF_EACH = 4 }; /* quotients of a divisor, on average */
    for (uint32_t r = 0; r < count && x->divisors * OF_EACH <= count; r++) {
        uint32_t first = 0;
        if (r & idle)
            continue;
        while (first < x->count && !cg_is_same_val(&b[x->items[first].at], &b[r]))
            first++;
        x->divisors += first == x->count;
        x->items[x->count++] = (quotient){.at = r, .first = first};
    }
    return x->count >= OF_EACH * x->divisors;
}

/* False: a constant is not ordinary. */
static bool read_operands(quotients *x, bc_kind kind, const cg_val *a, const cg_val *b)
{
    for (uint32_t i = 0; i < x->count; i++) {
        quotient *item = &x->items[i];
        item->a = cg_reg(x->c, as_f32(x->c, kind, a[item->at]));
        item->b = item->first < i ? x->items[item->first].b : as_f32(x->c, kind, b[item->at]);
        if (item->b.known && !is_ordinary(item->b))
            return false;
    }
    return true;
}

/* ---- all of them ---- */

static void put(quotients *x)
{
    cg_func *c = x->c;
    uint32_t slow = cg_label(c), behind = cg_label(c);
    for (uint32_t i = 0; i < x->count; i++)
        x->items[i].result = cg_new(c, CG_B32);
    cg_ins(c, "@!%v bra %l", test(x), slow);
    for (uint32_t i = 0; i < x->count; i++) {
        if (x->items[i].first == i && x->items[i].b.known)
            know_inverse(x, i);
        else if (x->items[i].first == i)
            invert(x, i);
        divide(x, i);
    }
    cg_ins(c, "bra %l", behind);
    cg_place_label(c, slow);
    for (uint32_t i = 0; i < x->count; i++)
        cg_ins(c, "div.rn.f32 %v, %v, %r", x->items[i].result, x->items[i].a, x->items[i].b);
    cg_place_label(c, behind);
}

bool cg_divide_together(cg_func *c, bc_kind kind, const cg_val *a, const cg_val *b, uint32_t count, uint32_t idle,
                        cg_val *out)
{
    quotients x = {.c = c,
                   .items = bc_new(&c->arena, quotient, count),
                   .inverse = cg_vals(c, count),
                   .negative = cg_vals(c, count),
                   .most = {.ins = "max.f32"},
                   .least = {.ins = "min.u32"},
                   .most_of_divisors = {.ins = "max.f32"},
                   .least_of_divisors = {.ins = "min.f32"},
                   .fraction = {.ins = "max.u32"}};
    if (!x.items || !x.inverse || !x.negative || !find(&x, b, count, idle) || !read_operands(&x, kind, a, b))
        return false;
    put(&x);
    for (uint32_t i = 0; i < x.count; i++)
        out[x.items[i].at] = kind == BC_F32 ? x.items[i].result : cg_from_f32(c, kind, "rn", x.items[i].result);
    for (uint32_t r = 0; r < count; r++)
        out[r] = out[r & ~idle];
    return true;
}
