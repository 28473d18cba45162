/* The simplify pass for other passes. */
#ifndef TILEVM_CODEGEN_PASSES_SIMPLIFY_H
#define TILEVM_CODEGEN_PASSES_SIMPLIFY_H

#include "codegen/kernel/kernel.h"

/* Runs the pass again, after another pass has replaced values by others. */
void cg_simplify(cg_func *c);

#endif
