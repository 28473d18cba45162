/* Described arrays: from addresses back to elements. */
#include "vm/run/array.h"

#include <stdio.h>
#include <string.h>

static uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

/* Examines the axes, from the smallest stride on. */
static void look_for_gaps(vm_array *a)
{
    uint64_t reach = 0; /* elements from the lowest to the highest so far */
    a->packed = a->nested = true;
    for (uint32_t i = a->walked; i-- > 0;) {
        uint32_t d = a->by_stride[i];
        uint64_t stride = magnitude(a->strides[d]);
        a->packed &= stride <= reach + 1;
        a->nested &= stride > reach;
        reach += stride * ((uint64_t)a->shape[d] - 1);
    }
}

/* Orders the axes that have a second element: those of stride 0 add no addresses. */
static void order_axes(vm_array *a)
{
    for (uint32_t d = 0; d < a->ndim; d++) {
        if (a->shape[d] < 2 || a->strides[d] == 0)
            continue;
        uint32_t at = a->walked++;
        for (; at > 0 && magnitude(a->strides[a->by_stride[at - 1]]) < magnitude(a->strides[d]); at--)
            a->by_stride[at] = a->by_stride[at - 1];
        a->by_stride[at] = d;
    }
}

tv_status vm_arrays_add(vm_arrays *arrays, const tv_allocator *allocator, const tv_array *array, const char *name)
{
    uintptr_t low, high;
    if (!tv_array_span(array, &low, &high))
        return TV_USAGE;
    if (arrays->count == arrays->capacity) {
        size_t larger = arrays->capacity ? 2 * arrays->capacity : 8;
        vm_array *items = allocator->alloc(allocator->user, larger * sizeof *items);
        if (!items)
            return TV_NO_MEMORY;
        if (arrays->count)
            memcpy(items, arrays->items, arrays->count * sizeof *items);
        if (arrays->items)
            allocator->release(allocator->user, arrays->items, arrays->capacity * sizeof *items);
        arrays->items = items;
        arrays->capacity = larger;
    }
    vm_array *a = &arrays->items[arrays->count++];
    *a = (vm_array){.base = (uintptr_t)array->data,
                    .low = low,
                    .high = high,
                    .dtype = array->dtype,
                    .ndim = array->ndim,
                    .item_bits = tv_dtype_bits(array->dtype)};
    snprintf(a->name, sizeof a->name, "%s", name ? name : "an array");
    uint64_t next = 1;
    for (uint32_t d = array->ndim; d-- > 0;) {
        a->shape[d] = array->shape[d];
        a->strides[d] = array->strides ? array->strides[d] : (int64_t)next;
        next *= (uint64_t)array->shape[d];
    }
    order_axes(a);
    look_for_gaps(a);
    return TV_OK;
}

void vm_arrays_release(vm_arrays *arrays, const tv_allocator *allocator)
{
    if (arrays->items)
        allocator->release(allocator->user, arrays->items, arrays->capacity * sizeof *arrays->items);
    *arrays = (vm_arrays){0};
}

/* Goes down the axes from the largest stride: counted from the lowest address all strides are positive, so each index
   is a quotient. That finds every element of a nested array, and some elements of others. */
bool vm_array_element(const vm_array *a, uint64_t address, int64_t *out_index)
{
    if (address < a->low || address >= a->high || !a->item_bits)
        return false;
    uint64_t left = (address - a->low) * 8 / a->item_bits; /* elements above the lowest one */
    for (uint32_t d = 0; d < a->ndim; d++)
        out_index[d] = 0;
    for (uint32_t i = 0; i < a->walked; i++) {
        uint32_t d = a->by_stride[i];
        uint64_t stride = magnitude(a->strides[d]), last = (uint64_t)a->shape[d] - 1, index = left / stride;
        if (index > last)
            index = last;
        left -= index * stride;
        out_index[d] = (int64_t)(a->strides[d] < 0 ? last - index : index);
    }
    return left == 0;
}

const vm_array *vm_arrays_find(const vm_arrays *arrays, uint64_t address, bool *out_is_element)
{
    const vm_array *around = NULL;
    int64_t index[TV_MAX_RANK];
    *out_is_element = true;
    for (size_t i = 0; i < arrays->count; i++) {
        const vm_array *a = &arrays->items[i];
        if (address < a->low || address >= a->high)
            continue;
        if (a->packed || !a->nested || vm_array_element(a, address, index))
            return a;
        around = a;
    }
    *out_is_element = false;
    return around;
}

static bool is_row_major(const vm_array *a)
{
    uint64_t next = 1;
    for (uint32_t d = a->ndim; d-- > 0;) {
        if (a->shape[d] > 1 && (uint64_t)a->strides[d] != next)
            return false;
        next *= (uint64_t)a->shape[d];
    }
    return true;
}

static void print_list(bc_text *out, const int64_t *items, uint32_t count)
{
    for (uint32_t d = 0; d < count; d++)
        bc_text_printf(out, "%s%lld", d ? ", " : "[", (long long)items[d]);
    bc_text_puts(out, count ? "]" : "[]");
}

void vm_array_print_type(bc_text *out, const vm_array *a)
{
    bc_text_puts(out, tv_dtype_name(a->dtype));
    print_list(out, a->shape, a->ndim);
    if (is_row_major(a))
        return;
    bc_text_puts(out, " with strides ");
    print_list(out, a->strides, a->ndim);
}
