/* Arrays in memory: guard zones, strides, element access. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytecode/number/number.h"
#include "tools/tilevm/args/args.h"

/* ---- memory ---- */

/* A number that stands alone in a file, or after a word at the start of a line; UINT64_MAX when there is none. */
static uint64_t number_in(const char *path, const char *word)
{
    char line[128];
    uint64_t found = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file)
        return found;
    while (found == UINT64_MAX && fgets(line, sizeof line, file))
        if (strncmp(line, word, strlen(word)) == 0 && sscanf(line + strlen(word), " %" SCNu64, &found) != 1)
            found = UINT64_MAX;
    fclose(file);
    return found;
}

uint64_t arg_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t limit = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 32;
    uint64_t free_kib = number_in("/proc/meminfo", "MemAvailable:");
    uint64_t group = number_in("/sys/fs/cgroup/memory.max", ""); /* "max" is not a number */
    if (free_kib < limit / 1024)
        limit = free_kib * 1024;
    return (group < limit ? group : limit) / 2;
}

static arg_storage *storage_new(size_t size, arg_budget *budget)
{
    arg_storage *s = malloc(sizeof *s);
    if (!s || size > SIZE_MAX - 3 * (size_t)ARG_GUARD) {
        free(s);
        return NULL;
    }
    size_t rounded = (size + ARG_GUARD - 1) / ARG_GUARD * ARG_GUARD;
    *s = (arg_storage){.block_size = rounded + 2 * ARG_GUARD, .size = size, .users = 1, .budget = budget};
    s->block = aligned_alloc(ARG_GUARD, s->block_size);
    if (!s->block) {
        free(s);
        return NULL;
    }
    if (budget)
        budget->used += s->size;
    s->data = s->block + ARG_GUARD;
    memset(s->block, ARG_GAP, ARG_GUARD);
    memset(s->data + size, ARG_GAP, s->block_size - ARG_GUARD - size);
    return s;
}

void arg_array_free(arg_array *array)
{
    arg_storage *s = array->storage;
    if (s && --s->users == 0) {
        if (s->budget)
            s->budget->used -= s->size;
        free(s->block);
        free(s);
    }
    *array = (arg_array){0};
}

static bool multiply(int64_t a, int64_t b, int64_t *out)
{
    const int64_t limit = INT64_MAX / 2;
    if (a != 0 && (b > limit / (a < 0 ? -a : a) || b < -limit / (a < 0 ? -a : a)))
        return false;
    *out = a * b;
    return true;
}

static bool packed_strides(arg_array *a, bool fortran)
{
    int64_t stride = 1;
    for (uint32_t k = 0; k < a->ndim; k++) {
        uint32_t i = fortran ? k : a->ndim - 1 - k;
        a->strides[i] = stride;
        if (!multiply(stride, a->shape[i] > 1 ? a->shape[i] : 1, &stride))
            return false;
    }
    return true;
}

/* Row-major without gaps? Axes of one element may have any stride. */
static bool is_packed(const arg_array *a)
{
    int64_t stride = 1;
    for (uint32_t i = a->ndim; i-- > 0;) {
        if (a->shape[i] != 1 && a->strides[i] != stride)
            return false;
        stride *= a->shape[i];
    }
    return true;
}

/* used: bytes of the budget that are gone. */
static bool over_limit(uint64_t bytes, const arg_budget *budget, uint64_t used, io_error *error)
{
    if (!budget || !budget->limit || bytes <= budget->limit - used)
        return false;
    io_fail(error, "an array of %.3g GB does not fit: the arrays of a run may take %.3g GB here, and have %.3g GB",
            (double)bytes / 1e9, (double)budget->limit / 1e9, (double)used / 1e9);
    return true;
}

/* Fills in shape, strides and count; elements below the first one, and from the lowest to the end of the last. */
static bool describe(tv_dtype dtype, uint32_t ndim, const int64_t *shape, const arg_layout *layout, arg_array *out,
                     uint64_t *out_below, uint64_t *out_total, io_error *error)
{
    io_info info = {.item = tv_dtype_bits(dtype) / 8, .ndim = ndim};
    if (!info.item)
        return io_fail(error, "elements of %s share bytes; give them as u8, two in each", tv_dtype_name(dtype));
    if (ndim > TV_MAX_RANK)
        return io_fail(error, "more than %d dimensions", TV_MAX_RANK);
    *out = (arg_array){.dtype = dtype, .item = info.item, .ndim = ndim};
    for (uint32_t i = 0; i < ndim; i++)
        out->shape[i] = info.shape[i] = shape[i];
    if (!io_info_measure(&info, error))
        return false;
    out->count = info.count;
    if (over_limit(info.size, layout->budget, 0, error)) /* also where elements share memory: each is filled and read */
        return false;
    if (layout->strides)
        memcpy(out->strides, layout->strides, ndim * sizeof *layout->strides);
    else if (!packed_strides(out, layout->fortran))
        return io_fail(error, "the array is larger than the address space");
    int64_t below = 0, above = 0;
    for (uint32_t i = 0; i < ndim && out->count; i++) {
        int64_t reach;
        if (out->strides[i] < -INT64_MAX || !multiply(shape[i] - 1, out->strides[i], &reach))
            return io_fail(error, "the array is larger than the address space");
        if (reach < 0 ? below > INT64_MAX / 4 + reach : above > INT64_MAX / 4 - reach)
            return io_fail(error, "the array is larger than the address space");
        if (reach < 0)
            below -= reach;
        else
            above += reach;
    }
    *out_below = (uint64_t)below;
    *out_total = out->count ? (uint64_t)below + (uint64_t)above + 1 : 0;
    out->packed = is_packed(out);
    return true;
}

bool arg_array_new(tv_dtype dtype, uint32_t ndim, const int64_t *shape, const arg_layout *layout, arg_array *out,
                   io_error *error)
{
    uint64_t below, total;
    arg_array a;
    if (!describe(dtype, ndim, shape, layout, &a, &below, &total, error))
        return false;
    if (layout->offset > INT64_MAX / 4 || total + layout->offset > SIZE_MAX / 2 / a.item)
        return io_fail(error, "the array is larger than the address space");
    uint64_t bytes = (total + layout->offset) * a.item;
    if (over_limit(bytes, layout->budget, layout->budget ? layout->budget->used : 0, error))
        return false;
    a.storage = storage_new((size_t)bytes, layout->budget);
    if (!a.storage)
        return io_fail(error, "out of memory: an array of %.3g GB", (double)bytes / 1e9);
    a.first = a.storage->data + (layout->offset + below) * a.item;
    if (bytes > a.count * a.item)
        memset(a.storage->data, ARG_GAP, (size_t)bytes);
    *out = a;
    return true;
}

bool arg_array_alias(const arg_array *of, tv_dtype dtype, uint32_t ndim, const int64_t *shape, const arg_layout *layout,
                     arg_array *out, io_error *error)
{
    uint64_t below, total;
    arg_array a;
    if (!of->storage)
        return io_fail(error, "a null pointer has no memory to share");
    if (!describe(dtype, ndim, shape, layout, &a, &below, &total, error))
        return false;
    if (layout->offset > of->storage->size / a.item || total > of->storage->size / a.item - layout->offset)
        return io_fail(error, "%llu elements from %llu on do not fit the %zu bytes that are shared",
                       (unsigned long long)total, (unsigned long long)layout->offset, of->storage->size);
    a.storage = of->storage;
    a.storage->users++;
    a.first = a.storage->data + (layout->offset + below) * a.item;
    *out = a;
    return true;
}

tv_array arg_array_view(const arg_array *array)
{
    return (tv_array){.data = array->first,
                      .dtype = array->dtype,
                      .ndim = array->ndim,
                      .shape = array->shape,
                      .strides = array->strides};
}

/* ---- walking ---- */

void arg_walk_start(arg_walk *walk, const arg_array *array)
{
    *walk = (arg_walk){.array = array, .at = array->first, .step = array->item};
}

bool arg_walk_next(arg_walk *walk)
{
    const arg_array *a = walk->array;
    walk->done += walk->run;
    if (walk->done >= a->count)
        return false;
    if (a->packed) {
        walk->run = a->count;
        return true;
    }
    uint32_t last = a->ndim - 1; /* an array that is not packed has axes */
    if (walk->run) {
        int64_t offset = 0;
        for (uint32_t i = last; i-- > 0;) {
            if (++walk->index[i] < a->shape[i])
                break;
            walk->index[i] = 0;
        }
        for (uint32_t i = 0; i < last; i++)
            offset += walk->index[i] * a->strides[i];
        walk->at = a->first + offset * (int64_t)a->item;
    }
    walk->step = a->strides[last] * (int64_t)a->item;
    walk->run = (uint64_t)a->shape[last];
    return true;
}

/* ---- elements ---- */

uint64_t arg_load(const unsigned char *at, unsigned item)
{
    uint16_t v16;
    uint32_t v32;
    uint64_t v64;
    switch (item) {
    case 1: return *at;
    case 2: memcpy(&v16, at, sizeof v16); return v16;
    case 4: memcpy(&v32, at, sizeof v32); return v32;
    default: memcpy(&v64, at, sizeof v64); return v64;
    }
}

void arg_store(unsigned char *at, unsigned item, uint64_t bits)
{
    uint16_t v16 = (uint16_t)bits;
    uint32_t v32 = (uint32_t)bits;
    switch (item) {
    case 1: *at = (unsigned char)bits; break;
    case 2: memcpy(at, &v16, sizeof v16); break;
    case 4: memcpy(at, &v32, sizeof v32); break;
    default: memcpy(at, &bits, sizeof bits); break;
    }
}

double arg_value_of(tv_dtype dtype, uint64_t bits)
{
    unsigned char bytes[8];
    double value = 0;
    arg_store(bytes, tv_dtype_bits(dtype) / 8, bits);
    arg_get_reals(dtype, bytes, 0, 1, &value);
    return value;
}

void arg_print_value(bc_text *out, tv_dtype dtype, uint64_t bits)
{
    if (dtype == TV_BOOL)
        bc_text_printf(out, "%d", bits != 0);
    else if (bc_dtype_is_float(dtype))
        bc_text_printf(out, "%.*g", dtype == TV_F64 ? 17 : 9, arg_value_of(dtype, bits));
    else if (bc_dtypes[dtype].is_signed)
        bc_text_printf(out, "%lld", (long long)bc_int_sign_extend(bits, bc_kind_bits(bc_dtypes[dtype].kind)));
    else
        bc_text_printf(out, "%llu", (unsigned long long)bits);
}

unsigned char *arg_array_packed(const arg_array *array)
{
    size_t item = array->item, size = (size_t)array->count * item;
    unsigned char *out = malloc(size ? size : 1), *to = out;
    if (!out)
        return NULL;
    arg_walk walk;
    for (arg_walk_start(&walk, array); arg_walk_next(&walk);) {
        if (walk.step == (int64_t)item) {
            memcpy(to, walk.at, walk.run * item);
            to += walk.run * item;
            continue;
        }
        const unsigned char *from = walk.at;
        for (uint64_t i = 0; i < walk.run; i++, to += item, from += walk.step)
            memcpy(to, from, item);
    }
    return out;
}

/* ---- guard zones ---- */

/* First byte in [from, to) that is not ARG_GAP; to when all are. */
static const unsigned char *changed(const unsigned char *from, const unsigned char *to)
{
    while (from < to && *from == ARG_GAP)
        from++;
    return from;
}

/* Bytes between the elements of an array with gaps. */
static const unsigned char *changed_gap(const arg_array *a, io_error *error)
{
    const arg_storage *s = a->storage;
    unsigned char *used = calloc(s->size / 8 + 1, 1);
    const unsigned char *found = NULL;
    if (!used) {
        io_fail(error, "out of memory");
        return s->data;
    }
    arg_walk walk;
    for (arg_walk_start(&walk, a); arg_walk_next(&walk);) {
        const unsigned char *at = walk.at;
        for (uint64_t i = 0; i < walk.run; i++, at += walk.step)
            for (size_t b = 0; b < a->item; b++) {
                size_t place = (size_t)(at - s->data) + b;
                used[place / 8] |= (unsigned char)(1u << place % 8);
            }
    }
    for (size_t i = 0; i < s->size && !found; i++)
        if (!(used[i / 8] >> i % 8 & 1) && s->data[i] != ARG_GAP)
            found = s->data + i;
    free(used);
    return found;
}

bool arg_array_guards(const arg_array *array, int64_t *out_offset, io_error *error)
{
    const arg_storage *s = array->storage;
    error->text[0] = 0;
    if (!s)
        return true;
    const unsigned char *end = s->block + s->block_size, *found = changed(s->block, s->data);
    if (found == s->data) {
        found = changed(s->data + s->size, end);
        if (found == end)
            found = NULL;
    }
    /* Elements of other arrays that share the memory are not gaps. */
    if (!found && s->users == 1 && s->size > array->count * array->item)
        found = changed_gap(array, error);
    if (!found)
        return true;
    *out_offset = found - array->first;
    return false;
}
