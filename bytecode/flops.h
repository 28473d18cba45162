/* How much arithmetic an op is: what the virtual machine counts, and what benchmarks count before they run anything. */
#ifndef TILEVM_BYTECODE_FLOPS_H
#define TILEVM_BYTECODE_FLOPS_H

#include "bytecode/module.h"

/* Floating-point operations of one execution, a multiplication and an addition of a product being two. Comparisons,
   selections and ops on integers are none. */
uint64_t bc_flops(const bc_op *op);

/* The same of matrix products, integers included. out_kind: the elements that are multiplied. 0: no product. */
uint64_t bc_product_ops(const bc_op *op, bc_kind *out_kind);

#endif
