/* The program of threads that copy the tiles which the copy engine cannot bring to slots that it fills otherwise
   (codegen/groups/copiers.c). */
#ifndef TILEVM_CODEGEN_GROUPS_COPIERS_H
#define TILEVM_CODEGEN_GROUPS_COPIERS_H

#include "codegen/groups/groups_find.h"

/* Do threads copy some tiles of the rings, although tensor maps fill these? */
bool cg_has_copiers(const cg_splitting *x);
/* Moves the copies of these tiles from the producers' program to one of its own, which it returns. NULL: no memory. */
ct_block *cg_part_copiers(cg_splitting *x, ct_block *producers);
/* Has its copies find their tiles by what is computed in front of the loops. */
void cg_copiers_find_sources(const cg_splitting *x);

#endif
