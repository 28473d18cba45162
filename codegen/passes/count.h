/* Converts loops to forms that later passes handle: loops that end by a break become counted loops, and two nested
   loops become one. */
#ifndef TILEVM_CODEGEN_PASSES_COUNT_H
#define TILEVM_CODEGEN_PASSES_COUNT_H

#include "codegen/kernel/kernel.h"

/* Converts the loop to a `for` and returns that. NULL: the loop is unchanged, or c has failed
   (codegen/passes/count.c). */
ct_op *cg_count_loop(cg_func *c, ct_op *loop);
/* Combines the loop and the one in it, and returns the new loop. NULL: they are unchanged
   (codegen/passes/collapse.c). */
ct_op *cg_collapse_loops(cg_func *c, ct_op *outer);

#endif
