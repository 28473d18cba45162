/* Matrix products: what their two ways (codegen/op_mma.c with instructions, op_mma_plain.c without) share, and what other parts
   ask about them. */
#ifndef TILEVM_CODEGEN_MMA_H
#define TILEVM_CODEGEN_MMA_H

#include "codegen/lower.h"

/* One mma instruction: M is 16 rows, N 8 columns. */
typedef struct cg_atom {
    const char *text;        /* after mma.sync.aligned. */
    uint32_t k_bits;         /* log2 of its K */
    uint32_t element_bits;   /* log2 of the elements in a 32-bit register */
    bool half_accumulator;   /* f16 accumulators: two in a register */
} cg_atom;

/* M, N, K and the batch as bits of the index. */
typedef struct cg_product {
    uint32_t m, n, k, batch; /* bits */
    bc_kind in, acc;
    const bc_value *lhs, *rhs, *c, *result;
    bool has_atom;
    cg_atom atom;
} cg_product;

/* Is operand `index` of the op one that it reads by ldmatrix from a stage of the operand's own rows and columns? */
bool cg_mma_takes_stage(const cg_func *c, const bc_op *op, uint32_t index);

/* The layout of the result of a product without an instruction. */
cg_layout cg_plain_layout(const cg_func *c, const cg_product *p);
/* Such a product: acc holds the accumulator in that layout, then the result. read: the layouts in which its operands are wanted:
   lhs, rhs, scales of lhs and rhs. */
void cg_multiply_plain(cg_func *c, const bc_op *op, const cg_product *p, const cg_layout *read, cg_val *acc);

#endif
