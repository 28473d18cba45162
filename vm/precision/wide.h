/* Numbers of about 106 bits: the unevaluated sum of two doubles, the second at most half a unit in the last place of
   the first. If the number is infinite or NaN, the second part is 0. */
#ifndef TILEVM_VM_PRECISION_WIDE_H
#define TILEVM_VM_PRECISION_WIDE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct vm_wide {
    double hi, lo;
} vm_wide;

static inline bool vm_is_finite(double x)
{
    return x - x == 0;
}

static inline vm_wide vm_wide_of(double x)
{
    return (vm_wide){x, 0};
}

/* a + b, exactly. */
static inline vm_wide vm_wide_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (vm_wide){s, vm_is_finite(s) ? (a - (s - t)) + (b - t) : 0};
}

/* The same for |a| >= |b|. */
static inline vm_wide vm_wide_near(double a, double b)
{
    double s = a + b;
    return (vm_wide){s, vm_is_finite(s) ? b - (s - a) : 0};
}

static inline vm_wide vm_wide_product(double a, double b)
{
    double p = a * b;
    return (vm_wide){p, vm_is_finite(p) ? fma(a, b, -p) : 0};
}

static inline vm_wide vm_wide_neg(vm_wide a)
{
    return (vm_wide){-a.hi, -a.lo};
}

static inline vm_wide vm_wide_add(vm_wide a, vm_wide b)
{
    vm_wide s = vm_wide_sum(a.hi, b.hi), t = vm_wide_sum(a.lo, b.lo);
    s = vm_wide_near(s.hi, s.lo + t.hi);
    return vm_wide_near(s.hi, s.lo + t.lo);
}

static inline vm_wide vm_wide_sub(vm_wide a, vm_wide b)
{
    return vm_wide_add(a, vm_wide_neg(b));
}

static inline vm_wide vm_wide_mul(vm_wide a, vm_wide b)
{
    vm_wide p = vm_wide_product(a.hi, b.hi);
    return vm_is_finite(p.hi) ? vm_wide_near(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi)) : p;
}

static inline vm_wide vm_wide_div(vm_wide a, vm_wide b)
{
    double q = a.hi / b.hi;
    if (!vm_is_finite(q) || !vm_is_finite(b.hi))
        return vm_wide_of(q);
    vm_wide rest = vm_wide_sub(a, vm_wide_mul(b, vm_wide_of(q)));
    double second = rest.hi / b.hi;
    rest = vm_wide_sub(rest, vm_wide_mul(b, vm_wide_of(second)));
    return vm_wide_add(vm_wide_near(q, second), vm_wide_of(rest.hi / b.hi));
}

static inline vm_wide vm_wide_sqrt(vm_wide a)
{
    double x = sqrt(a.hi);
    if (!(x > 0) || !vm_is_finite(x))
        return vm_wide_of(x);
    vm_wide rest = vm_wide_sub(a, vm_wide_product(x, x));
    return vm_wide_near(x, rest.hi / (2 * x));
}

static inline vm_wide vm_wide_floor(vm_wide a)
{
    double x = floor(a.hi);
    return x == a.hi ? vm_wide_sum(x, floor(a.lo)) : vm_wide_of(x);
}

static inline bool vm_wide_less(vm_wide a, vm_wide b)
{
    return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

static inline bool vm_wide_equal(vm_wide a, vm_wide b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

/* a - b, rounded; where one is not finite: 0 if they are the same, else infinite. */
static inline double vm_wide_distance(vm_wide a, vm_wide b)
{
    if (vm_is_finite(a.hi) && vm_is_finite(b.hi))
        return (a.hi - b.hi) + (a.lo - b.lo);
    return a.hi == b.hi || (a.hi != a.hi && b.hi != b.hi) ? 0 : (double)INFINITY;
}

/* Functions are computed in long double, and are as precise as that type. */
static inline long double vm_wide_long(vm_wide a)
{
    return (long double)a.hi + a.lo;
}

static inline vm_wide vm_wide_of_long(long double x)
{
    double hi = (double)x;
    return (vm_wide){hi, vm_is_finite(hi) ? (double)(x - hi) : 0};
}

/* An integer of 64 bits, exactly. */
static inline vm_wide vm_wide_of_int(uint64_t x, bool is_signed)
{
    double high = is_signed ? (double)((int64_t)x >> 32) : (double)(x >> 32);
    return vm_wide_sum(high * 4294967296.0, (double)(uint32_t)x);
}

#endif
