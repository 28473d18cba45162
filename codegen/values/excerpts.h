/* Tiles that nothing reads but extracts, which all cut them in the same way. */
#ifndef TILEVM_CODEGEN_VALUES_EXCERPTS_H
#define TILEVM_CODEGEN_VALUES_EXCERPTS_H

#include "codegen/kernel/kernel.h"

/* The bits of v's index that tell its excerpts apart, where nothing but such extracts reads v; else 0. */
uint32_t cg_cut_bits(const ct_value *v);

/* A layout as l is, from accesses of 2^vector elements on, but with the bits of `cut` in the lowest registers: an
   excerpt is a choice of registers then. */
cg_layout cg_layout_beside_cut(const cg_layout *l, uint32_t vector, uint32_t cut);
/* Such a layout in which all excerpts of v are there as they are read, behind the first walk over layouts. False: they
   are read in several, or it would have too many registers. */
bool cg_layout_of_excerpts(cg_func *c, const ct_value *v, cg_layout *out);

#endif
