/* The program of the thread that issues products whose sums other warps take (codegen/passes/issuer.c). */
#ifndef TILEVM_CODEGEN_PASSES_ISSUER_H
#define TILEVM_CODEGEN_PASSES_ISSUER_H

#include "codegen/passes/groups_find.h"

/* Creates it from the consumers' program, which then takes complete sums instead of multiplying. NULL: the consumers
   issue the products themselves, or no memory. */
ct_block *cg_make_issuer(cg_splitting *x);

#endif
