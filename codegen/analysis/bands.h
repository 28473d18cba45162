/* What blocks that run at the same time can share. */
#ifndef TILEVM_CODEGEN_ANALYSIS_BANDS_H
#define TILEVM_CODEGEN_ANALYSIS_BANDS_H

#include "codegen/tile/ir.h"

/* The first product one of whose operands is the same for all blocks with a number along x, the other for those with a
   number along y; NULL: there is none. Blocks of a square read the fewest tiles then. out_along_y: which dimension of
   the product's last two goes on along y, 0 or 1. False: out of memory. */
bool cg_find_shared_by_rows(const ct_func *f, bc_arena *scratch, const ct_op **out_product, uint32_t *out_along_y);

#endif
