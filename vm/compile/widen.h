/* Widening: creates a function whose tile block does the work of a batch of neighbouring tile blocks of an entry.
   vm/run/batch.h says when it may replace them; docs/internals/vm.md, "Batches", explains the method. */
#ifndef TILEVM_VM_COMPILE_WIDEN_H
#define TILEVM_VM_COMPILE_WIDEN_H

#include "vm/run/batch.h"

/* An op of the wide function that accesses memory. */
typedef struct vm_wide_access {
    const bc_op *op;
    uint32_t order; /* position among the accesses of the entry */
    bool is_store;
    bool is_wide;    /* every block of the batch accesses its own part; otherwise all read the same */
    uint32_t dim;    /* of a wide access through a view: the dimension along which the blocks are */
    uint32_t extent; /* of the tile of one block along dim */
} vm_wide_access;

typedef struct vm_widened {
    bc_function function;
    uint32_t count; /* blocks per batch: a power of two */
    vm_wide_access accesses[VM_BATCH_ACCESSES];
    uint32_t access_count;
} vm_widened;

/* The number of elements of the largest tile in an entry. */
uint32_t vm_largest_tile(const bc_function *f);

/* Creates the wide function, in `arena`, for blocks that follow each other along `axis` of the grid. Along it, a
   block's id is that of its first block. False: the entry cannot be widened, or out of memory. */
bool vm_widen(const bc_function *f, unsigned axis, uint32_t count, bc_arena *arena, vm_widened *out);

#endif
