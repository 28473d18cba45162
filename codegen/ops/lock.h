/* Loops that take a lock, for those that find their effects and for their lowering. */
#ifndef TILEVM_CODEGEN_OPS_LOCK_H
#define TILEVM_CODEGEN_OPS_LOCK_H

#include "codegen/tile/ir.h"

/* The exchange of a loop that tries to take a lock until it has it: it compares and exchanges, and does nothing else.
   NULL: it is none. */
const ct_op *cg_lock_of(const ct_op *loop);
/* Is it left to one thread, behind which the others wait? It hands on nothing but order, and all in it are scalars. */
bool cg_is_taken_by_one(const ct_op *loop);
/* Is the op the exchange of such a loop? */
bool cg_is_done_by_one(const ct_op *op);

#endif
