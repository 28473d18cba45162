/* What the size of the grid is at run time. */
#ifndef TILEVM_CODEGEN_OPS_GRID_H
#define TILEVM_CODEGEN_OPS_GRID_H

#include "codegen/kernel/kernel.h"

/* Has the grid no more thread blocks than there are multiprocessors? The same in all threads. */
cg_val cg_has_few_blocks(cg_func *c);
/* The number of the thread's slice; without slices, the rank of its block in the cluster. */
cg_val cg_part_number(cg_func *c);

#endif
