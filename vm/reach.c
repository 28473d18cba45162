/* What a call reaches: memory made known to a machine from the values of entry parameters, as a signature says what
   they are. The values come from whoever launches; descriptors of lists are read where they lie. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/compile/compile.h"
#include "vm/run/schedule.h"

/* An array that a leaf gives, with room for what array points to. */
typedef struct reached {
    char name[64];
    const tv_leaf *leaf; /* what is known of it; may be NULL */
    tv_array array;
    int64_t shape[TV_MAX_RANK], strides[TV_MAX_RANK];
    uintptr_t low, high;
} reached;

typedef struct reach {
    tv_vm *vm;
    const tv_signature *signature;
    const void *const *params;
    const tv_leaf *leaves;
    tv_sink sink;
    reached *arrays;
    size_t count, capacity; /* of arrays */
} reach;

static int64_t read_value(const tv_slot *slot, const void *param)
{
    int32_t narrow;
    int64_t wide;
    if (slot->size == sizeof wide)
        return memcpy(&wide, param, sizeof wide), wide;
    memcpy(&narrow, param, sizeof narrow);
    return slot->dtype == TV_U32 ? (int64_t)(uint32_t)narrow : narrow;
}

static void *read_address(const void *param)
{
    void *address;
    memcpy(&address, param, sizeof address);
    return address;
}

static const tv_leaf *known_of(const reach *r, size_t leaf)
{
    return r->leaves ? &r->leaves[leaf] : NULL;
}

/* ---- how many arrays ---- */

static const char *name_of(const tv_param *leaf, const tv_leaf *known)
{
    return known && known->name ? known->name : leaf->name;
}

/* The arrays of a leaf whose first slot is leaf->first_slot; -1: a list of negative length. */
static int64_t arrays_of(const reach *r, const tv_param *leaf)
{
    tv_slot slot;
    if (leaf->kind == TV_PARAM_ARRAY)
        return 1;
    if (leaf->kind != TV_PARAM_LIST || !tv_signature_slot(r->signature, leaf->first_slot + 1, &slot))
        return 0;
    int64_t count = read_value(&slot, r->params[leaf->first_slot + 1]);
    return count < 0 ? -1 : count;
}

static tv_status count_arrays(reach *r)
{
    const tv_param *leaf;
    for (size_t i = 0; (leaf = tv_signature_leaf(r->signature, i)); i++) {
        int64_t count = arrays_of(r, leaf);
        if (count < 0)
            return vm_wrong(r->vm->module, r->sink, "list '%s' has a negative number of arrays",
                            name_of(leaf, known_of(r, i)));
        r->capacity += (size_t)count;
    }
    return TV_OK;
}

/* ---- reading them ---- */

static reached *next_array(reach *r, const tv_param *param, const tv_leaf *known, void *data)
{
    reached *a = &r->arrays[r->count++];
    a->leaf = known;
    a->array = (tv_array){data, param->dtype, param->ndim, a->shape, a->strides};
    return a;
}

static void read_array(reach *r, const tv_param *leaf, const tv_leaf *known)
{
    size_t at = leaf->first_slot;
    reached *a = next_array(r, leaf, known, read_address(r->params[at++]));
    snprintf(a->name, sizeof a->name, "%.63s", name_of(leaf, known));
    for (size_t i = 0; i < 2 * (size_t)leaf->ndim; i++, at++) {
        tv_slot slot = {0};
        tv_signature_slot(r->signature, at, &slot);
        *(i < leaf->ndim ? &a->shape[i] : &a->strides[i - leaf->ndim]) = read_value(&slot, r->params[at]);
    }
}

/* A descriptor is 64-bit words: address, extents, strides. */
static tv_status read_list(reach *r, const tv_param *leaf, const tv_leaf *known)
{
    const tv_param *item = leaf->items;
    const unsigned char *at = read_address(r->params[leaf->first_slot]);
    size_t count = (size_t)arrays_of(r, leaf), words = 1 + 2 * (size_t)item->ndim, bytes = words * sizeof(int64_t);
    char name[80];
    snprintf(name, sizeof name, "list '%.63s'", name_of(leaf, known));
    if (count)
        TV_TRY(tv_vm_add_buffer(r->vm, (void *)(uintptr_t)at, count * bytes, name, false, r->sink));
    for (size_t i = 0; i < count; i++, at += bytes) {
        reached *a = next_array(r, item, known, read_address(at));
        snprintf(a->name, sizeof a->name, "%.32s[%zu]", name_of(leaf, known), i);
        memcpy(a->shape, at + sizeof(int64_t), item->ndim * sizeof *a->shape);
        memcpy(a->strides, at + (1 + item->ndim) * sizeof(int64_t), item->ndim * sizeof *a->strides);
    }
    return TV_OK;
}

static tv_status check_array(const reach *r, reached *a)
{
    for (uint32_t i = 0; i < a->array.ndim; i++)
        if (a->shape[i] < 0)
            return vm_wrong(r->vm->module, r->sink, "array '%s': extent %u is negative (%lld)", a->name, i,
                            (long long)a->shape[i]);
    if (!tv_array_span(&a->array, &a->low, &a->high))
        return vm_wrong(r->vm->module, r->sink, "array '%s' is larger than the address space", a->name);
    return TV_OK;
}

static tv_status read_arrays(reach *r)
{
    const tv_param *leaf;
    for (size_t i = 0; (leaf = tv_signature_leaf(r->signature, i)); i++) {
        if (leaf->kind == TV_PARAM_ARRAY)
            read_array(r, leaf, known_of(r, i));
        else if (leaf->kind == TV_PARAM_LIST)
            TV_TRY(read_list(r, leaf, known_of(r, i)));
    }
    for (size_t i = 0; i < r->count; i++)
        TV_TRY(check_array(r, &r->arrays[i]));
    return TV_OK;
}

/* ---- making them known ---- */

static int by_address(const void *a_, const void *b_)
{
    const reached *a = *(const reached *const *)a_, *b = *(const reached *const *)b_;
    return (a->low > b->low) - (a->low < b->low);
}

/* The arrays from order[*at] on that share memory, as one buffer with the name of the first; steps over them. */
static tv_status add_range(const reach *r, reached *const *order, size_t *at)
{
    const reached *first = order[*at];
    uintptr_t high = first->high;
    bool writable = false;
    for (; *at < r->count && (order[*at]->low < high || order[*at] == first); ++*at) {
        const reached *a = order[*at];
        high = a->high > high ? a->high : high;
        writable |= !(a->leaf && a->leaf->read_only);
    }
    if (first->low == high)
        return TV_OK;
    return tv_vm_add_buffer(r->vm, (void *)first->low, high - first->low, first->name, writable, r->sink);
}

static tv_status add_ranges(const reach *r, reached **order)
{
    for (size_t i = 0; i < r->count; i++)
        order[i] = &r->arrays[i];
    if (r->count)
        qsort(order, r->count, sizeof(reached *), by_address);
    for (size_t i = 0; i < r->count;)
        TV_TRY(add_range(r, order, &i));
    return TV_OK;
}

static tv_status describe(const reach *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const reached *a = &r->arrays[i];
        bool undefined = a->leaf && a->leaf->undefined;
        TV_TRY(tv_vm_describe_array(r->vm, &a->array, a->name, undefined, r->sink));
    }
    return TV_OK;
}

static tv_status make_known(reach *r)
{
    tv_allocator a = r->vm->allocator;
    size_t size = (r->capacity + 1) * sizeof(reached), places = (r->capacity + 1) * sizeof(reached *);
    reached **order = a.alloc(a.user, places);
    r->arrays = a.alloc(a.user, size);
    tv_status status = order && r->arrays ? read_arrays(r) : TV_NO_MEMORY;
    if (status == TV_OK)
        status = add_ranges(r, order);
    if (status == TV_OK)
        status = describe(r);
    if (order)
        a.release(a.user, order, places);
    if (r->arrays)
        a.release(a.user, r->arrays, size);
    return status;
}

tv_status tv_vm_add_params(tv_vm *vm, const tv_signature *signature, const void *const *params, size_t count,
                           const tv_leaf *leaves, tv_sink sink)
{
    reach r = {.vm = vm, .signature = signature, .params = params, .leaves = leaves, .sink = sink};
    if (count != tv_signature_slot_count(signature))
        return vm_wrong(vm->module, sink, "the signature has %zu entry parameters, and %zu were given",
                        tv_signature_slot_count(signature), count);
    TV_TRY(count_arrays(&r));
    return make_known(&r);
}
