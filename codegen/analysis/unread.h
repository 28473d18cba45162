/* Rows of a tile that no store writes to memory. */
#ifndef TILEVM_CODEGEN_ANALYSIS_UNREAD_H
#define TILEVM_CODEGEN_ANALYSIS_UNREAD_H

#include "codegen/facts/affine.h"
#include "codegen/kernel/kernel.h"

/* Does every store leave out the tile's elements along its dimension `dim` for which x >= extent, provided that the
   values that `a` lists fit 32 bits? x is a polynomial in the positions of the tile. */
bool cg_is_unread(cg_func *c, const cg_affine *a, ct_value *tile, uint32_t dim, const cg_poly *x,
                  const ct_value *extent);

#endif
