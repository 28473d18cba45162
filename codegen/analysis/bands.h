/* Tiles that blocks can share if they run at the same time. */
#ifndef TILEVM_CODEGEN_ANALYSIS_BANDS_H
#define TILEVM_CODEGEN_ANALYSIS_BANDS_H

#include "codegen/tile/ir.h"

/* Finds the first product one of whose operands is the same for all blocks with the same index along x, and the
   other for all blocks with the same index along y. NULL: there is none. Blocks that form a square then read the
   fewest tiles. out_along_y: which of the product's last two dimensions advances along y, 0 or 1. False: out of
   memory. */
bool cg_find_shared_by_rows(const ct_func *f, bc_arena *scratch, const ct_op **out_product, uint32_t *out_along_y);

/* Does the kernel use an index of its block on which no load of the body depends? Blocks that differ in it only read
   the same tiles. False: out of memory. */
bool cg_find_shared_tiles(const ct_func *f, bc_arena *scratch, const ct_block *body, bool *out_shared);

#endif
