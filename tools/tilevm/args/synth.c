/* Arguments made up where none are given: extents from what the kernel touches for this grid, else 1024 rounded to what
   the symbol promises; seeded data. The same file, grid and seed give the same arguments. */
#include <string.h>

#include "bytecode/number/number.h"
#include "tools/tilevm/args/study.h"

enum {
    DEFAULT_EXTENT = ARG_DEFAULT_EXTENT,
    MAX_ELEMENTS = 1 << 20, /* of one made-up array; guessed extents are halved until it fits */
    LIST_LENGTH = 2
};

typedef struct maker {
    arg_set *set;
    const arg_context *context;
    const bc_function *f;
    const uint32_t *grid;
    arg_study study;
    arg_slot *slots;
    int64_t *guesses; /* by slot: the least value of a number of unknown size */
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

/* Adds an axis outside the axes that take `room` elements. */
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

/* Row-major, except that axes promised to be contiguous come first; fixed: the static strides of the view's type, or
   NULL. */
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

/* Integers that meet their constraints, below a limit. */
static arg_filler wanted_integers(const arg_number *elements, tv_dtype dtype, int64_t first, int64_t limit)
{
    const arg_want *want = &elements->want;
    unsigned bits = tv_dtype_bits(dtype) - (bc_dtypes[dtype].is_signed ? 1 : 0);
    if (bits < 40 && limit > (int64_t)1 << bits)
        limit = (int64_t)1 << bits;
    if (want->most < limit - 1)
        limit = want->most + 1;
    arg_filler f = {.kind = ARG_FILL_ARANGE, .int_step = want->divisor};
    f.int_start = arg_number_choose(elements, first);
    f.mod = limit > f.int_start ? (limit - f.int_start + f.int_step - 1) / f.int_step : 1;
    return f;
}

/* Floats of either sign; integers from 1 to 99, which also do as divisors and counts. Integers that are used as indices
   ascend from 0, so that the end of a piece lies after its beginning. Locks and counters begin at zero, or the kernel
   might wait forever. */
static void fill(arg_array *array, uint32_t seed, const arg_demand *demand, int64_t places)
{
    arg_filler f = {.kind = ARG_FILL_RANDINT, .seed = seed, .int_low = 1, .int_high = 100, .den = 1};
    const arg_want *want = demand ? &demand->elements.want : NULL;
    if (array->dtype == TV_BOOL) {
        f.int_high = 3;
    } else if (demand && demand->shared) {
        f = (arg_filler){.kind = ARG_FILL_BITS};
    } else if (array->dtype == TV_F8E8M0FNU || array->dtype == TV_F8E5M3FNU
               || (demand && demand->scale && bc_dtype_is_float(array->dtype))) {
        f = (arg_filler){.kind = ARG_FILL_UNIFORM, .seed = seed, .low = 0.25, .high = 4}; /* no zero, no sign */
    } else if (bc_dtype_is_float(array->dtype)) {
        f = (arg_filler){.kind = ARG_FILL_RANDN, .seed = seed, .std = 1};
    } else if (places) {
        f = wanted_integers(&demand->elements, array->dtype, 0, places);
    } else if (want && (want->divisor > 1 || want->least > 1 || want->most < 99)) {
        f = wanted_integers(&demand->elements, array->dtype, 1, want->least > 1 ? want->least + 99 : 100);
    }
    arg_fill(array, &f);
}

static bool make_array(maker *m, tv_dtype dtype, const plan *p, const arg_demand *demand, int64_t places,
                       arg_array *out)
{
    const arg_layout layout = {.strides = p->strides, .budget = m->context->budget};
    if (!arg_array_new(dtype, p->ndim, p->shape, &layout, out, m->error))
        return false;
    fill(out, ++m->ordinal + (uint32_t)m->context->seed, demand, places);
    return true;
}

/* An element type that memory can hold one by one. */
static tv_dtype stored(tv_dtype dtype)
{
    return tv_dtype_bits(dtype) < 8 ? TV_U8 : dtype;
}

/* ---- arrays ---- */

/* The slot of an array's extent; SIZE_MAX: none. */
static size_t extent_slot(const maker *m, const tv_param *leaf, uint32_t axis)
{
    tv_slot slot;
    for (size_t i = leaf->first_slot; i < leaf->first_slot + leaf->slot_count; i++)
        if (tv_signature_slot(m->set->signature, i, &slot) && slot.role == TV_SLOT_EXTENT && slot.axis == axis)
            return i;
    return SIZE_MAX;
}

/* What the symbol and the kernel ask of an extent. */
static int64_t extent_multiple(const maker *m, const tv_param *leaf, uint32_t axis, const arg_demand *d)
{
    size_t slot = d ? extent_slot(m, leaf, axis) : SIZE_MAX;
    arg_number both = {.want = ARG_ANYTHING};
    both.want.divisor = leaf->axes[axis].extent_multiple;
    if (slot != SIZE_MAX && !m->study.numbers[slot].want.residue)
        arg_number_wants(&both, m->study.numbers[slot].want);
    return both.want.divisor;
}

static plan plan_array(const maker *m, const tv_param *param, const arg_demand *d)
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
        plan_extent(&p, i, axis->has_extent ? axis->extent : -1, reach, open, extent_multiple(m, param, i, d));
    }
    shrink(&p);
    plan_strides(&p, param->axes, NULL);
    return p;
}

/* Bytes from the first element to the end of the last. */
static int64_t plan_bytes(const plan *p, unsigned item)
{
    double last = 0;
    for (uint32_t i = 0; i < p->ndim; i++)
        last += p->shape[i] > 1 && p->strides[i] > 0 ? (double)(p->shape[i] - 1) * (double)p->strides[i] : 0;
    return last < 1e15 ? ((int64_t)last + 1) * item : INT64_MAX;
}

/* A raw pointer: has the shape of its views or, if they do not cover everything that is accessed, one dimension. */
static plan plan_pointer(const tv_param *param, const arg_demand *d)
{
    plan p = {.ndim = d->ndim};
    unsigned item = tv_dtype_bits(stored(param->dtype)) / 8;
    for (uint32_t i = 0; i < d->ndim; i++)
        plan_extent(&p, i, d->size[i] == BC_DYNAMIC ? -1 : d->size[i], d->reach[i], d->open[i], 1);
    shrink(&p);
    plan_strides(&p, NULL, d->stride);
    int64_t enough = d->bytes_open && !d->ndim ? (int64_t)DEFAULT_EXTENT * item : 0;
    if (p.ndim > 0 && plan_bytes(&p, item) >= d->bytes && plan_bytes(&p, item) >= enough)
        return p;
    p = (plan){.ndim = 1, .strides = {1}};
    plan_extent(&p, 0, -1, (d->bytes + item - 1) / item, d->bytes_open, 1);
    return p;
}

/* Numbers of an argument that is there: it itself, or the extents and strides of an array. */
static void set_slots(const arg_set *set, const arg_value *value, arg_slot *slots)
{
    const tv_param *leaf = value->leaf;
    tv_slot slot;
    if (leaf->kind == TV_PARAM_SCALAR && !bc_dtype_is_float(value->dtype)) {
        double n = arg_value_of(value->dtype, value->bits & (UINT64_MAX >> (64 - tv_dtype_bits(value->dtype))));
        slots[leaf->first_slot].known = n > -1e12 && n < 1e12;
        slots[leaf->first_slot].value = n > -1e12 && n < 1e12 ? (int64_t)n : 0;
    }
    if (leaf->kind != TV_PARAM_ARRAY || !value->array_count)
        return;
    for (size_t i = leaf->first_slot; i < leaf->first_slot + leaf->slot_count; i++)
        if (tv_signature_slot(set->signature, i, &slot)
            && (slot.role == TV_SLOT_EXTENT || slot.role == TV_SLOT_STRIDE)) {
            slots[i].known = true;
            slots[i].value = slot.role == TV_SLOT_EXTENT ? value->arrays[0].shape[slot.axis]
                                                         : value->arrays[0].strides[slot.axis];
        }
}

static bool make_arrays(maker *m, arg_value *value)
{
    const tv_param *leaf = value->leaf;
    bool list = leaf->kind == TV_PARAM_LIST;
    size_t count = list ? LIST_LENGTH : 1;
    const arg_demand *d = list ? NULL : &m->study.demands[leaf->first_slot];
    int64_t places = list ? 0 : m->study.places[leaf->first_slot];
    value->arrays = bc_new(m->set->arena, arg_array, count);
    if (!value->arrays)
        return io_fail(m->error, "out of memory");
    plan p = leaf->kind == TV_PARAM_POINTER ? plan_pointer(leaf, d) : plan_array(m, list ? leaf->items : leaf, d);
    for (size_t i = 0; i < count; i++) {
        if (!make_array(m, stored(leaf->dtype), &p, d, places, &value->arrays[i])) {
            io_error inner = *m->error;
            return io_fail(m->error, "argument '%s', made up: %.400s", value->name, inner.text);
        }
        value->array_count++;
    }
    return true;
}

/* Arrays of parameters of one kind, or of any other. */
static bool make_all(maker *m, bool pointers)
{
    for (size_t i = 0; i < m->set->count; i++) {
        arg_value *value = &m->set->values[i];
        bool is_pointer = value->leaf->kind == TV_PARAM_POINTER;
        if (value->leaf->kind == TV_PARAM_SCALAR || is_pointer != pointers)
            continue;
        if (is_wanted(value) && !make_arrays(m, value))
            return false;
        set_slots(m->set, value, m->slots);
    }
    return true;
}

/* ---- numbers ---- */

static bool is_made_number(const arg_value *value)
{
    return value->leaf->kind == TV_PARAM_SCALAR && is_wanted(value) && !bc_dtype_is_float(value->leaf->dtype);
}

/* Given arguments are known; the others depend on made-up values. */
static void note_given(maker *m)
{
    for (size_t i = 0; i < m->set->count; i++) {
        const arg_value *value = &m->set->values[i];
        const tv_param *leaf = value->leaf;
        arg_slot *slot = &m->slots[leaf->first_slot];
        bool scalar = leaf->kind == TV_PARAM_SCALAR;
        for (size_t k = 0; is_wanted(value) && k < leaf->slot_count; k++)
            slot[k].made = scalar ? ARG_MADE_NUMBER : k == 0 ? ARG_MADE_DATA : ARG_MADE_EXTENT;
        if (!is_wanted(value))
            set_slots(m->set, value, m->slots);
    }
}

/* The size of the largest array, for a number up to which the kernel counts and about which nothing else is known. */
static int64_t largest_array(const arg_set *set)
{
    uint64_t bound = 0;
    for (size_t i = 0; i < set->count; i++)
        for (size_t k = 0; k < set->values[i].array_count; k++)
            bound = set->values[i].arrays[k].count > bound ? set->values[i].arrays[k].count : bound;
    return bound == 0 || bound > INT64_MAX ? DEFAULT_EXTENT : (int64_t)bound;
}

static void guess_numbers(maker *m)
{
    int64_t bound = largest_array(m->set);
    for (size_t i = 0; i < m->set->count; i++) {
        size_t slot = m->set->values[i].leaf->first_slot;
        if (!is_made_number(&m->set->values[i]))
            continue;
        const arg_number *n = &m->study.numbers[slot];
        m->guesses[slot] = n->open ? DEFAULT_EXTENT : n->compared && n->want.least <= 1 ? bound : 1;
        m->slots[slot].made = n->is_extent ? ARG_MADE_EXTENT : ARG_MADE_NUMBER;
    }
}

static int64_t largest_of(tv_dtype dtype)
{
    unsigned bits = tv_dtype_bits(dtype);
    return bits > 40 ? ARG_FAR : ((int64_t)1 << (bits - 1)) - 1;
}

/* Gives every number a value. True: some values have changed. */
static bool choose_numbers(maker *m)
{
    bool changed = false;
    for (size_t i = 0; i < m->set->count; i++) {
        const tv_param *leaf = m->set->values[i].leaf;
        arg_slot *slot = &m->slots[leaf->first_slot];
        if (!is_made_number(&m->set->values[i]))
            continue;
        arg_number number = m->study.numbers[leaf->first_slot];
        if (number.want.most > largest_of(leaf->dtype))
            number.want.most = leaf->dtype == TV_BOOL ? 1 : largest_of(leaf->dtype);
        int64_t value = arg_number_choose(&number, m->guesses[leaf->first_slot]);
        changed = changed || !slot->known || slot->value != value;
        *slot = (arg_slot){.known = true, .value = value, .made = slot->made};
    }
    return changed;
}

static bool is_too_large(const maker *m)
{
    for (size_t i = 0; i < m->set->count; i++) {
        const tv_param *leaf = m->set->values[i].leaf;
        if (leaf->kind != TV_PARAM_POINTER || !is_wanted(&m->set->values[i]))
            continue;
        plan p = plan_pointer(leaf, &m->study.demands[leaf->first_slot]);
        if (elements(&p) > MAX_ELEMENTS)
            return true;
    }
    return false;
}

/* Halves the largest guessed number. False: there is none. */
static bool shrink_numbers(maker *m)
{
    size_t largest = SIZE_MAX;
    for (size_t i = 0; i < m->study.count; i++)
        if (m->guesses[i] > 1 && (largest == SIZE_MAX || m->guesses[i] > m->guesses[largest]))
            largest = i;
    if (largest == SIZE_MAX)
        return false;
    m->guesses[largest] /= 2;
    choose_numbers(m);
    return true;
}

/* Numbers and the arrays that they require depend on each other. */
static void settle_numbers(maker *m)
{
    enum { ROUNDS = 6 };
    guess_numbers(m);
    choose_numbers(m);
    for (unsigned i = 0; i < ROUNDS; i++) {
        arg_study_walk(&m->study, m->f, m->grid, m->slots, false);
        if (!choose_numbers(m))
            break;
    }
    while (is_too_large(m) && shrink_numbers(m))
        arg_study_walk(&m->study, m->f, m->grid, m->slots, false);
}

static void make_scalar(const maker *m, arg_value *value)
{
    value->dtype = value->leaf->dtype;
    value->bits = 0;
    if (bc_dtype_is_float(value->dtype))
        value->bits = bc_float_round(bc_dtypes[value->dtype].kind, 1, BC_RoundingMode_nearest_even);
    else
        value->bits = (uint64_t)m->slots[value->leaf->first_slot].value;
}

bool arg_synthesise(arg_set *set, const arg_context *context, const tv_module *module, size_t entry,
                    const uint32_t grid[3], arg_study *out_study, io_error *error)
{
    size_t slots = tv_signature_slot_count(set->signature);
    maker m = {.set = set,
               .context = context,
               .f = bc_entry_at(module, entry),
               .grid = grid,
               .slots = bc_new(set->arena, arg_slot, slots),
               .guesses = bc_new(set->arena, int64_t, slots),
               .error = error};
    if (!m.slots || !m.guesses || !arg_study_init(set->arena, m.f, &m.study))
        return io_fail(error, "out of memory");
    note_given(&m);
    arg_study_walk(&m.study, m.f, grid, m.slots, true);
    if (!make_all(&m, false))
        return false;
    settle_numbers(&m);
    if (!make_all(&m, true))
        return false;
    for (size_t i = 0; i < set->count; i++)
        if (set->values[i].leaf->kind == TV_PARAM_SCALAR && is_wanted(&set->values[i]))
            make_scalar(&m, &set->values[i]);
    *out_study = m.study;
    return true;
}

bool arg_study_arguments(const arg_set *set, const bc_function *f, const uint32_t grid[3], arg_study *out)
{
    arg_slot *slots = bc_new(set->arena, arg_slot, tv_signature_slot_count(set->signature));
    if (!slots || !arg_study_init(set->arena, f, out))
        return false;
    for (size_t i = 0; i < set->count; i++)
        set_slots(set, &set->values[i], slots);
    out->slots = slots;
    arg_study_walk(out, f, grid, slots, false);
    return true;
}
