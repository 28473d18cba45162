/* Calls: arguments checked against the promises of a signature, then laid out as entry parameters (memory reference,
   section 11.5). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bytecode/base/compiler.h"
#include "bytecode/base/text.h"
#include "bytecode/dtype.h"
#include "bytecode/print/report.h"
#include "bytecode/symbol/call.h"
#include "bytecode/symbol/extent.h"

enum { MAX_WORK = 8 * BC_MAX_PLACES }; /* of one call, to decide whether arrays overlap */

struct storage {
    void *ptr;
    size_t size;
};

struct tv_call {
    bc_arena arena;
    const void **params;
    size_t param_count;
    struct storage *lists;
    size_t list_count;
};

/* The descriptors of a list: its arrays are extents first, first + 1, ... */
struct list_span {
    const tv_param *param;
    size_t arrays, first;
};

typedef struct checker {
    const tv_signature *signature;
    tv_sink sink;
    tv_severity sharing; /* of memory that is shared against the promises */
    bc_arena *arena;
    bool bad;
    bc_overlap overlap;
    bc_extent *extents; /* of all arrays, those of lists too */
    size_t extent_count;
    struct list_span *lists;
    size_t list_count;
} checker;

static void wrong(checker *c, bc_rule rule, const char *format, ...) TV_PRINTF(3, 4);

static void wrong(checker *c, bc_rule rule, const char *format, ...)
{
    const bc_place nowhere = {.offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    bool sharing = rule == BC_RULE_C_ARG_08 || rule == BC_RULE_C_ARG_09;
    tv_severity severity = sharing ? c->sharing : TV_ERROR;
    va_list args;
    va_start(args, format);
    bc_report_as(NULL, c->sink, &nowhere, rule, severity, NULL, format, args);
    va_end(args);
    c->bad |= severity == TV_ERROR;
}

/* ---- one array against its promises ---- */

static bool fits_index(tv_dtype index, int64_t value)
{
    if (index == TV_I32)
        return value >= INT32_MIN && value <= INT32_MAX;
    if (index == TV_U32)
        return value >= 0 && value <= UINT32_MAX;
    return true;
}

static void check_extent(checker *c, const bc_extent *e, uint32_t i)
{
    const tv_axis *axis = &e->param->axes[i];
    int64_t n = e->array->shape[i];
    if (axis->has_extent && n != axis->extent)
        wrong(c, BC_RULE_C_ARG_04, "argument '%s': extent %u is %lld, but the kernel was compiled for %lld", e->name, i,
              (long long)n, (long long)axis->extent);
    if (n % axis->extent_multiple != 0)
        wrong(c, BC_RULE_C_ARG_04, "argument '%s': extent %u is %lld, which is not a multiple of %lld as promised",
              e->name, i, (long long)n, (long long)axis->extent_multiple);
    if (!fits_index(e->param->index_dtype, n))
        wrong(c, BC_RULE_C_ARG_07,
              "argument '%s': extent %u is %lld, which does not fit the %s that the kernel counts with", e->name, i,
              (long long)n, tv_dtype_name(e->param->index_dtype));
}

static void check_stride(checker *c, const bc_extent *e, uint32_t i)
{
    const tv_axis *axis = &e->param->axes[i];
    int64_t stride = e->strides[i];
    if (axis->has_stride && stride != axis->stride)
        wrong(c, BC_RULE_C_ARG_05, "argument '%s': stride %u is %lld, but the kernel was compiled for %lld", e->name, i,
              (long long)stride, (long long)axis->stride);
    if (stride % axis->stride_multiple != 0)
        wrong(c, BC_RULE_C_ARG_05, "argument '%s': stride %u is %lld, which is not a multiple of %lld as promised",
              e->name, i, (long long)stride, (long long)axis->stride_multiple);
    if (axis->has_stride_min && stride < axis->stride_min)
        wrong(c, BC_RULE_C_ARG_05, "argument '%s': stride %u is %lld, below the promised %lld", e->name, i,
              (long long)stride, (long long)axis->stride_min);
    if (!fits_index(e->param->index_dtype, stride))
        wrong(c, BC_RULE_C_ARG_07,
              "argument '%s': stride %u is %lld, which does not fit the %s that the kernel counts with", e->name, i,
              (long long)stride, tv_dtype_name(e->param->index_dtype));
}

static void check_address(checker *c, const bc_extent *e, int64_t multiple)
{
    uintptr_t address = (uintptr_t)e->array->data;
    if (address % (uint64_t)multiple != 0)
        wrong(c, BC_RULE_C_ARG_06,
              "argument '%s' begins at an address %% %lld = %llu; it must be a multiple of %lld bytes%s", e->name,
              (long long)multiple, (unsigned long long)(address % (uint64_t)multiple), (long long)multiple,
              multiple > (int64_t)bc_element_bytes(e->array->dtype) ? " as promised" : ", the size of an element");
}

/* Same storage, so that the other signedness of integers is fine. */
static bool same_kind(tv_dtype a, tv_dtype b)
{
    return bc_dtypes[a].kind == bc_dtypes[b].kind;
}

/* What a raw pointer may be given: elements that share bytes, and truth values, come as bytes as well. */
static bool fits_pointer(tv_dtype pointee, tv_dtype given)
{
    bool bytes = tv_dtype_bits(pointee) < 8 || pointee == TV_BOOL;
    return same_kind(pointee, given) || (bytes && same_kind(given, TV_U8));
}

/* What can be said of any array, then what the leaf promises of it. */
static void check_array(checker *c, bc_extent *e, bool raw)
{
    const tv_array *a = e->array;
    if (raw ? !fits_pointer(e->param->dtype, a->dtype) : a->dtype != e->param->dtype) {
        wrong(c, BC_RULE_C_ARG_02, "argument '%s' holds %s, but the kernel takes %s", e->name, tv_dtype_name(a->dtype),
              tv_dtype_name(e->param->dtype));
        return;
    }
    if (a->ndim > TV_MAX_RANK || (!raw && a->ndim != e->param->ndim)) {
        wrong(c, BC_RULE_C_ARG_03, "argument '%s' has %u dimension%s, but the kernel takes %u", e->name, a->ndim,
              a->ndim == 1 ? "" : "s", raw ? TV_MAX_RANK : e->param->ndim);
        return;
    }
    for (uint32_t i = 0; i < a->ndim; i++)
        if (a->shape[i] < 0) {
            wrong(c, BC_RULE_C_ARG_07, "argument '%s': extent %u is negative (%lld)", e->name, i,
                  (long long)a->shape[i]);
            return;
        }
    if (!bc_spell_strides(a, e->strides) || !bc_extent_span(a, e->strides, &e->low, &e->high)) {
        wrong(c, BC_RULE_C_ARG_07, "argument '%s' is larger than the address space", e->name);
        return;
    }
    e->good = true;
    check_address(c, e, bc_element_bytes(a->dtype));
    if (raw)
        return;
    for (uint32_t i = 0; i < a->ndim; i++) {
        check_extent(c, e, i);
        check_stride(c, e, i);
    }
    if (e->param->base_multiple > bc_element_bytes(a->dtype))
        check_address(c, e, e->param->base_multiple);
}

static bool share_group(const tv_param *a, const tv_param *b)
{
    for (size_t i = 0; i < a->group_count; i++)
        for (size_t k = 0; k < b->group_count; k++)
            if (a->groups[i] == b->groups[k])
                return true;
    return false;
}

static bool may_meet(const checker *c, const bc_extent *a, const bc_extent *b)
{
    if (a->param == b->param) { /* arrays of one list */
        for (size_t i = 0; i < c->list_count; i++)
            if (c->lists[i].param->items == a->param)
                return c->lists[i].param->overlaps;
        return false;
    }
    return share_group(a->param, b->param);
}

/* Is anything promised about who shares the array's memory, and has it any? */
static bool shares(const bc_extent *e)
{
    return e->good && e->param->kind != TV_PARAM_POINTER && e->low < e->high;
}

static void check_sharing(checker *c)
{
    for (size_t i = 0; i < c->extent_count; i++) {
        const bc_extent *a = &c->extents[i];
        if (!shares(a))
            continue;
        if (!a->param->overlaps && bc_meets_itself(&c->overlap, a))
            wrong(c, BC_RULE_C_ARG_09, "argument '%s': different indices are the same place in memory", a->name);
        for (size_t k = 0; k < i; k++) {
            const bc_extent *b = &c->extents[k];
            if (shares(b) && a->low < b->high && b->low < a->high && !may_meet(c, a, b) && bc_meet(&c->overlap, a, b))
                wrong(c, BC_RULE_C_ARG_08, "arguments '%s' and '%s' share memory, but no alias group allows it",
                      b->name, a->name);
        }
    }
}

/* ---- all arguments ---- */

static const char *name_of(const tv_param *leaf, const tv_arg *arg)
{
    return arg->name ? arg->name : leaf->name;
}

static void add_extent(checker *c, const tv_param *param, const tv_arg *arg, const char *name, size_t index,
                       bool in_list)
{
    bc_extent *e = &c->extents[c->extent_count++];
    *e = (bc_extent){.array = &arg->arrays[index], .param = param};
    if (in_list)
        snprintf(e->name, sizeof e->name, "%.50s[%zu]", name, index);
    else
        snprintf(e->name, sizeof e->name, "%.63s", name);
    check_array(c, e, param->kind == TV_PARAM_POINTER);
}

static void check_scalar(checker *c, const tv_param *leaf, const tv_arg *arg)
{
    const char *name = name_of(leaf, arg);
    if (arg->array_count)
        wrong(c, BC_RULE_C_ARG_01, "argument '%s' is an array, but the kernel takes one %s", name,
              tv_dtype_name(leaf->dtype));
    else if (!same_kind(arg->dtype, leaf->dtype))
        wrong(c, BC_RULE_C_ARG_02, "argument '%s' is %s, but the kernel takes %s", name, tv_dtype_name(arg->dtype),
              tv_dtype_name(leaf->dtype));
}

static void check_arg(checker *c, const tv_param *leaf, const tv_arg *arg)
{
    const char *name = name_of(leaf, arg);
    if (leaf->kind == TV_PARAM_SCALAR) {
        check_scalar(c, leaf, arg);
    } else if (leaf->kind == TV_PARAM_LIST) {
        if (arg->array_count > INT32_MAX) {
            wrong(c, BC_RULE_C_ARG_07, "argument '%s' has more than 2^31 - 1 arrays", name);
            return;
        }
        c->lists[c->list_count++] = (struct list_span){leaf, arg->array_count, c->extent_count};
        for (size_t i = 0; i < arg->array_count; i++)
            add_extent(c, &leaf->items[0], arg, name, i, true);
    } else if (arg->array_count != 1) {
        wrong(c, BC_RULE_C_ARG_01, "argument '%s' is %s, but the kernel takes one array", name,
              arg->array_count ? "a list" : "a number");
    } else {
        add_extent(c, leaf, arg, name, 0, false);
    }
}

static bool check_args(checker *c, const tv_arg *args, size_t count)
{
    size_t leaves = tv_signature_leaf_count(c->signature), arrays = 0;
    if (count != leaves) {
        wrong(c, BC_RULE_C_ARG_01, "%zu argument%s given, but the kernel takes %zu", count,
              count == 1 ? " was" : "s were", leaves);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        arrays += args[i].array_count;
    c->extents = bc_new(c->arena, bc_extent, arrays);
    c->lists = bc_new(c->arena, struct list_span, count);
    if (!c->extents || !c->lists)
        return false;
    for (size_t i = 0; i < count; i++)
        check_arg(c, tv_signature_leaf(c->signature, i), &args[i]);
    check_sharing(c);
    return !c->arena->failed;
}

/* ---- laying out ---- */

/* Rounds up to a power of two: a kernel reads a descriptor as a tile of that many words. */
static size_t tile_words(size_t words)
{
    size_t tile = 1;
    while (tile < words)
        tile *= 2;
    return tile;
}

/* Descriptors: address, extents, strides as 64-bit words each. Behind the last one there is room, because kernels
   read whole tiles. */
static bool build_list(tv_call *call, const checker *c, const struct list_span *list)
{
    size_t ndim = list->param->ndim, words = 1 + 2 * ndim, slack = tile_words(words) - words;
    if (list->arrays > (SIZE_MAX / 8 - slack) / words)
        return false;
    size_t total = list->arrays * words + slack;
    uint64_t *out = bc_new(&call->arena, uint64_t, total ? total : 1);
    if (!out)
        return false;
    call->lists[call->list_count++] = (struct storage){out, (total ? total : 1) * sizeof *out};
    for (size_t i = 0; i < list->arrays; i++, out += words) {
        const bc_extent *e = &c->extents[list->first + i];
        out[0] = (uintptr_t)e->array->data;
        for (size_t k = 0; k < ndim; k++) {
            out[1 + k] = (uint64_t)e->array->shape[k];
            out[1 + ndim + k] = (uint64_t)e->strides[k];
        }
    }
    return true;
}

/* The value of a slot, in the low bytes. */
static uint64_t slot_value(const tv_call *call, const tv_slot *slot, const tv_arg *arg, const bc_extent *e, size_t list)
{
    switch (slot->role) {
    case TV_SLOT_VALUE: return slot->leaf->dtype == TV_BOOL ? arg->bits & 1 : arg->bits;
    case TV_SLOT_ADDRESS: return (uintptr_t)e->array->data;
    case TV_SLOT_EXTENT: return (uint64_t)e->array->shape[slot->axis];
    case TV_SLOT_STRIDE: return (uint64_t)e->strides[slot->axis];
    case TV_SLOT_LIST_ADDRESS: return (uintptr_t)call->lists[list].ptr;
    case TV_SLOT_LIST_COUNT: return arg->array_count;
    }
    return 0;
}

/* Puts the low bytes of a value where a reader of that size expects them. */
static void put_value(unsigned char *out, uint64_t value, unsigned size)
{
    uint8_t v8 = (uint8_t)value;
    uint16_t v16 = (uint16_t)value;
    uint32_t v32 = (uint32_t)value;
    const void *from = size == 1   ? (const void *)&v8
                       : size == 2 ? (const void *)&v16
                       : size == 4 ? (const void *)&v32
                                   : (const void *)&value;
    memcpy(out, from, size);
}

static bool lay_out(tv_call *call, const checker *c, const tv_arg *args)
{
    size_t count = tv_signature_slot_count(c->signature), arg = 0, array = 0, list = 0;
    unsigned char *values = bc_arena_array(&call->arena, count, 8, 8);
    call->params = bc_new(&call->arena, const void *, count);
    call->lists = bc_new(&call->arena, struct storage, c->list_count);
    if (!values || !call->params || !call->lists)
        return false;
    for (size_t i = 0; i < c->list_count; i++)
        if (!build_list(call, c, &c->lists[i]))
            return false;
    tv_slot slot;
    for (size_t i = 0; i < count && tv_signature_slot(c->signature, i, &slot); i++) {
        const bc_extent *e = array < c->extent_count ? &c->extents[array] : NULL;
        put_value(values + i * 8, slot_value(call, &slot, &args[arg], e, list), slot.size);
        call->params[i] = values + i * 8;
        if (i + 1 == slot.leaf->first_slot + slot.leaf->slot_count) {
            list += slot.leaf->kind == TV_PARAM_LIST;
            array += args[arg].array_count;
            arg++;
        }
    }
    call->param_count = count;
    return true;
}

static tv_status new_call(const tv_signature *signature, const tv_arg *args, size_t count, tv_severity sharing,
                          const tv_allocator *allocator, tv_sink sink, tv_call **out_call)
{
    bc_arena scratch;
    bc_arena_init(&scratch, allocator, 0);
    checker c = {.signature = signature,
                 .sink = sink,
                 .sharing = sharing,
                 .arena = &scratch,
                 .overlap = {&scratch.allocator, MAX_WORK}};
    tv_status status = TV_NO_MEMORY;
    tv_call *call = NULL;
    tv_allocator a = scratch.allocator;
    if (!check_args(&c, args, count))
        goto done;
    status = TV_INVALID;
    if (c.bad)
        goto done;
    status = TV_NO_MEMORY;
    call = a.alloc(a.user, sizeof *call);
    if (!call)
        goto done;
    *call = (tv_call){0};
    bc_arena_init(&call->arena, &a, 0);
    if (!lay_out(call, &c, args))
        goto done;
    *out_call = call;
    call = NULL;
    status = TV_OK;
done:
    tv_call_free(call);
    bc_arena_release(&scratch);
    return status;
}

tv_status bc_call_new(const tv_signature *signature, const tv_arg *args, size_t count, tv_severity sharing,
                      const tv_allocator *allocator, tv_sink sink, tv_call **out_call)
{
    TV_RETURN_COMPUTED(new_call(signature, args, count, sharing, allocator, sink, out_call));
}

tv_status tv_call_new(const tv_signature *signature, const tv_arg *args, size_t count, const tv_allocator *allocator,
                      tv_sink sink, tv_call **out_call)
{
    return bc_call_new(signature, args, count, TV_ERROR, allocator, sink, out_call);
}

void tv_call_free(tv_call *call)
{
    if (!call)
        return;
    tv_allocator a = call->arena.allocator;
    bc_arena_release(&call->arena);
    a.release(a.user, call, sizeof *call);
}

const void *const *tv_call_params(const tv_call *call, size_t *out_count)
{
    *out_count = call->param_count;
    return call->params;
}

bool tv_call_storage(const tv_call *call, size_t index, void **out_ptr, size_t *out_size)
{
    if (index >= call->list_count)
        return false;
    *out_ptr = call->lists[index].ptr;
    *out_size = call->lists[index].size;
    return true;
}
