/* Where the elements of a tile lie. All extents are powers of two, so the row-major index of an element is a string
   of bits, and a layout is one stride per bit: element i lies at the sum of the strides of the bits set in i.
   Reshape keeps a layout, broadcast puts in bits of stride 0, permute moves bits, a splat has only zeros. */
#ifndef TILEVM_VM_RUN_LAYOUT_H
#define TILEVM_VM_RUN_LAYOUT_H

#include "bytecode/module.h"

enum { VM_MAX_BITS = 24 };

typedef struct vm_layout {
    uint32_t bits;                /* the tile has 2^bits elements */
    uint32_t stride[VM_MAX_BITS]; /* in elements; bit 0 runs fastest */
} vm_layout;

/* log2 of an extent, or of the elements of a tile. */
uint32_t vm_extent_bits(int64_t extent);
uint32_t vm_type_bits(const bc_type *tile);

/* Row-major without gaps. */
vm_layout vm_layout_packed(uint32_t bits);
/* Packed over the bits in mask; the others have stride 0. */
vm_layout vm_layout_masked(uint32_t bits, uint32_t mask);
/* The bits that are not broadcast. */
uint32_t vm_layout_mask(const vm_layout *layout);
bool vm_layout_is_packed(const vm_layout *layout);
/* Keeps only the bits in mask. */
vm_layout vm_layout_compact(const vm_layout *layout, uint32_t mask);

vm_layout vm_layout_broadcast(const vm_layout *source, const bc_type *from, const bc_type *to);
vm_layout vm_layout_permute(const vm_layout *source, const bc_type *from, const int64_t *permutation);

/* Elements from element 0 to element i. */
static inline size_t vm_layout_offset(const vm_layout *layout, size_t i)
{
    size_t offset = 0;
    for (uint32_t b = 0; b < layout->bits; b++)
        offset += (i >> b & 1) ? layout->stride[b] : 0;
    return offset;
}

/* Bytes of one element in tile storage: sub-byte elements take one, tf32 four, pointers eight. */
unsigned vm_elem_bytes(bc_kind kind);

#endif
