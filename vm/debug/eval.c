/* The values of expressions. */
#include <math.h>
#include <string.h>

#include "vm/debug/expr.h"

static bool evaluate(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error);

static void set_int(vm_debug_value *out, int64_t i)
{
    *out = (vm_debug_value){.form = VM_DEBUG_NUMBER, .is_int = true, .i = i, .d = (double)i};
}

static void set_real(vm_debug_value *out, double x)
{
    *out = (vm_debug_value){.form = VM_DEBUG_NUMBER, .d = x};
}

/* Converts the single element of a value to a number. */
static bool make_number(vm_debug_value *v, vm_debug_error *error)
{
    if (v->form == VM_DEBUG_NUMBER)
        return true;
    if (v->form != VM_DEBUG_DATA)
        return dbg_fail(error, "a number is wanted, not a %s", v->form == VM_DEBUG_TUPLE ? "tuple" : "view");
    if (v->count != 1)
        return dbg_fail(error, "a number is wanted, not %llu elements", (unsigned long long)v->count);
    uint64_t bits = vm_debug_element(v, 0);
    double x = dbg_number(v, bits);
    bool is_float = bc_kinds[v->kind].kind_class == BC_CLASS_FLOAT;
    bool is_signed = v->dtype < TV_DTYPE_COUNT && bc_dtypes[v->dtype].is_signed && v->kind != BC_I1;
    unsigned width = bc_kind_bits(v->kind);
    if (is_float)
        set_real(v, x);
    else if (is_signed && width < 64)
        set_int(v, (int64_t)x);
    else
        set_int(v, (int64_t)bits);
    return true;
}

static bool number_of(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error)
{
    return evaluate(d, e, out, error) && make_number(out, error);
}

/* ---- indices ---- */

static bool bound(vm_debug *d, const dbg_expr *e, int64_t missing, int64_t *out, vm_debug_error *error)
{
    vm_debug_value v;
    *out = missing;
    if (!e)
        return true;
    if (!number_of(d, e, &v, error))
        return false;
    *out = v.is_int ? v.i : (int64_t)v.d;
    return v.is_int || dbg_fail(error, "an index is no integer");
}

/* Slices one dimension, and removes it unless the index is a range. */
static bool cut(vm_debug *d, const dbg_index *index, const vm_debug_value *of, uint32_t dim, vm_debug_value *out,
                vm_debug_error *error)
{
    int64_t from, to, extent = of->shape[dim];
    if (!bound(d, index->from, 0, &from, error) || !bound(d, index->to, extent, &to, error))
        return false;
    from += from < 0 ? extent : 0; /* from the end, as in Python */
    to += to < 0 ? extent : 0;
    to = to > extent ? extent : to;
    if (!index->range && (from < 0 || from >= extent))
        return dbg_fail(error, "index %lld of dimension %u is outside 0 to %lld", (long long)from, dim,
                        (long long)extent - 1);
    if (index->range && (from < 0 || from >= to))
        return dbg_fail(error, "the range of dimension %u holds nothing of its %lld elements", dim, (long long)extent);
    out->offset += from * of->strides[dim];
    if (!index->range)
        return true;
    out->shape[out->rank] = to - from;
    out->strides[out->rank++] = of->strides[dim];
    out->count *= (uint64_t)(to - from);
    return true;
}

static bool index_value(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error)
{
    vm_debug_value of;
    static const dbg_index all = {.range = true};
    if (!evaluate(d, e->kids[0], &of, error))
        return false;
    if (of.form != VM_DEBUG_DATA || e->index_count > of.rank)
        return dbg_fail(error, "there are %u indices, and it has rank %u", e->index_count,
                        of.form == VM_DEBUG_DATA ? of.rank : 0);
    *out = of;
    out->rank = 0;
    out->count = 1;
    for (uint32_t dim = 0; dim < of.rank; dim++)
        if (!cut(d, dim < e->index_count ? &e->indices[dim] : &all, &of, dim, out, error))
            return false;
    return true;
}

/* ---- functions ---- */

static bool reduce(const vm_debug_value *v, dbg_function function, vm_debug_value *out, vm_debug_error *error)
{
    double sum = 0, low = (double)INFINITY, high = -(double)INFINITY;
    if (!v->count)
        return dbg_fail(error, "there are no elements");
    for (uint64_t i = 0; i < v->count; i++) {
        double x = dbg_number(v, vm_debug_element(v, i));
        sum += x;
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    set_real(out, function == DBG_MIN   ? low
                  : function == DBG_MAX ? high
                  : function == DBG_SUM ? sum
                                        : sum / (double)v->count);
    return true;
}

static bool call(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error)
{
    vm_debug_value v;
    uint64_t nan, inf;
    dbg_function function = (dbg_function)e->which;
    if (!evaluate(d, e->kids[0], &v, error))
        return false;
    if (function == DBG_ABS) {
        if (!make_number(&v, error))
            return false;
        *out = v;
        out->i = v.i < 0 ? (int64_t)(0 - (uint64_t)v.i) : v.i;
        out->d = fabs(v.d);
        return true;
    }
    if (v.form != VM_DEBUG_DATA)
        return dbg_fail(error, "elements are wanted, of a tile or an array");
    if (function == DBG_COUNT) {
        set_int(out, (int64_t)v.count);
        return true;
    }
    if (function != DBG_NANS && function != DBG_INFS)
        return reduce(&v, function, out, error);
    dbg_counts(&v, &nan, &inf);
    set_int(out, (int64_t)(function == DBG_NANS ? nan : inf));
    return true;
}

/* ---- operators ---- */

static bool compare_tuples(dbg_node node, const vm_debug_value *a, const vm_debug_value *b, vm_debug_value *out,
                           vm_debug_error *error)
{
    if (node != DBG_EQ && node != DBG_NE)
        return dbg_fail(error, "tuples are equal or not, and neither is less");
    bool same = memcmp(a->tuple, b->tuple, sizeof a->tuple) == 0;
    set_int(out, same == (node == DBG_EQ));
    return true;
}

static bool compare(dbg_node node, const vm_debug_value *a, const vm_debug_value *b)
{
    bool ints = a->is_int && b->is_int;
    bool less = ints ? a->i < b->i : a->d < b->d, equal = ints ? a->i == b->i : a->d == b->d;
    bool more = ints ? a->i > b->i : a->d > b->d;
    switch (node) {
    case DBG_EQ: return equal;
    case DBG_NE: return !equal;
    case DBG_LT: return less;
    case DBG_LE: return less || equal;
    case DBG_GT: return more;
    default: return more || equal;
    }
}

static bool compute_ints(dbg_node node, int64_t a, int64_t b, vm_debug_value *out, vm_debug_error *error)
{
    if ((node == DBG_DIV || node == DBG_MOD) && (b == 0 || b == -1)) {
        if (b == 0)
            return dbg_fail(error, "division by zero");
        set_int(out, node == DBG_MOD ? 0 : (int64_t)(0 - (uint64_t)a));
        return true;
    }
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    set_int(out, node == DBG_ADD   ? (int64_t)(x + y)
                 : node == DBG_SUB ? (int64_t)(x - y)
                 : node == DBG_MUL ? (int64_t)(x * y)
                 : node == DBG_DIV ? a / b
                                   : a % b);
    return true;
}

static bool binary(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error)
{
    vm_debug_value a, b;
    if (!evaluate(d, e->kids[0], &a, error) || !evaluate(d, e->kids[1], &b, error))
        return false;
    if (a.form == VM_DEBUG_TUPLE && b.form == VM_DEBUG_TUPLE)
        return compare_tuples(e->node, &a, &b, out, error);
    if (!make_number(&a, error) || !make_number(&b, error))
        return false;
    if (e->node <= DBG_GE) {
        set_int(out, compare(e->node, &a, &b));
        return true;
    }
    if (a.is_int && b.is_int)
        return compute_ints(e->node, a.i, b.i, out, error);
    set_real(out, e->node == DBG_ADD   ? a.d + b.d
                  : e->node == DBG_SUB ? a.d - b.d
                  : e->node == DBG_MUL ? a.d * b.d
                  : e->node == DBG_DIV ? a.d / b.d
                                       : fmod(a.d, b.d));
    return true;
}

static bool truth(vm_debug *d, const dbg_expr *e, bool *out, vm_debug_error *error)
{
    vm_debug_value v;
    if (!number_of(d, e, &v, error))
        return false;
    *out = v.is_int ? v.i != 0 : v.d != 0;
    return true;
}

static bool logic(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error)
{
    bool a, b = false;
    if (!truth(d, e->kids[0], &a, error))
        return false;
    if (e->node == DBG_NOT) {
        set_int(out, !a);
        return true;
    }
    if (a != (e->node == DBG_OR) && !truth(d, e->kids[1], &b, error))
        return false;
    set_int(out, e->node == DBG_OR ? a || b : a && b);
    return true;
}

static bool tuple(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error)
{
    vm_debug_value v, result = {.form = VM_DEBUG_TUPLE};
    for (unsigned i = 0; i < 3; i++) {
        if (!number_of(d, e->kids[i], &v, error))
            return false;
        result.tuple[i] = v.is_int ? v.i : (int64_t)v.d;
    }
    *out = result;
    return true;
}

static bool has(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error)
{
    vm_debug_value v;
    if (!evaluate(d, e->kids[0], &v, error))
        return false;
    if (v.form == VM_DEBUG_NUMBER)
        set_int(out, e->which ? isnan(v.d) != 0 : isinf(v.d) != 0);
    else if (v.form == VM_DEBUG_DATA)
        set_int(out, dbg_has(&v, e->which != 0));
    else
        return dbg_fail(error, "elements are wanted, of a tile or an array");
    return true;
}

/* ---- the whole ---- */

static bool evaluate_leaf(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error)
{
    const vm_started *s = dbg_shown(d);
    const vm_probe *probe = s ? dbg_probe_of(s) : NULL;
    switch (e->node) {
    case DBG_NUMBER:
        *out = (vm_debug_value){.form = VM_DEBUG_NUMBER, .is_int = e->is_int, .i = e->i, .d = e->d};
        return true;
    case DBG_TIME: set_int(out, (int64_t)d->probes.count); return true;
    case DBG_ARRAY: dbg_array_value(e->array, out); return true;
    case DBG_VALUE: return vm_debug_value_of(d, e->value, out, error);
    default: break;
    }
    if (!s)
        return dbg_fail(error, "the run has ended: no tile block runs any more");
    if (e->node == DBG_OP)
        set_int(out, probe ? (int64_t)probe->position : -1);
    else if (e->node == DBG_BID_AXIS)
        set_int(out, s->worker.frame.block[e->which]);
    else
        *out =
            (vm_debug_value){.form = VM_DEBUG_TUPLE,
                             .tuple = {s->worker.frame.block[0], s->worker.frame.block[1], s->worker.frame.block[2]}};
    return true;
}

static bool evaluate(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error)
{
    switch (e->node) {
    case DBG_INDEX: return index_value(d, e, out, error);
    case DBG_TUPLE: return tuple(d, e, out, error);
    case DBG_HAS: return has(d, e, out, error);
    case DBG_CALL: return call(d, e, out, error);
    case DBG_NOT:
    case DBG_OR:
    case DBG_AND: return logic(d, e, out, error);
    case DBG_NEGATE:
        if (!number_of(d, e->kids[0], out, error))
            return false;
        out->i = (int64_t)(0 - (uint64_t)out->i);
        out->d = -out->d;
        return true;
    default: break;
    }
    return e->node >= DBG_EQ ? binary(d, e, out, error) : evaluate_leaf(d, e, out, error);
}

bool dbg_evaluate(vm_debug *d, const dbg_expr *e, vm_debug_value *out, vm_debug_error *error)
{
    tv_float_env caller = tv_float_enter();
    bool good = evaluate(d, e, out, error);
    tv_float_leave(caller);
    return good;
}

bool dbg_holds(vm_debug *d, const dbg_expr *e)
{
    vm_debug_error error;
    bool holds = false;
    tv_float_env caller = tv_float_enter();
    bool good = truth(d, e, &holds, &error);
    tv_float_leave(caller);
    return good && holds;
}

bool vm_debug_evaluate(vm_debug *d, tv_str text, vm_debug_value *out, vm_debug_error *error)
{
    const vm_started *s = dbg_shown(d);
    const vm_probe *probe = s ? dbg_probe_of(s) : NULL;
    bc_arena arena;
    bc_arena_init(&arena, &d->normal, 0);
    const dbg_expr *e = dbg_parse(d, &arena, text, probe ? probe->position : DBG_NONE, error);
    bool good = e && dbg_evaluate(d, e, out, error);
    bc_arena_release(&arena);
    return good;
}
