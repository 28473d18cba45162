/* Loops that take a lock, for the code that finds their effects and for lowering. */
#ifndef TILEVM_CODEGEN_OPS_LOCK_H
#define TILEVM_CODEGEN_OPS_LOCK_H

#include "codegen/tile/ir.h"

/* The exchange of a loop that only repeats a compare-and-exchange until it has the lock. NULL: the loop is something
   else. */
const ct_op *cg_lock_of(const ct_op *loop);
/* Does one thread execute the loop while the others wait? The loop passes on only tokens, and all values in it are
   scalars. */
bool cg_is_taken_by_one(const ct_op *loop);
/* Is the op the exchange of such a loop? */
bool cg_is_done_by_one(const ct_op *op);

#endif
