/* Chooses the loads of loops that are prefetched, and the rings or registers that receive them: the functions that
   the files of the loads pass share, and those that other passes call. */
#ifndef TILEVM_CODEGEN_PASSES_LOADS_H
#define TILEVM_CODEGEN_PASSES_LOADS_H

#include "codegen/plan/loads.h"

/* Plans the loads of loops with a transposed product again, without transposing it, after it turned out that it cannot
   be transposed (codegen/passes/loads.c). */
void cg_loads_straight(cg_func *c);

/* In kernels with products: removes the rings from which each thread reads its own copies; their loads, unless they
   are staged otherwise by now, are prefetched into registers where possible (codegen/passes/loads.c). */
void cg_drop_streams(cg_func *c);

/* Carries the plan for the loop out, and returns the loop that carries the tiles. */
ct_op *cg_load_early(cg_func *c, ct_op *loop);

#endif
