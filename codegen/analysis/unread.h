/* Rows of a tile that no store writes to memory. */
#ifndef TILEVM_CODEGEN_ANALYSIS_UNREAD_H
#define TILEVM_CODEGEN_ANALYSIS_UNREAD_H

#include "codegen/facts/affine.h"
#include "codegen/kernel/kernel.h"

/* Do all stores omit the elements of the tile for which x >= extent, x being a polynomial in the positions along the
   tile's dimension `dim`? The answer holds provided that the values that `a` lists fit in 32 bits. */
bool cg_is_unread(cg_func *c, const cg_affine *a, ct_value *tile, uint32_t dim, const cg_poly *x,
                  const ct_value *extent);

#endif
