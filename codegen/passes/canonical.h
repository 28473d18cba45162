/* What the canonical pass does first. */
#ifndef TILEVM_CODEGEN_PASSES_CANONICAL_H
#define TILEVM_CODEGEN_PASSES_CANONICAL_H

#include "codegen/kernel/kernel.h"

/* Nests of loops that count one number become one loop (codegen/passes/collapse.c). True: there were some. */
bool cg_collapse_nests(cg_func *c);

#endif
