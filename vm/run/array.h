/* Arrays that the caller described: which element an address belongs to, for messages and checks. */
#ifndef TILEVM_VM_RUN_ARRAY_H
#define TILEVM_VM_RUN_ARRAY_H

#include "bytecode/base/text.h"
#include "vm/run/memory.h"

typedef struct vm_array {
    char name[64];
    uint64_t base;      /* address of element (0, ..., 0) */
    uint64_t low, high; /* first and one past the last byte */
    tv_dtype dtype;
    uint32_t ndim;
    int64_t shape[TV_MAX_RANK], strides[TV_MAX_RANK]; /* elements */
    unsigned item_bits;                               /* of an element; 4 for two a byte */
    bool packed;                                      /* no gaps between low and high */
    bool nested; /* every stride reaches over all that smaller ones span: elements do not interleave */
    uint32_t by_stride[TV_MAX_RANK]; /* axes of more than one element, the largest stride first */
    uint32_t walked;                 /* how many they are */
} vm_array;

typedef struct vm_arrays {
    vm_array *items;
    size_t count, capacity;
} vm_arrays;

tv_status vm_arrays_add(vm_arrays *arrays, const tv_allocator *allocator, const tv_array *array, const char *name);
void vm_arrays_release(vm_arrays *arrays, const tv_allocator *allocator);

/* The element that the byte at address is part of; indices go to out_index, ndim of them. Where elements overlap, one
   of them; where they interleave, it may be missed. */
bool vm_array_element(const vm_array *array, uint64_t address, int64_t *out_index);

/* The array with an element at that address, else one that the address lies inside of, else NULL. */
const vm_array *vm_arrays_find(const vm_arrays *arrays, uint64_t address, bool *out_is_element);

/* "f32[32, 64]", with strides where they are not row-major. */
void vm_array_print_type(bc_text *out, const vm_array *array);

#endif
