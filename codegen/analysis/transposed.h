/* Tiles that threads transpose: on their way from memory to a product, which reads elements of 32 bits only with K
   contiguous, or to memory in another order. A thread loads several neighbours along both dimensions, and stores those
   along the other dimension in one access. */
#ifndef TILEVM_CODEGEN_ANALYSIS_TRANSPOSED_H
#define TILEVM_CODEGEN_ANALYSIS_TRANSPOSED_H

#include "codegen/analysis/product.h"

/* The layout in which threads load such a tile: pieces of 2^vector elements along dimension `fast`, which is
   contiguous in memory, and 2^chunk elements along the other one of the last two. */
cg_layout cg_transposing_layout(const cg_shape *s, uint32_t fast, uint32_t vector, uint32_t chunk, uint32_t warp_bits);
/* The same for a load whose tile becomes an operand of a product through shared memory, perhaps after element-wise
   ops. False: the load is not of such a tile, or threads would have less than one piece along each dimension. */
bool cg_transposing_home(const cg_func *c, const ct_op *load, uint32_t fast, uint32_t vector, cg_layout *out);
/* The same for a load whose tile, perhaps after element-wise ops, is only stored, and contiguous in memory along the
   other dimension there. Threads then need no shared memory, and all accesses fill sectors. */
bool cg_transposing_copy(const cg_func *c, const ct_op *load, uint32_t fast, uint32_t vector, cg_layout *out);

#endif
