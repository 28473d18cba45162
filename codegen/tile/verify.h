/* What holds between passes: the tile IR is well formed, and what runs on by itself is awaited before it is read. */
#ifndef TILEVM_CODEGEN_TILE_VERIFY_H
#define TILEVM_CODEGEN_TILE_VERIFY_H

#include "codegen/tile/ir.h"

typedef struct ct_fault {
    const ct_op *op;  /* whose fault it is; NULL: the function's */
    const char *what; /* a phrase about it */
} ct_fault;

/* TV_INVALID: *out_fault says what was found first. TV_NO_MEMORY. */
tv_status ct_verify(const ct_func *f, ct_fault *out_fault);

#endif
