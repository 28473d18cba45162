/* Left operands of products by tcgen05 in tensor memory: there, threads that have computed one put it with fewer
   instructions than to shared memory, of which it takes none. A row takes the lane of the sum's row, and a word holds
   as many neighbours along K as fit. Source: PTX ISA, "TensorCore 5th Generation Family Instructions": each kind takes
   A from there, with K along columns. */
#ifndef TILEVM_CODEGEN_ANALYSIS_TENSOR_LEFT_H
#define TILEVM_CODEGEN_ANALYSIS_TENSOR_LEFT_H

#include "codegen/analysis/tcgen05.h"

/* Do threads have the product's left operand where its rows are in tensor memory: is it computed, element by element,
   from a sum, whose rows are in the same lanes? A product in flight does not take it there: the next iteration would
   store it anew. Nor does one of a pair of thread blocks whose sums have halves of a row in different lanes. */
bool cg_tensor_takes_left(const cg_func *c, const ct_op *op);
/* log2 of the words that a row of the operand takes, side by side. */
uint32_t cg_tensor_left_words(const cg_product *p);
/* The columns of tensor memory that the operand takes. */
uint32_t cg_tensor_left_columns(const cg_product *p);
/* log2 of the warps that share K, of a product whose warps are distributed. */
uint32_t cg_tensor_left_along(const cg_func *c, const cg_product *p);
/* The layout of the operand in registers. The elements of a word come first. */
cg_layout cg_tensor_left_layout(const cg_func *c, const cg_product *p);
/* Are the products of the block two, of which the second one takes its left operand from the first one's sum, and has
   tensor memory room for that and both sums? Threads hold one sum at a time then. */
bool cg_is_chain_in_tensor(const cg_func *c, const ct_block *block);

#endif
