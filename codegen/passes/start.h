/* The program of threads that fill the first slots of rings while tensor maps are made (codegen/passes/start.c). */
#ifndef TILEVM_CODEGEN_PASSES_START_H
#define TILEVM_CODEGEN_PASSES_START_H

#include "codegen/passes/groups_find.h"

/* Made of the producers' program, where tiles are still copied by threads; the rings know then how many slots it fills.
   NULL: there is nothing that it could fill early, or no memory. */
ct_block *cg_make_starters(cg_splitting *x, const ct_block *producers);

#endif
