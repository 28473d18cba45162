/* Declarations that the verifier's files have in common. */
#ifndef TILEVM_CODEGEN_TILE_VERIFY_PARTS_H
#define TILEVM_CODEGEN_TILE_VERIFY_PARTS_H

#include "codegen/tile/verify.h"

/* Records the fault, and returns false. */
static inline bool ct_is_faulty(ct_fault *fault, const ct_op *op, const char *what)
{
    *fault = (ct_fault){op, what};
    return false;
}
/* Checks that tiles of rings and products in flight are awaited before they are read. The function must be well
   formed. */
tv_status ct_verify_async(const ct_func *f, bc_arena *scratch, ct_fault *out_fault);

#endif
