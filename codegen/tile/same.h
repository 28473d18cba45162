/* Decides which values are equal, although different ops compute them. */
#ifndef TILEVM_CODEGEN_TILE_SAME_H
#define TILEVM_CODEGEN_TILE_SAME_H

#include "codegen/tile/ir.h"

/* Are they pure ops that compute the same from equal operands, with results of the same types? NULL equals NULL. */
bool ct_are_alike(const ct_op *a, const ct_op *b);
/* Are they equal: computed by the same pure ops from the same values? A view b without padding equals one with
   padding. False: not known. */
bool ct_is_same(const ct_value *a, const ct_value *b);
/* Does a have in each iteration of the first loop the value that b has in the same iteration of the other one? */
bool ct_is_same_in(const ct_value *a, const ct_op *first, const ct_value *b, const ct_op *other);

#endif
