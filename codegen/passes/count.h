/* Converts loops to forms that later passes handle: loops that end by a break become counted loops, two nested loops
   become one, and iterations that repeat others are left out. */
#ifndef TILEVM_CODEGEN_PASSES_COUNT_H
#define TILEVM_CODEGEN_PASSES_COUNT_H

#include "codegen/kernel/kernel.h"

/* Converts the loop to a `for` and returns that. NULL: the loop is unchanged, or c has failed
   (codegen/passes/count.c). */
ct_op *cg_count_loop(cg_func *c, ct_op *loop);
/* Combines the loop and the one in it, and returns the new loop. NULL: they are unchanged
   (codegen/passes/collapse.c). */
ct_op *cg_collapse_loops(cg_func *c, ct_op *outer);
/* Ends the loop before iterations that repeat the one before (codegen/passes/clamp.c). Returns whether it did. */
bool cg_end_clamped(cg_func *c, ct_op *loop);

#endif
