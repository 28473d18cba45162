/* The program of threads that fill the first slots of rings while tensor maps are made (codegen/groups/start.c). */
#ifndef TILEVM_CODEGEN_GROUPS_START_H
#define TILEVM_CODEGEN_GROUPS_START_H

#include "codegen/groups/groups_find.h"

/* Creates it from the producers' program, in which threads still copy the tiles; afterwards the rings say how many
   slots it fills. NULL: no slot can be filled early, or no memory. */
ct_block *cg_make_starters(cg_splitting *x, const ct_block *producers);

#endif
