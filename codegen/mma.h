/* Matrix products: what their two ways (codegen/op_mma.c with instructions, op_mma_plain.c without) share, and what other parts
   ask about them. */
#ifndef TILEVM_CODEGEN_MMA_H
#define TILEVM_CODEGEN_MMA_H

#include "codegen/stage.h"

/* One mma instruction: M is 16 rows, N 8 columns. */
typedef struct cg_atom {
    const char *text;        /* after mma.sync.aligned. */
    uint32_t k_bits;         /* log2 of its K */
    uint32_t element_bits;   /* log2 of the elements in a 32-bit register */
    bool half_accumulator;   /* f16 accumulators: two in a register */
    const char *widened;     /* its 8-bit floats, of this PTX type, go as f16 to two instructions of half its K; NULL: they don't */
} cg_atom;

/* M, N, K and the batch as bits of the index. */
typedef struct cg_product {
    uint32_t m, n, k, batch; /* bits */
    bc_kind in, acc;
    const bc_value *lhs, *rhs, *c, *result;
    bool scaled;             /* every block of K of a row of A and of a column of B has a scale */
    bool has_atom;
    cg_atom atom;
    bool chained;            /* its left operand comes from another product, or its result goes to one */
    bool pairs;              /* bytes of B come by pairs of columns */
    bool async;              /* wgmma fits: four warps to 64 rows */
    uint32_t along_m, along_n; /* log2 of the warps that share M, N */
    const cg_val *scales[2]; /* for the atom, as words: of A, of B; registers: blocks of K, rows or columns, batches */
} cg_product;

/* Where fragments of an operand come from. */
typedef struct cg_operand {
    bool left;
    const bc_value *v;
    const cg_layout *read;   /* the layout in which it is there, unless it lies in a ring */
    const cg_val *fragments; /* in registers, as fragments; else */
    bool in_ring;            /* a pipelined load has put it into shared memory; else it goes to `stage` there */
    cg_stage stage;          /* of a part of K, unless in_ring */
    uint32_t k;              /* bits of K that the stage or the fragments have */
    bool across;             /* rows of the stage are what K counts: by ldmatrix.trans */
    cg_layout lanes;         /* where each lane of an ldmatrix.x4 points, as places in the stage */
} cg_operand;

/* Is the op a matrix product? NULL is not. */
bool cg_is_product(const bc_op *op);

/* Four registers of fragments of a left operand that is in registers: step `part` counts k, then rows. */
void cg_pack_fragments(cg_func *c, const cg_operand *o, uint32_t part, cg_val *out);

/* May the operands be read by wgmma? In a ring they may lie in pieces for which it has no description. */
bool cg_can_multiply_async(cg_func *c, const cg_product *p, const cg_operand *operands);
/* The product by wgmma: acc holds the accumulator, then the result. */
void cg_multiply_async(cg_func *c, const bc_op *op, const cg_product *p, const cg_operand *operands, cg_val *acc);
/* The most bits of K that may number parts of a product with an instruction; 0: none, or without. *out_k: all bits of K. */
uint32_t cg_mma_part_bits(const cg_func *c, const bc_op *op, uint32_t *out_k);
/* Is the op such a product? */
bool cg_mma_is_async(const cg_func *c, const bc_op *op);

/* How the op reads its operand `index` from a stage, when the registers of `run` are the elements of a 16-byte chunk there.
   CG_NO_FEED: it does not. */
cg_feed cg_mma_feed(cg_func *c, const bc_op *op, uint32_t index, const cg_layout *run);

/* log2 of the warps that a function wants whose products hand their results to other products in registers; 0: it has none. */
uint32_t cg_mma_chain_warps(const bc_function *f);

/* The layout of the result of a product without an instruction. */
cg_layout cg_plain_layout(const cg_func *c, const cg_product *p);
/* Such a product: acc holds the accumulator in that layout, then the result. read: the layouts in which its operands are wanted:
   lhs, rhs, scales of lhs and rhs. */
void cg_multiply_plain(cg_func *c, const bc_op *op, const cg_product *p, const cg_layout *read, cg_val *acc);

#endif
