/* What reads a tile that is reduced, and the result of a reduction. */
#ifndef TILEVM_CODEGEN_ANALYSIS_REDUCED_H
#define TILEVM_CODEGEN_ANALYSIS_REDUCED_H

#include "codegen/kernel/kernel.h"

/* The index bits along which tiles that ops load from the same memory as this one are reduced. 0: they are not, or some
   are read in other ways than being reduced or stored element by element, or together with a row that each warp would
   need whole. bytes: of an access of a thread. Where they are short, tiles that are stored do not count: the warps of a
   row write the sectors that they share at the same time. */
uint32_t cg_reduced_bits(const cg_func *c, const ct_op *load, uint32_t bytes);

/* May the results of the reduction, or what is computed from them element by element, be read together with the
   elements that were reduced, or by an op that has a layout of its own? */
bool cg_is_read_whole(const ct_op *reduction);

#endif
