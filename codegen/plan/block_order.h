/* The order in which a kernel's blocks start. The hardware starts them in the order of their indices, which the kernel
   may map to others (cg_block_order). */
#ifndef TILEVM_CODEGEN_PLAN_BLOCK_ORDER_H
#define TILEVM_CODEGEN_PLAN_BLOCK_ORDER_H

#include "codegen/analysis/digits.h"
#include "codegen/kernel/kernel.h"

/* Is the order in which blocks start unobservable? A block could observe it by waiting for another one, and could
   report it. */
bool cg_blocks_are_apart(const ct_func *f);
/* Is it an atomic access whose old values nothing uses? Why it lets blocks run in any order: a block learns from it
   nothing about what other blocks have done, so it cannot wait for them. */
bool cg_is_blind_atomic(const ct_op *op);
/* Are there such accesses? */
bool cg_has_blind_atomics(const ct_func *f);
/* Starts the blocks that take longest first, so that only short ones remain at the end. */
void cg_order_longest_first(cg_func *c);
/* The order for a product of two tensors in which blocks that run at the same time read few tiles of both. */
typedef struct cg_bands {
    const ct_op *product; /* NULL: there is none, or blocks could observe the order */
    bool wide;            /* consecutive blocks should differ in x, and share the larger operand */
    bool narrow;          /* the data that neighbours along x do not share far exceeds the memory bandwidth */
    bool of_four;         /* neighbours in bands of four read less than in bands of eight */
    cg_digits digits;     /* the order for other kernels, which divide a block's number; first is 0: there is none */
} cg_bands;
/* Only for a kernel that is not yet divided into groups. */
cg_bands cg_bands_of(cg_func *c);
/* alone: each block has a multiprocessor for itself. Speed-up measured on an H200, 8192 x 8192 by 8192 x 8192: 1.05
   to 1.18, in tiles of 64x128 along the better side 1.63. With several blocks without groups on a multiprocessor it
   is 0.89 to 1.18, but 1.5 for narrow ones. */
void cg_order_in_bands(cg_func *c, const cg_bands *bands, bool alone);

#endif
