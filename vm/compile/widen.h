/* Widening: from an entry, a function whose tile block does what a batch of neighbouring tile blocks of the entry do.
   vm/run/batch.h says when it may run in their place; docs/internals/vm.md, "Batches", explains the whole. */
#ifndef TILEVM_VM_COMPILE_WIDEN_H
#define TILEVM_VM_COMPILE_WIDEN_H

#include "vm/run/batch.h"

/* An op of the wide function that touches memory. */
typedef struct vm_wide_access {
    const bc_op *op;
    uint32_t order; /* among the accesses of the entry */
    bool is_store;
    bool is_wide;    /* every block of the batch has its own part; else all read the same */
    uint32_t dim;    /* of a wide access through a view: the dimension along which the blocks lie */
    uint32_t extent; /* of the tile of one block there */
} vm_wide_access;

typedef struct vm_widened {
    bc_function function;
    uint32_t count; /* blocks of a batch: a power of two */
    vm_wide_access accesses[VM_BATCH_ACCESSES];
    uint32_t access_count;
} vm_widened;

/* Elements of the largest tile of an entry. */
uint32_t vm_largest_tile(const bc_function *f);

/* Makes the wide function, in `arena`, for blocks that follow each other along `axis` of the grid. Block ids along it
   are that of the first block. False: the entry has something that cannot be widened, or out of memory. */
bool vm_widen(const bc_function *f, unsigned axis, uint32_t count, bc_arena *arena, vm_widened *out);

#endif
