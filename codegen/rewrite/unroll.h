/* Unrolls loops. */
#ifndef TILEVM_CODEGEN_REWRITE_UNROLL_H
#define TILEVM_CODEGEN_REWRITE_UNROLL_H

#include "codegen/kernel/kernel.h"

/* Can the loop be unrolled so that its loads come first: does it count up by a constant, and is what its loads depend
   on known at the start of each iteration? */
bool cg_may_unroll(cg_func *c, const ct_op *loop);
/* Puts a loop in front of `loop` of which each iteration executes 2^bits iterations of it, behind it, where these are
   many, loops of fewer, and leaves the others to `loop`. All are marked. is_bounded: the ranges of counters are stated,
   so that bounds of views stay in 32 bits. The facts have to be found again. False: out of memory, which c records. */
bool cg_unroll(cg_func *c, ct_op *loop, uint32_t bits, bool is_bounded);

#endif
