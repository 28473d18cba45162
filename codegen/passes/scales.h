/* The program of threads that copy scales while the copy engine copies the other tiles (codegen/passes/scales.c). */
#ifndef TILEVM_CODEGEN_PASSES_SCALES_H
#define TILEVM_CODEGEN_PASSES_SCALES_H

#include "codegen/passes/groups_find.h"

/* Does a ring have scales, which threads copy to the order of tensor memory? */
bool cg_has_scales(const cg_splitting *x);
/* Moves the copies of scales from the producers' program to one of its own, which it returns. NULL: no memory. */
ct_block *cg_part_scales(cg_splitting *x, ct_block *producers);

#endif
