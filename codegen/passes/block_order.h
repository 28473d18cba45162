/* In which order a kernel's blocks start: the hardware starts them in the order of their numbers, which the kernel may
   read as others (cg_block_order). */
#ifndef TILEVM_CODEGEN_PASSES_BLOCK_ORDER_H
#define TILEVM_CODEGEN_PASSES_BLOCK_ORDER_H

#include "codegen/kernel/kernel.h"

/* Can no block find out in which order they start? By waiting for another one it could, and it could tell. */
bool cg_blocks_are_apart(const ct_func *f);
/* Those that take longest are to come first: what is left for the end is short then. */
void cg_order_longest_first(cg_func *c);
/* Of a product of two tensors, blocks that run together are to read few tiles of both. */
typedef struct cg_bands {
    const ct_op *product; /* NULL: there is none, or the order of blocks could be found out */
    bool wide;            /* blocks that follow each other are to differ in x: they share the larger operand then */
    bool narrow;          /* what neighbours along x do not share is far more than memory has */
} cg_bands;
/* Of a kernel as it is before it is split into groups. */
cg_bands cg_bands_of(cg_func *c);
/* alone: each block has a multiprocessor for itself. Measured on an H200, 8192 x 8192 by 8192 x 8192: 1.05 to 1.18
   times as fast, and in tiles of 64x128 along the better side 1.63; where several blocks without groups share a
   multiprocessor 0.89 to 1.18, but 1.5 for narrow ones. */
void cg_order_in_bands(cg_func *c, const cg_bands *bands, bool alone);

#endif
