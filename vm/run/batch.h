/* Batches while they run: neighbouring tile blocks as one, by code of its own whose tiles are those of all blocks.

   A batch is a transaction. Its code does all loads first and all stores last; before the first store it compares
   what loads have read with what stores will write. Where two blocks of the batch would meet, or anything would trap,
   it ends without having written, and the blocks run one by one. So a batch has the effect of its blocks in their
   order: no block of it reads what another one writes, and stores of two blocks to one place are in one op, in that
   order. */
#ifndef TILEVM_VM_RUN_BATCH_H
#define TILEVM_VM_RUN_BATCH_H

#include "vm/run/view.h"

enum { VM_BATCH_ACCESSES = 24, VM_BATCH_DIMS = 4 };

/* What an access of the batch touches, as far as it has run. */
typedef struct vm_batch_span {
    uint64_t low, high; /* [low, high) */
    bool touched;       /* anything at all */
    bool is_apart;      /* the shape below holds; no two elements share a byte, so neither do two blocks */
    uint64_t base;      /* of element 0 */
    uint32_t dims;
    int64_t step[VM_BATCH_DIMS];    /* bytes; the innermost dimension last */
    uint32_t extent[VM_BATCH_DIMS]; /* elements */
    uint32_t split, own;            /* blocks lie along dimension `split`, `own` elements each */
} vm_batch_span;

/* The part of every note: an instruction that says what an access is about to touch. */
typedef struct vm_note {
    vm_inst head;
    uint32_t slot;  /* of frame->spans */
    uint32_t order; /* among the accesses of the entry */
    bool is_store, is_wide;
    uint32_t count; /* blocks of the batch */
} vm_note;

typedef struct vm_view_note {
    vm_note note;
    vm_access_info info;
    uint32_t dim, own; /* is_wide: blocks lie along dimension `dim` of the tile, `own` elements each */
} vm_view_note;

typedef struct vm_pointer_note {
    vm_note note;
    size_t pointers, mask;
    size_t n; /* pointers */
    uint32_t bytes;
    bool has_mask;
} vm_pointer_note;

/* Ends the batch if two of its blocks would meet in memory. */
typedef struct vm_commit {
    vm_inst head;
    uint32_t count;
    const vm_note *const *notes; /* of all accesses, by slot */
} vm_commit;

vm_handler vm_view_note_run, vm_pointer_note_run, vm_commit_run;

#endif
