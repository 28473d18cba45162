/* Which values are known to be the same, though other ops make them. */
#ifndef TILEVM_CODEGEN_TILE_SAME_H
#define TILEVM_CODEGEN_TILE_SAME_H

#include "codegen/tile/ir.h"

/* Are they pure ops that do the same with their operands, for results of the same types? NULL is like nothing. */
bool ct_are_alike(const ct_op *a, const ct_op *b);
/* Are they the same, made by pure ops from the same? A view b that says nothing of what lies outside is the same as one
   that does. False: not known. */
bool ct_is_same(const ct_value *a, const ct_value *b);
/* Is a in each iteration of the first loop what b is in that iteration of the other one? */
bool ct_is_same_in(const ct_value *a, const ct_op *first, const ct_value *b, const ct_op *other);

#endif
