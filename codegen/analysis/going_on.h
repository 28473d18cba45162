/* What decides whether a loop has another iteration. */
#ifndef TILEVM_CODEGEN_ANALYSIS_GOING_ON_H
#define TILEVM_CODEGEN_ANALYSIS_GOING_ON_H

#include "codegen/kernel/kernel.h"

/* Does it depend on what an iteration reads from memory whether the loop ends with it? Then no load of the next
   iteration can be executed before those reads are there: the kernel may not execute it at all. */
bool cg_goes_on_by_memory(cg_func *c, const ct_op *loop);

#endif
