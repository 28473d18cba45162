/* Tiles that only extracts read, all with excerpts of the same shape. */
#ifndef TILEVM_CODEGEN_VALUES_EXCERPTS_H
#define TILEVM_CODEGEN_VALUES_EXCERPTS_H

#include "codegen/kernel/kernel.h"

/* The bits of v's index that select the excerpt, if only such extracts read v; else 0. */
uint32_t cg_cut_bits(const ct_value *v);

/* The layout l, with accesses of 2^vector elements, but with the bits of `cut` in the lowest registers, so that an
   extract only selects registers. */
cg_layout cg_layout_beside_cut(const cg_layout *l, uint32_t vector, uint32_t cut);
/* Such a layout in which all excerpts of v are available as they are read, after the first walk over layouts. False:
   they are read in several layouts, or it would have too many registers. */
bool cg_layout_of_excerpts(cg_func *c, const ct_value *v, cg_layout *out);

#endif
