/* Loops get a form that later passes know: those that end by a break count, and two of which one is in the other are
   one. */
#ifndef TILEVM_CODEGEN_PASSES_COUNT_H
#define TILEVM_CODEGEN_PASSES_COUNT_H

#include "codegen/kernel/kernel.h"

/* The `for` that stands in the loop's place now; NULL: it stays as it is, or c has failed (codegen/passes/count.c). */
ct_op *cg_count_loop(cg_func *c, ct_op *loop);
/* The loop that stands in the place of this one and the one in it now; NULL: they stay (codegen/passes/collapse.c). */
ct_op *cg_collapse_loops(cg_func *c, ct_op *outer);

#endif
