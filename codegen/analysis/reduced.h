/* What reads a tile that is reduced, and the result of a reduction. */
#ifndef TILEVM_CODEGEN_ANALYSIS_REDUCED_H
#define TILEVM_CODEGEN_ANALYSIS_REDUCED_H

#include "codegen/kernel/kernel.h"

/* The index bits along which a tile that the op loads is reduced, wherever it is read. 0: it is also read in other
   ways, as are other tiles of the same memory, or together with a row that each warp would need whole. */
uint32_t cg_reduced_bits(const cg_func *c, const ct_op *load);

/* May the results of the reduction, or what is computed from them element by element, be read together with the
   elements that were reduced, or by an op that has a layout of its own? */
bool cg_is_read_whole(const ct_op *reduction);

#endif
