/* Quotients of f32, rounded to the nearest, several at a time. ptxas makes a test and a branch of each division, so
   that one follows the other, and a reciprocal of each, though that of one divisor would do for several; here all are
   computed side by side where one test finds every operand in a range in which nothing underflows or overflows, and
   one by one where it does not:

       y = rcp(b), e = 1 - b y, y += y (e + e e)   then of each a   q = a y, q += y (a - b q)

   e + e e is rounded up. y is the number nearest to 1 / b then, or the one below it for six pairs of a fraction and a
   first reciprocal, and q the one nearest to a / b, for any reciprocal within 2 units in the last place to begin with
   (PTX ISA, "rcp.approx.ftz.f32": 1). tests/unit/quotients.c tries all fractions of divisors, and dividends whose
   quotients lie next to the middle of two numbers (P. Markstein, "Computation of elementary functions on the IBM RISC
   System/6000 processor"). A zero has the sign of a y. Of a constant y is a constant, the nearest one. */
#include <math.h>

#include "bytecode/number/fast.h"
#include "bytecode/number/number.h"
#include "codegen/analysis/product.h"
#include "codegen/ops/map.h"
#include "codegen/ptx/ptx.h"

enum { LANES = 4 /* of a minimum or maximum, so that they need not wait for each other */ };

/* Ranges in which q is normal and a - b q exact: of dividends up to 2^60, zero or at least 2^-100, of divisors 2^-60 to
   2^25; to 2^100 if dividends but zero are at least 2^-24. */
#define MOST "0f5D800000"
#define LEAST "0x1affffff" /* 2 (2^-100 as an integer) - 1: of a dividend without its sign zero is the largest then */
#define MOST_OF_DIVISORS "0f4C000000"
#define MOST_OF_MODERATE "0f71800000"
#define LEAST_OF_DIVISORS "0f21800000"

enum { ALL_ONES = 0x7FFFFF };

/* A minimum or maximum so far. */
typedef struct extreme {
    const char *ins;
    cg_val lanes[LANES];
    uint32_t count;
} extreme;

/* Operands as f32, which may be constants. */
typedef struct quotient {
    cg_val a, b, result;
    uint32_t at, first; /* which register it is of; the first item with the same divisor */
} quotient;

typedef struct quotients {
    cg_func *c;
    quotient *items;
    uint32_t count, divisors;
    bool moderate;              /* no dividend but zero is smaller than the range */
    cg_val *inverse, *negative; /* by number of the first item with the divisor */
    extreme most, least, most_of_divisors, least_of_divisors;
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
    take(c, &x->most, magnitude(c, a));
    if (x->moderate)
        return;
    cg_val twice = cg_new(c, CG_B32), low = cg_new(c, CG_B32);
    cg_ins(c, "shl.b32 %v, %v, 1", twice, a);
    cg_ins(c, "sub.u32 %v, %v, 1", low, twice);
    take(c, &x->least, low);
}

static void look_at_divisor(quotients *x, cg_val b)
{
    cg_val size = magnitude(x->c, b);
    take(x->c, &x->most_of_divisors, size);
    take(x->c, &x->least_of_divisors, size);
}

/* Adds a condition to the predicate, which is known at first. */
static void require(cg_func *c, cg_val *all, const char *compare, const char *type, const extreme *x, const char *limit)
{
    cg_val value = extreme_of(c, x), both = cg_new(c, CG_PRED);
    if (all->known)
        cg_ins(c, "setp.%s.%s %v, %v, %s", compare, type, both, value, limit);
    else
        cg_ins(c, "setp.%s.and.%s %v, %v, %s, %v", compare, type, both, value, limit, *all);
    *all = both;
}

/* A predicate: are all operands in range, or NaN, which gives NaN in any case? Constants are. */
static cg_val test(quotients *x, uint32_t from, uint32_t end)
{
    cg_func *c = x->c;
    for (uint32_t i = from; i < end; i++) {
        if (!x->items[i].a.known)
            look_at_dividend(x, x->items[i].a);
        if (x->items[i].first == i && !x->items[i].b.known)
            look_at_divisor(x, x->items[i].b);
    }
    cg_val all = cg_const(CG_PRED, 1);
    if (x->most.count)
        require(c, &all, "le", "f32", &x->most, MOST);
    if (x->least.count)
        require(c, &all, "ge", "u32", &x->least, LEAST);
    if (x->most_of_divisors.count) {
        require(c, &all, "le", "f32", &x->most_of_divisors, x->moderate ? MOST_OF_MODERATE : MOST_OF_DIVISORS);
        require(c, &all, "ge", "f32", &x->least_of_divisors, LEAST_OF_DIVISORS);
    }
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
    cg_func *c = x->c;
    cg_val near = cg_new(c, CG_B32), rest = cg_new(c, CG_B32), more = cg_new(c, CG_B32);
    x->inverse[i] = cg_new(c, CG_B32);
    x->negative[i] = cg_new(c, CG_B32);
    cg_ins(c, "rcp.approx.ftz.f32 %v, %v", near, x->items[i].b);
    cg_ins(c, "neg.f32 %v, %v", x->negative[i], x->items[i].b);
    cg_ins(c, "fma.rn.f32 %v, %v, %v, 0f3F800000", rest, near, x->negative[i]);
    cg_ins(c, "fma.rp.f32 %v, %v, %v, %v", more, rest, rest, rest);
    cg_ins(c, "fma.rn.f32 %v, %v, %v, %v", x->inverse[i], near, more, near);
}

static void divide(const quotients *x, uint32_t i)
{
    cg_func *c = x->c;
    const quotient *item = &x->items[i];
    cg_val y = x->inverse[item->first], first = cg_new(c, CG_B32), rest = cg_new(c, CG_B32), sum = cg_new(c, CG_B32),
           sign = cg_new(c, CG_B32);
    cg_ins(c, "mul.rn.f32 %v, %r, %v", first, item->a, y);
    cg_ins(c, "fma.rn.f32 %v, %v, %v, %r", rest, first, x->negative[item->first], item->a);
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

/* A dividend. */
static bool is_in_range(cg_val dividend)
{
    float size = fabsf(bc_f32_from_bits((uint32_t)dividend.bits));
    return size == 0 || (size >= 0x1p-100f && size <= 0x1p60f);
}

/* ---- which ---- */

/* Lists the registers, with their divisors. */
static void find(quotients *x, const cg_val *b, uint32_t count, uint32_t idle)
{
    for (uint32_t r = 0; r < count; r++) {
        uint32_t first = 0;
        if (r & idle)
            continue;
        while (first < x->count && !cg_is_same_val(&b[x->items[first].at], &b[r]))
            first++;
        x->divisors += first == x->count;
        x->items[x->count++] = (quotient){.at = r, .first = first};
    }
}

/* Has each about a divisor of its own? */
static bool are_alone(const quotients *x)
{
    enum { OF_EACH = 4 };
    return x->count < OF_EACH * x->divisors;
}

/* Do the test and the second way pay? Of one divisor each, separate divisions take about as many instructions, but wait
   for each other. That is no matter where many warps wait for memory; those of kernels with products are few. Each
   minimum or maximum of the test has as many operands that wait for nothing. */
static bool pays(const quotients *x)
{
    return !are_alone(x) || (x->count >= LANES && cg_has_products(x->c->ir->body));
}

/* False: a constant is not ordinary. */
static bool read_operands(quotients *x, const cg_division *d)
{
    for (uint32_t i = 0; i < x->count; i++) {
        quotient *item = &x->items[i];
        item->a = cg_widened(x->c, d->kind, d->dividends[item->at]);
        item->b = item->first < i ? x->items[item->first].b : cg_widened(x->c, d->kind, d->divisors[item->at]);
        if ((item->a.known && !is_in_range(item->a)) || (item->b.known && !is_ordinary(item->b)))
            return false;
    }
    return true;
}

/* ---- all of them ---- */

/* Those numbered from `from` to `end`. */
static void put(quotients *x, uint32_t from, uint32_t end)
{
    cg_func *c = x->c;
    uint32_t slow = cg_label(c), behind = cg_label(c);
    x->most.count = x->least.count = x->most_of_divisors.count = x->least_of_divisors.count = 0;
    for (uint32_t i = from; i < end; i++) {
        x->items[i].first = x->items[i].first < from ? i : x->items[i].first;
        x->items[i].result = cg_new(c, CG_B32);
    }
    cg_ins(c, "@!%v bra %l", cg_reg(c, test(x, from, end)), slow);
    for (uint32_t i = from; i < end; i++) {
        if (x->items[i].first == i && x->items[i].b.known)
            know_inverse(x, i);
        else if (x->items[i].first == i)
            invert(x, i);
        divide(x, i);
    }
    cg_ins(c, "bra %l", behind);
    cg_place_label(c, slow);
    for (uint32_t i = from; i < end; i++)
        cg_ins(c, "div.rn.f32 %v, %r, %r", x->items[i].result, x->items[i].a, x->items[i].b);
    cg_place_label(c, behind);
}

bool cg_divide_together(cg_func *c, const cg_division *d, uint32_t count, uint32_t idle, cg_val *out)
{
    enum { AT_A_TIME = 16 /* with divisors of their own: enough to hide each other's latencies, in few registers */ };
    quotients x = {.c = c,
                   .items = bc_new(&c->arena, quotient, count),
                   .moderate = d->moderate || d->kind == BC_F16,
                   .inverse = cg_vals(c, count),
                   .negative = cg_vals(c, count),
                   .most = {.ins = "max.f32"},
                   .least = {.ins = "min.u32"},
                   .most_of_divisors = {.ins = "max.f32"},
                   .least_of_divisors = {.ins = "min.f32"}};
    if (!x.items || !x.inverse || !x.negative)
        return false;
    find(&x, d->divisors, count, idle);
    if (!pays(&x) || !read_operands(&x, d))
        return false;
    for (uint32_t from = 0, step = are_alone(&x) ? AT_A_TIME : x.count; from < x.count; from += step)
        put(&x, from, from + step < x.count ? from + step : x.count);
    for (uint32_t i = 0; i < x.count; i++)
        out[x.items[i].at] = d->kind == BC_F32 ? x.items[i].result : cg_from_f32(c, d->kind, "rn", x.items[i].result);
    for (uint32_t r = 0; r < count; r++)
        out[r] = out[r & ~idle];
    return true;
}
