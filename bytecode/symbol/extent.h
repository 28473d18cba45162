/* Where arrays lie in memory, and whether two of their elements are one place. */
#ifndef TILEVM_BYTECODE_SYMBOL_EXTENT_H
#define TILEVM_BYTECODE_SYMBOL_EXTENT_H

#include "bytecode/base/arena.h"

/* An array with its strides spelled out and its place in memory. */
typedef struct bc_extent {
    const tv_array *array;
    const tv_param *param; /* promises: the leaf, or the element of the list */
    char name[64];
    int64_t strides[TV_MAX_RANK];
    uintptr_t low, high;
    bool good; /* strides, low and high hold */
} bc_extent;

enum { BC_MAX_PLACES = 1 << 22 }; /* elements up to which overlap is decided element by element */

/* Looking at each element takes memory and time: of these the memory, and how much work is left. */
typedef struct bc_overlap {
    const tv_allocator *allocator;
    int64_t work_left; /* elements, and 64-byte parts of memory, to look at */
} bc_overlap;

unsigned bc_element_bytes(tv_dtype dtype);
/* False when the array has more elements than an int64_t can count. */
bool bc_spell_strides(const tv_array *a, int64_t *out);
/* From the lowest byte of any element to behind the highest. False: beyond the ends of memory. */
bool bc_extent_span(const tv_array *a, const int64_t *strides, uintptr_t *out_low, uintptr_t *out_high);
/* May two indices of the array be one place? Large unclear cases count as no. */
bool bc_meets_itself(bc_overlap *work, const bc_extent *e);
/* Do two arrays whose ranges cross share a byte? Unclear cases count as yes. */
bool bc_meet(bc_overlap *work, const bc_extent *a, const bc_extent *b);
#endif
