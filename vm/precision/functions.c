/* Element-wise ops on numbers of 106 bits. Functions such as exp have the digits of long double: 64 bits on x86-64, 113
   on AArch64. */
#include "vm/precision/functions.h"

/* ---- arithmetic ---- */

static vm_wide exact_addf(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return vm_wide_add(x[0], x[1]);
}
static vm_wide exact_subf(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return vm_wide_sub(x[0], x[1]);
}
static vm_wide exact_mulf(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return vm_wide_mul(x[0], x[1]);
}
static vm_wide exact_divf(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return vm_wide_div(x[0], x[1]);
}
static vm_wide exact_fma(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return vm_wide_add(vm_wide_mul(x[0], x[1]), x[2]);
}
static vm_wide exact_sqrt(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return vm_wide_sqrt(x[0]);
}
static vm_wide exact_rsqrt(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return vm_wide_div(vm_wide_of(1), vm_wide_sqrt(x[0]));
}
static vm_wide exact_negf(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return vm_wide_neg(x[0]);
}
static vm_wide exact_absf(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return x[0].hi < 0 ? vm_wide_neg(x[0]) : x[0];
}
static vm_wide exact_floor(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return vm_wide_floor(x[0]);
}
static vm_wide exact_ceil(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return vm_wide_neg(vm_wide_floor(vm_wide_neg(x[0])));
}

/* The larger of two, or the one that is a number unless NaN is passed on. */
static vm_wide larger(vm_wide a, vm_wide b, bool passes_nan)
{
    if (a.hi != a.hi)
        return passes_nan ? a : b;
    if (b.hi != b.hi)
        return passes_nan ? b : a;
    return vm_wide_less(a, b) ? b : a;
}

static bool flag(const bc_op *op, int row)
{
    uint64_t u = bc_attr_u(op, row);
    return u != 0 && u != BC_ABSENT;
}

static vm_wide exact_maxf(const bc_op *op, const vm_wide *x)
{
    return larger(x[0], x[1], flag(op, F_maxf_propagate_nan));
}
static vm_wide exact_minf(const bc_op *op, const vm_wide *x)
{
    return vm_wide_neg(larger(vm_wide_neg(x[0]), vm_wide_neg(x[1]), flag(op, F_minf_propagate_nan)));
}

/* ---- conversions ---- */

static vm_wide exact_same(const bc_op *op, const vm_wide *x)
{
    (void)op;
    return x[0];
}

/* Towards zero, as ftoi rounds. */
static vm_wide exact_ftoi(const bc_op *op, const vm_wide *x)
{
    return x[0].hi < 0 ? exact_ceil(op, x) : exact_floor(op, x);
}

/* ---- comparisons ---- */

static vm_wide exact_cmpf(const bc_op *op, const vm_wide *x)
{
    bool ordered = bc_attr_u(op, F_cmpf_comparison_ordering) == BC_ComparisonOrdering_ordered;
    bool less = vm_wide_less(x[0], x[1]), greater = vm_wide_less(x[1], x[0]), equal = vm_wide_equal(x[0], x[1]);
    bool holds = false;
    if (!less && !greater && !equal)
        return vm_wide_of(!ordered);
    switch ((bc_ComparisonPredicate)bc_attr_u(op, F_cmpf_comparison_predicate)) {
    case BC_ComparisonPredicate_equal: holds = equal; break;
    case BC_ComparisonPredicate_not_equal: holds = !equal; break;
    case BC_ComparisonPredicate_greater_than: holds = greater; break;
    case BC_ComparisonPredicate_less_than: holds = less; break;
    case BC_ComparisonPredicate_greater_than_or_equal: holds = !less; break;
    case BC_ComparisonPredicate_less_than_or_equal: holds = !greater; break;
    }
    return vm_wide_of(holds);
}

/* ---- functions ---- */

#define FUNCTION(name, call)                                        \
    static vm_wide exact_##name(const bc_op *op, const vm_wide *x_) \
    {                                                               \
        long double x = vm_wide_long(x_[0]);                        \
        (void)op;                                                   \
        return vm_wide_of_long(call);                               \
    }
#define FUNCTION2(name, call)                                         \
    static vm_wide exact_##name(const bc_op *op, const vm_wide *x_)   \
    {                                                                 \
        long double x = vm_wide_long(x_[0]), y = vm_wide_long(x_[1]); \
        (void)op;                                                     \
        return vm_wide_of_long(call);                                 \
    }
FUNCTION(sin, sinl(x))
FUNCTION(cos, cosl(x))
FUNCTION(tan, tanl(x))
FUNCTION(sinh, sinhl(x))
FUNCTION(cosh, coshl(x))
FUNCTION(tanh, tanhl(x))
FUNCTION(exp, expl(x))
FUNCTION(exp2, exp2l(x))
FUNCTION(log, logl(x))
FUNCTION(log2, log2l(x))
FUNCTION2(atan2, atan2l(x, y))
FUNCTION2(fpowf, powl(x, y))
FUNCTION2(fpowi, powl(x, y))
FUNCTION2(remf, fmodl(x, y))

/* ---- the table ---- */

#define EXACT(name, operands, effect) [OP_##name] = {exact_##name, operands, effect, true}
static const vm_exact_op exact_ops[OP_LIMIT] = {
    EXACT(addf, 2, VM_SUM),
    EXACT(subf, 2, VM_SUM),
    EXACT(fma, 3, VM_SUM),
    EXACT(mulf, 2, VM_SMOOTH),
    EXACT(divf, 2, VM_SMOOTH),
    EXACT(sqrt, 1, VM_SMOOTH),
    EXACT(rsqrt, 1, VM_SMOOTH),
    EXACT(negf, 1, VM_SMOOTH),
    EXACT(absf, 1, VM_SMOOTH),
    EXACT(maxf, 2, VM_SMOOTH),
    EXACT(minf, 2, VM_SMOOTH),
    EXACT(floor, 1, VM_STEP),
    EXACT(ceil, 1, VM_STEP),
    EXACT(remf, 2, VM_SMOOTH),
    EXACT(sin, 1, VM_SMOOTH),
    EXACT(cos, 1, VM_SMOOTH),
    EXACT(tan, 1, VM_SMOOTH),
    EXACT(sinh, 1, VM_SMOOTH),
    EXACT(cosh, 1, VM_SMOOTH),
    EXACT(tanh, 1, VM_SMOOTH),
    EXACT(exp, 1, VM_SMOOTH),
    EXACT(exp2, 1, VM_SMOOTH),
    EXACT(log, 1, VM_SMOOTH),
    EXACT(log2, 1, VM_SMOOTH),
    EXACT(atan2, 2, VM_SMOOTH),
    EXACT(fpowf, 2, VM_SMOOTH),
    EXACT(fpowi, 2, VM_SMOOTH),
    [OP_ftof] = {exact_same, 1, VM_SMOOTH, true},
    [OP_itof] = {exact_same, 1, VM_SMOOTH, true},
    [OP_ftoi] = {exact_ftoi, 1, VM_STEP, false},
    [OP_cmpf] = {exact_cmpf, 2, VM_STEP, false},
};

vm_exact_op vm_exact_op_of(const bc_op *op)
{
    return exact_ops[op->opcode];
}
