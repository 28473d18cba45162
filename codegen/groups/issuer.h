/* The program of the thread that issues products whose sums other warps take (codegen/groups/issuer.c). */
#ifndef TILEVM_CODEGEN_GROUPS_ISSUER_H
#define TILEVM_CODEGEN_GROUPS_ISSUER_H

#include "codegen/groups/groups_find.h"

/* Creates it from the consumers' program, which then takes complete sums instead of multiplying. NULL: the consumers
   issue the products themselves, or no memory. */
ct_block *cg_make_issuer(cg_splitting *x);

#endif
