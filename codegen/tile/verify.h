/* Invariants between passes: the tile IR is well formed, and asynchronous ops are awaited before their results are
   read. */
#ifndef TILEVM_CODEGEN_TILE_VERIFY_H
#define TILEVM_CODEGEN_TILE_VERIFY_H

#include "codegen/tile/ir.h"

typedef struct ct_fault {
    const ct_op *op;  /* the faulty op; NULL: the function */
    const char *what; /* a phrase about it */
} ct_fault;

/* TV_INVALID: *out_fault is the first fault. TV_NO_MEMORY. */
tv_status ct_verify(const ct_func *f, ct_fault *out_fault);

#endif
