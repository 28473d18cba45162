/* Exact elements of memory: a cell for each float that the kernel has stored, created on demand for chunks of 4 KiB. */
#ifndef TILEVM_VM_PRECISION_CELLS_H
#define TILEVM_VM_PRECISION_CELLS_H

#include <stddef.h>

#include "tilevm/tilevm.h"
#include "vm/precision/wide.h"

/* A float as it would be without rounding, and where its error comes from. Ops are given by their position + 1; 0:
   none. */
typedef struct vm_exact {
    vm_wide x;
    double share;       /* the part of the error (value - x) that comes from the rounding of `origin` */
    float growth;       /* the largest factor by which one op has made the relative error grow */
    uint32_t origin;    /* whose rounding brought the largest part of the error */
    uint32_t amplifier; /* the op of that factor */
} vm_exact;

typedef struct vm_kept {
    vm_exact exact;
    uint64_t bits;  /* the stored bits: if memory holds others now, another store has written them */
    uint64_t block; /* that stored them */
    uint8_t kind;   /* bc_kind */
    bool set;
} vm_kept;

enum { VM_KEPT_BITS = 12 };

typedef struct vm_kept_chunk {
    uint64_t key;   /* address >> VM_KEPT_BITS */
    uint32_t bytes; /* of an element */
    vm_kept cells[];
} vm_kept_chunk;

typedef struct vm_cells {
    vm_kept_chunk **chunks; /* hashed by key; NULL is free */
    size_t count, capacity;
    vm_kept_chunk *hit; /* found last */
} vm_cells;

/* The cell of an element of 1, 2, 4 or 8 bytes, for writing. NULL: out of memory. */
vm_kept *vm_cells_make(vm_cells *cells, const tv_allocator *memory, uint64_t address, unsigned bytes);
/* The cell of such a store, if memory still holds the stored bits; else NULL. */
const vm_kept *vm_cells_find(vm_cells *cells, uint64_t address, unsigned bytes, uint64_t bits);

/* Cells of a chunk. */
static inline size_t vm_kept_count(const vm_kept_chunk *chunk)
{
    return ((size_t)1 << VM_KEPT_BITS) / chunk->bytes;
}

void vm_cells_release(vm_cells *cells, const tv_allocator *memory);

#endif
