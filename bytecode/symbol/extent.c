/* Where arrays lie in memory, and whether two of their elements are one place. Shapes, strides and addresses come from
   files and users: nothing here overflows on any of them. */
#include "bytecode/symbol/extent.h"

#include <string.h>

/* ---- arithmetic ---- */

/* |a|, which an int64_t may be too short for. */
static uint64_t magnitude(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

static bool multiply(int64_t a, int64_t b, int64_t *out)
{
    if (a == 0 || b == 0) {
        *out = 0;
        return true;
    }
    if (a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a) : (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a))
        return false;
    *out = a * b;
    return true;
}

static bool add(int64_t a, int64_t b, int64_t *out)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return false;
    *out = a + b;
    return true;
}

/* ---- arrays ---- */

unsigned bc_element_bytes(tv_dtype dtype)
{
    unsigned bits = tv_dtype_bits(dtype);
    return bits < 8 ? 1 : bits / 8;
}

bool bc_spell_strides(const tv_array *a, int64_t *out)
{
    if (a->strides) {
        memcpy(out, a->strides, a->ndim * sizeof *out);
        return true;
    }
    int64_t stride = 1;
    for (uint32_t i = a->ndim; i-- > 0;) {
        out[i] = stride;
        if (!multiply(stride, a->shape[i] > 1 ? a->shape[i] : 1, &stride))
            return false;
    }
    return true;
}

static bool is_empty(const tv_array *a)
{
    for (uint32_t i = 0; i < a->ndim; i++)
        if (a->shape[i] <= 0)
            return true;
    return false;
}

/* Offsets in bytes of the lowest element and of the end of the highest one. */
static bool byte_range(const tv_array *a, const int64_t *strides, int64_t *out_low, int64_t *out_high)
{
    int64_t low = 0, high = 0, bytes = bc_element_bytes(a->dtype);
    for (uint32_t i = 0; i < a->ndim; i++) {
        int64_t reach;
        if (!multiply(a->shape[i] - 1, strides[i], &reach)
            || !add(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return false;
    }
    return multiply(low, bytes, out_low) && multiply(high, bytes, out_high) && add(*out_high, bytes, out_high);
}

bool bc_extent_span(const tv_array *a, const int64_t *strides, uintptr_t *out_low, uintptr_t *out_high)
{
    uintptr_t data = (uintptr_t)a->data;
    int64_t low = 0, high = 0;
    if (!is_empty(a) && !byte_range(a, strides, &low, &high))
        return false;
    if ((low < 0 && magnitude(low) > data) || (uint64_t)high > UINTPTR_MAX - data)
        return false;
    *out_low = data + (uintptr_t)low;
    *out_high = data + (uintptr_t)high;
    return true;
}

bool tv_array_span(const tv_array *array, uintptr_t *out_low, uintptr_t *out_high)
{
    int64_t strides[TV_MAX_RANK];
    return array->ndim <= TV_MAX_RANK && bc_spell_strides(array, strides)
           && bc_extent_span(array, strides, out_low, out_high);
}

/* ---- memory that is shared ---- */

/* Marks the places of every element in a bit set over [low, high). True when one was marked before. */
static bool mark(const bc_extent *e, uint8_t *bits, uintptr_t low)
{
    const tv_array *a = e->array;
    unsigned bytes = bc_element_bytes(a->dtype);
    int64_t index[TV_MAX_RANK] = {0};
    uintptr_t at = (uintptr_t)a->data;
    for (;;) {
        for (unsigned b = 0; b < bytes; b++) {
            uintptr_t place = at + b - low;
            if (bits[place / 8] >> (place % 8) & 1)
                return true;
            bits[place / 8] |= (uint8_t)(1u << (place % 8));
        }
        uint32_t i = a->ndim;
        for (; i-- > 0;) {
            uintptr_t step = (uintptr_t)e->strides[i] * bytes; /* wraps where the stride of a single element is odd */
            at += step;
            if (++index[i] < a->shape[i])
                break;
            at -= step * (uintptr_t)a->shape[i];
            index[i] = 0;
        }
        if (i == UINT32_MAX)
            return false;
    }
}

/* Elements of an array that is not empty; more than BC_MAX_PLACES count as BC_MAX_PLACES + 1. */
static int64_t places(const tv_array *a)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < a->ndim; i++)
        if (!multiply(count, a->shape[i], &count) || count > BC_MAX_PLACES)
            return BC_MAX_PLACES + 1;
    return count;
}

/* Every axis steps over all that the axes with smaller strides reach: then no two indices meet. */
static bool is_nested(const bc_extent *e)
{
    uint32_t order[TV_MAX_RANK], count = 0;
    for (uint32_t i = 0; i < e->array->ndim; i++) {
        if (e->array->shape[i] == 1)
            continue;
        uint64_t size = magnitude(e->strides[i]);
        uint32_t at = count++;
        for (; at > 0; at--) {
            int64_t s = e->strides[order[at - 1]];
            if (magnitude(s) <= size)
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    uint64_t reach = 0; /* bc_extent_span() has bounded the sum */
    for (uint32_t k = 0; k < count; k++) {
        int64_t s = e->strides[order[k]];
        uint64_t size = magnitude(s);
        if (size <= reach)
            return false;
        reach += size * (uint64_t)(e->array->shape[order[k]] - 1);
    }
    return true;
}

/* Are two elements of a, or of a and b, one place? *out_known false: too much to look at each element. */
static bool collide(bc_overlap *work, const bc_extent *a, const bc_extent *b, bool *out_known)
{
    uintptr_t low = b && b->low < a->low ? b->low : a->low, high = b && b->high > a->high ? b->high : a->high;
    *out_known = false;
    int64_t work_a = places(a->array), work_b = b ? places(b->array) : 0;
    if (high - low > (uintptr_t)BC_MAX_PLACES * 16 || work_a > BC_MAX_PLACES || work_b > BC_MAX_PLACES)
        return false;
    work->work_left -= work_a + work_b + (int64_t)(high - low) / 64;
    if (work->work_left < 0)
        return false;
    bc_arena scratch;
    bc_arena_init(&scratch, work->allocator, 0);
    uint8_t *bits = bc_new(&scratch, uint8_t, (high - low) / 8 + 1);
    *out_known = bits != NULL;
    bool found = bits && (mark(a, bits, low) || (b && mark(b, bits, low)));
    bc_arena_release(&scratch);
    return found;
}

bool bc_meets_itself(bc_overlap *work, const bc_extent *e)
{
    if (is_nested(e))
        return false;
    for (uint32_t i = 0; i < e->array->ndim; i++)
        if (e->strides[i] == 0 && e->array->shape[i] > 1)
            return true;
    bool known;
    return collide(work, e, NULL, &known);
}

bool bc_meet(bc_overlap *work, const bc_extent *a, const bc_extent *b)
{
    bool known, found = collide(work, a, b, &known);
    return found || !known;
}
