/* Two consumer warpgroups multiply in turn. In a loop whose products are in flight together, both warpgroups
   would start theirs when a slot is full, wait for them at the same time, and then compute at the same time,
   while the tensor cores do nothing. So each waits for its turn before its first product, and gives the other one
   its turn behind its last product: one computes while the products of the other are executed.

   The warpgroups meet at two named barriers, one for each turn: one waits, and the other only arrives. In front
   of the loop, the second arrives for the first turn of the first; behind it, the first waits for the last turn
   that the second gives, so that arrivals and waits are as many. Why it is right: both execute the loop as often,
   because its bounds are scalars that all consumers have, so that no turn is awaited that is not given; and
   threads wait more, not less.

   Source: PTX ISA, "bar". */
#ifndef TILEVM_CODEGEN_OPS_ALTERNATE_H
#define TILEVM_CODEGEN_OPS_ALTERNATE_H

#include "codegen/tile/ir.h"
#include "codegen/values/values.h"

/* In front of and behind a loop. */
void cg_alternate_begin(cg_func *c, const ct_op *loop);
void cg_alternate_end(cg_func *c, const ct_op *loop);
/* In front of and behind the instructions of a product. */
void cg_alternate_take(cg_func *c, const ct_op *product);
void cg_alternate_give(cg_func *c, const ct_op *product);

#endif
