/* Arguments made up where none are given: extents from what the kernel touches for this grid, else 1024 rounded to what
   the symbol promises; seeded data. The same file, grid and seed give the same arguments. */
#include <string.h>

#include "bytecode/module.h"
#include "bytecode/number.h"
#include "tools/tilevm/args.h"

enum {
    DEFAULT_EXTENT = 1024,
    MAX_ELEMENTS = 1 << 20, /* of one made-up array; extents that nothing shows are halved until it fits */
    LIST_LENGTH = 2
};

typedef struct maker {
    arg_set *set;
    const arg_context *context;
    arg_study study;
    int64_t *values; /* of entry parameters that are numbers */
    bool *known;
    unsigned ordinal;
    io_error *error;
} maker;

static bool is_wanted(const arg_value *value)
{
    return !value->given || value->spec.form == ARG_AUTO;
}

static int64_t round_up(int64_t n, int64_t multiple)
{
    int64_t rest = multiple > 0 ? n % multiple : 0;
    return rest == 0 ? n : n > INT64_MAX - multiple ? n : n - rest + multiple;
}

/* ---- extents ---- */

typedef struct plan {
    uint32_t ndim;
    int64_t shape[TV_MAX_RANK], strides[TV_MAX_RANK];
    bool soft[TV_MAX_RANK]; /* the extent is a guess, which may shrink */
    int64_t multiple[TV_MAX_RANK];
} plan;

static void plan_extent(plan *p, uint32_t i, int64_t fixed, int64_t reach, bool open, int64_t multiple)
{
    p->multiple[i] = multiple;
    p->soft[i] = fixed < 0 && (reach == 0 || open);
    if (fixed >= 0)
        p->shape[i] = fixed;
    else if (p->soft[i])
        p->shape[i] = round_up(reach > DEFAULT_EXTENT ? reach : DEFAULT_EXTENT, multiple);
    else
        p->shape[i] = round_up(reach, multiple);
}

static double elements(const plan *p)
{
    double count = 1;
    for (uint32_t i = 0; i < p->ndim; i++)
        count *= (double)p->shape[i];
    return count;
}

/* Halves the largest guess until the array is small enough. */
static void shrink(plan *p)
{
    while (elements(p) > MAX_ELEMENTS) {
        uint32_t largest = p->ndim;
        for (uint32_t i = 0; i < p->ndim; i++) {
            int64_t half = round_up(p->shape[i] / 2, p->multiple[i]);
            if (p->soft[i] && half > 0 && half < p->shape[i] && (largest == p->ndim || p->shape[i] > p->shape[largest]))
                largest = i;
        }
        if (largest == p->ndim)
            return;
        p->shape[largest] = round_up(p->shape[largest] / 2, p->multiple[largest]);
    }
}

/* Adds an axis outside those that take `room` elements. */
static void plan_stride(plan *p, uint32_t i, const tv_axis *axis, int64_t fixed, int64_t *room)
{
    int64_t stride = axis && axis->has_stride ? axis->stride : fixed;
    bool told = (axis && axis->has_stride) || fixed != BC_DYNAMIC;
    if (!told) {
        stride = axis && axis->has_stride_min && axis->stride_min > *room ? axis->stride_min : *room;
        stride = round_up(stride, axis ? axis->stride_multiple : 1);
    }
    p->strides[i] = stride;
    int64_t size = stride < 0 ? -stride : stride, extent = p->shape[i] > 1 ? p->shape[i] : 1;
    if (size > 0 && size <= INT64_MAX / extent && size * extent > *room)
        *room = size * extent;
}

/* Row-major, but that axes promised to be contiguous come first; fixed: strides that the view's type tells, or NULL. */
static void plan_strides(plan *p, const tv_axis *axes, const int64_t *fixed)
{
    int64_t room = 1;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = p->ndim; i-- > 0;) {
            const tv_axis *axis = axes ? &axes[i] : NULL;
            int64_t told = fixed ? fixed[i] : BC_DYNAMIC;
            bool unit = (axis && axis->has_stride && axis->stride == 1) || told == 1;
            if (unit == (pass == 0))
                plan_stride(p, i, axis, told, &room);
        }
}

/* ---- data ---- */

/* Floats of either sign; integers from 1 to 99, which also do as divisors and counts. Where integers say places, they
   ascend from 0, so that the end of a piece lies behind its beginning. Locks and counters begin at zero, or the kernel
   might wait forever. */
static void fill(arg_array *array, uint32_t seed, const arg_demand *demand)
{
    arg_filler f = {.kind = ARG_FILL_RANDINT, .seed = seed, .int_low = 1, .int_high = 100, .den = 1};
    if (array->dtype == TV_BOOL) {
        f.int_high = 3;
    } else if (demand && demand->shared) {
        f = (arg_filler){.kind = ARG_FILL_BITS};
    } else if (array->dtype == TV_F8E8M0FNU || array->dtype == TV_F8E5M3FNU) {
        f = (arg_filler){.kind = ARG_FILL_UNIFORM, .seed = seed, .low = 0.25, .high = 4}; /* no zero, no sign */
    } else if (bc_dtype_is_float(array->dtype)) {
        f = (arg_filler){.kind = ARG_FILL_RANDN, .seed = seed, .std = 1};
    } else if (demand && demand->places) {
        f = (arg_filler){.kind = ARG_FILL_ARANGE, .int_step = 1, .mod = DEFAULT_EXTENT};
    }
    arg_fill(array, &f);
}

static bool make_array(maker *m, tv_dtype dtype, const plan *p, const arg_demand *demand, arg_array *out)
{
    const arg_layout layout = {.strides = p->strides, .budget = m->context->budget};
    if (!arg_array_new(dtype, p->ndim, p->shape, &layout, out, m->error))
        return false;
    fill(out, ++m->ordinal + (uint32_t)m->context->seed, demand);
    return true;
}

/* An element type that memory can hold one by one. */
static tv_dtype stored(tv_dtype dtype)
{
    return tv_dtype_bits(dtype) < 8 ? TV_U8 : dtype;
}

/* ---- leaves ---- */

static plan plan_array(const tv_param *param, const arg_demand *d)
{
    plan p = {.ndim = param->ndim};
    unsigned item = tv_dtype_bits(param->dtype) / 8;
    for (uint32_t i = 0; i < param->ndim; i++) {
        const tv_axis *axis = &param->axes[i];
        bool seen = d && d->ndim == param->ndim;
        int64_t reach = seen ? d->reach[i] : 0;
        bool open = (seen && d->open[i]) || (d && d->sliced);
        if (d && !d->ndim && param->ndim == 1) { /* reached through pointers only */
            reach = (d->bytes + item - 1) / item;
            open = d->bytes_open;
        }
        plan_extent(&p, i, axis->has_extent ? axis->extent : -1, reach, open, axis->extent_multiple);
    }
    shrink(&p);
    plan_strides(&p, param->axes, NULL);
    return p;
}

static void set_slot(maker *m, uint32_t slot, int64_t value)
{
    if (slot != ARG_NO_SLOT) {
        m->values[slot] = value;
        m->known[slot] = true;
    }
}

/* A raw pointer: its views tell the shape, and which numbers the kernel takes for it. */
static plan plan_pointer(maker *m, const tv_param *param, const arg_demand *d)
{
    plan p = {.ndim = d->ndim ? d->ndim : 1};
    unsigned item = tv_dtype_bits(stored(param->dtype)) / 8;
    if (!d->ndim) {
        plan_extent(&p, 0, -1, (d->bytes + item - 1) / item, d->bytes_open, 1);
        p.strides[0] = 1;
        return p;
    }
    for (uint32_t i = 0; i < d->ndim; i++)
        plan_extent(&p, i, d->size[i] == BC_DYNAMIC ? -1 : d->size[i], d->reach[i], d->open[i], 1);
    shrink(&p);
    plan_strides(&p, NULL, d->stride);
    for (uint32_t i = 0; i < d->ndim; i++) {
        if (d->size[i] == BC_DYNAMIC)
            set_slot(m, d->size_slot[i], p.shape[i]);
        if (d->stride[i] == BC_DYNAMIC)
            set_slot(m, d->stride_slot[i], p.strides[i]);
    }
    return p;
}

static bool make_arrays(maker *m, arg_value *value)
{
    const tv_param *leaf = value->leaf;
    bool list = leaf->kind == TV_PARAM_LIST;
    size_t count = list ? LIST_LENGTH : 1;
    const arg_demand *d = &m->study.demands[leaf->first_slot];
    value->arrays = bc_new(m->set->arena, arg_array, count);
    if (!value->arrays)
        return io_fail(m->error, "out of memory");
    plan p = leaf->kind == TV_PARAM_POINTER ? plan_pointer(m, leaf, d)
             : list                         ? plan_array(&leaf->items[0], NULL)
                                            : plan_array(leaf, d);
    for (size_t i = 0; i < count; i++) {
        if (!make_array(m, stored(leaf->dtype), &p, list ? NULL : d, &value->arrays[i])) {
            io_error inner = *m->error;
            return io_fail(m->error, "argument '%s', made up: %.400s", value->name, inner.text);
        }
        value->array_count++;
    }
    return true;
}

/* A number that nothing else tells: a bound is the largest array's size, anything else 1. */
static void make_scalar(maker *m, arg_value *value, uint64_t bound)
{
    size_t slot = value->leaf->first_slot;
    value->dtype = value->leaf->dtype;
    value->bits = 0;
    int64_t n = m->known[slot] ? m->values[slot] : m->study.compared[slot] ? (int64_t)bound : 1;
    if (bc_dtype_is_float(value->dtype))
        value->bits = bc_float_round(bc_dtypes[value->dtype].kind, 1, BC_RoundingMode_nearest_even);
    else
        value->bits = value->dtype == TV_BOOL ? 1 : (uint64_t)n;
}

/* Integers that the user gave are known when the extents are worked out. */
static void note_given(maker *m)
{
    for (size_t i = 0; i < m->set->count; i++) {
        const arg_value *value = &m->set->values[i];
        if (value->leaf->kind != TV_PARAM_SCALAR || is_wanted(value) || bc_dtype_is_float(value->dtype))
            continue;
        double n = arg_value_of(value->dtype, value->bits & (UINT64_MAX >> (64 - tv_dtype_bits(value->dtype))));
        if (n > -1e12 && n < 1e12)
            set_slot(m, (uint32_t)value->leaf->first_slot, (int64_t)n);
    }
}

bool arg_synthesise(arg_set *set, const arg_context *context, const tv_module *module, size_t entry,
                    const uint32_t grid[3], io_error *error)
{
    size_t slots = tv_signature_slot_count(set->signature);
    uint64_t bound = DEFAULT_EXTENT;
    bool sized = false;
    maker m = {.set = set,
               .context = context,
               .error = error,
               .values = bc_new(set->arena, int64_t, slots),
               .known = bc_new(set->arena, bool, slots)};
    if (!m.values || !m.known)
        return io_fail(error, "out of memory");
    note_given(&m);
    if (!arg_study_entry(set->arena, module, entry, grid, m.values, m.known, &m.study))
        return io_fail(error, "out of memory");
    for (size_t i = 0; i < set->count; i++) {
        arg_value *value = &set->values[i];
        if (value->leaf->kind == TV_PARAM_SCALAR)
            continue;
        if (is_wanted(value) && !make_arrays(&m, value))
            return false;
        for (size_t k = 0; k < value->array_count; k++) {
            if (!sized || value->arrays[k].count > bound)
                bound = value->arrays[k].count;
            sized = true;
        }
    }
    for (size_t i = 0; i < set->count; i++)
        if (set->values[i].leaf->kind == TV_PARAM_SCALAR && is_wanted(&set->values[i]))
            make_scalar(&m, &set->values[i], bound);
    return true;
}
