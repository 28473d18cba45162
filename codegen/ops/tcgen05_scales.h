/* Scales of products by tcgen05, in tensor memory behind their sum. */
#ifndef TILEVM_CODEGEN_OPS_TCGEN05_SCALES_H
#define TILEVM_CODEGEN_OPS_TCGEN05_SCALES_H

#include "codegen/analysis/product.h"

/* Are scales of the product in registers, not in a ring? */
bool cg_has_scales_to_put(const ct_op *op);
/* The first four warps store these to tensor memory, from that column of the kernel on, and wait until they are there.
   base: the address of the kernel's first column. */
void cg_put_scales(cg_func *c, const ct_op *op, const cg_product *p, cg_val base, uint32_t column);
/* The issuer copies those in a ring. */
void cg_copy_scales(cg_func *c, const ct_op *op, const cg_product *p, cg_val base, uint32_t column);

/* What the instructions of a product read beside its operands. */
typedef struct cg_scale_steps {
    uint32_t shape;        /* the instruction descriptor but for the numbers of scales in their words */
    cg_val base;           /* the address of the kernel's first column */
    uint32_t column;       /* the number of the first one with scales */
    cg_val descriptors[4]; /* by the number of the first scale in its word; id 0: not needed so far */
    cg_val instruction;    /* of the current instruction: its descriptor, */
    cg_val at[2];          /* the addresses of the scales of A and of B, */
    uint32_t word[2];      /* and the numbers of their words */
} cg_scale_steps;
/* An instruction: the blocks of rows and of columns, with those of all batches, and the step along K. */
typedef struct cg_step_at {
    uint32_t m, n, k;
} cg_step_at;
/* Finds what the instruction reads. */
void cg_scale_step(cg_func *c, const cg_product *p, cg_scale_steps *s, cg_step_at at);

#endif
