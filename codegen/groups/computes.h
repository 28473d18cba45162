/* Which operands of products consumers compute in registers, asked by the flip pass before it swaps operands and by the
   groups pass (codegen/groups/computes.c). */
#ifndef TILEVM_CODEGEN_GROUPS_COMPUTES_H
#define TILEVM_CODEGEN_GROUPS_COMPUTES_H

#include "codegen/kernel/kernel.h"

/* Is it worthwhile that consumers compute operand `index` of the product, which is or becomes its left one, from tiles
   that producers copy? alone: one warpgroup has all rows. Facts and views must be known. */
bool cg_is_worth_computing(cg_func *c, const ct_op *product, uint32_t index, bool alone);
/* The same before groups are chosen: can copies bring the other operand, and may there be groups? A right operand
   becomes the left one by swapping the operands. */
bool cg_should_compute(cg_func *c, ct_op *product, uint32_t index);

#endif
