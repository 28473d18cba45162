/* What the files of the verifier share. */
#ifndef TILEVM_CODEGEN_TILE_VERIFY_PARTS_H
#define TILEVM_CODEGEN_TILE_VERIFY_PARTS_H

#include "codegen/tile/verify.h"

/* Notes the fault; false. */
static inline bool ct_is_faulty(ct_fault *fault, const ct_op *op, const char *what)
{
    *fault = (ct_fault){op, what};
    return false;
}
/* Tiles of rings are awaited before they are read, and so are products in flight; the function is well formed
   otherwise. */
tv_status ct_verify_async(const ct_func *f, bc_arena *scratch, ct_fault *out_fault);

#endif
