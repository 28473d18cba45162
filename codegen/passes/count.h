/* Loops that end by a break become loops that count. */
#ifndef TILEVM_CODEGEN_PASSES_COUNT_H
#define TILEVM_CODEGEN_PASSES_COUNT_H

#include "codegen/kernel/kernel.h"

/* The `for` that stands in the loop's place now; NULL: it stays as it is, or c has failed (codegen/passes/count.c). */
ct_op *cg_count_loop(cg_func *c, ct_op *loop);

#endif
