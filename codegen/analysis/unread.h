/* Rows of a tile that no store lets out. */
#ifndef TILEVM_CODEGEN_ANALYSIS_UNREAD_H
#define TILEVM_CODEGEN_ANALYSIS_UNREAD_H

#include "codegen/facts/affine.h"
#include "codegen/kernel/kernel.h"

/* Are the tile's elements along its dimension `dim` for which x >= extent left out of every store, where what `a` lists
   has 32 bits? x is a polynomial of the tile's places. */
bool cg_is_unread(cg_func *c, const cg_affine *a, ct_value *tile, uint32_t dim, const cg_poly *x,
                  const ct_value *extent);

#endif
