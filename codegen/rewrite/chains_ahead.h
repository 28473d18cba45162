/* Chains of two products by tcgen05 of which the first one runs an iteration ahead. */
#ifndef TILEVM_CODEGEN_REWRITE_CHAINS_AHEAD_H
#define TILEVM_CODEGEN_REWRITE_CHAINS_AHEAD_H

#include "codegen/kernel/kernel.h"

/* In a warp-specialised kernel, whose loops have their rings already: has the first product of each such chain run
   ahead where it may. */
void cg_run_chains_ahead(cg_func *c);

#endif
