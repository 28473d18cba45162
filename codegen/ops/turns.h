/* Sums in turn: two places in tensor memory, of which one thread fills one while other warps take the other. */
#ifndef TILEVM_CODEGEN_OPS_TURNS_H
#define TILEVM_CODEGEN_OPS_TURNS_H

#include "codegen/kernel/kernel.h"

/* One thread initialises the barriers of the issuer and the consumers, also of chains (codegen/ops/chains.h), in the
   kernel's memory for tensor memory, before its groups part. */
void cg_turns_init(cg_func *c, cg_val memory);

/* Lower the ops of either program: `tensor`, `tensor_end`, also of chains (codegen/ops/chains.h); and of sums in turn,
   of the issuer's: `sum`, and the end of the sum; of the consumers': `take`. */
void cg_turns_tensor(cg_func *c, const ct_op *op);
void cg_turns_tensor_end(cg_func *c, const ct_op *op);
void cg_turns_sum(cg_func *c, const ct_op *op);
void cg_turns_full(cg_func *c, const ct_op *op);
void cg_turns_take(cg_func *c, const ct_op *op);

#endif
