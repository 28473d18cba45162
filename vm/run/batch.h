/* Batches at run time: neighbouring tile blocks run as one, by code whose tiles are those of all blocks.

   A batch is a transaction. Its code executes all loads first and all stores last. Before the first store, it
   compares the addresses that loads have read with those that stores will write. If two blocks of the batch
   conflict, or anything would trap, the batch ends without having written, and its blocks run one by one. So a batch
   has the effect of its blocks in their order: no block reads what another one writes, and stores of two blocks to
   one address are in one op, in the order of the blocks. */
#ifndef TILEVM_VM_RUN_BATCH_H
#define TILEVM_VM_RUN_BATCH_H

#include "vm/run/view.h"

enum { VM_BATCH_ACCESSES = 24, VM_BATCH_DIMS = 4 };

/* The memory that an access of the batch has accessed so far. */
typedef struct vm_batch_span {
    uint64_t low, high; /* [low, high) */
    bool touched;       /* there was an access */
    bool is_apart;      /* the members below are valid; no two elements share a byte, so neither do two blocks */
    uint64_t base;      /* of element 0 */
    uint32_t dims;
    int64_t step[VM_BATCH_DIMS];    /* bytes; the innermost dimension is last */
    uint32_t extent[VM_BATCH_DIMS]; /* elements */
    uint32_t split, own;            /* blocks are along dimension `split`, with `own` elements each */
} vm_batch_span;

/* The common part of all notes. A note is an instruction that records the next access. */
typedef struct vm_note {
    vm_inst head;
    uint32_t slot;  /* of frame->spans */
    uint32_t order; /* position among the accesses of the entry */
    bool is_store, is_wide;
    uint32_t count; /* blocks per batch */
} vm_note;

typedef struct vm_view_note {
    vm_note note;
    vm_access_info info;
    uint32_t dim, own; /* is_wide: blocks are along dimension `dim` of the tile, with `own` elements each */
} vm_view_note;

typedef struct vm_pointer_note {
    vm_note note;
    size_t pointers, mask;
    size_t n; /* number of pointers */
    uint32_t bytes;
    bool has_mask;
} vm_pointer_note;

/* Ends the batch if two of its blocks conflict in memory. */
typedef struct vm_commit {
    vm_inst head;
    uint32_t count;
    const vm_note *const *notes; /* of all accesses, by slot */
} vm_commit;

vm_handler vm_view_note_run, vm_pointer_note_run, vm_commit_run;

#endif
