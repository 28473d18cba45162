/* Loops over K that do nothing but multiply two loaded tiles, whose steps may be divided (codegen/passes/cut.c) or
   taken together (codegen/rewrite/lengthen.c). */
#ifndef TILEVM_CODEGEN_ANALYSIS_K_LOOP_H
#define TILEVM_CODEGEN_ANALYSIS_K_LOOP_H

#include "codegen/kernel/kernel.h"

typedef struct cg_k_loop {
    ct_op *loop, *product;
    ct_op *loads[2]; /* of the product's operands */
    uint32_t k[2];   /* the tile dimension that is K, of each load */
} cg_k_loop;

/* Is the loop a `for` that carries only the sum of its only product, and tokens, and whose other ops give only scalars
   or tokens, so that they may be executed in more or fewer iterations? The operands of the product are tiles at even
   distances of a view, or of a batch of those, behind permutes, conversions and reshapes that drop leading ones. */
bool cg_find_k_loop(ct_op *loop, cg_k_loop *out);
/* Bytes of a load's tile in memory. */
uint32_t cg_loaded_bytes(const ct_op *load);
/* How far apart tiles start along a dimension of their view. */
int64_t cg_tiles_apart(const bc_type *view, uint32_t dim);
/* Gives all values from load i to the product the type of a tile with so many elements along K. False: out of
   memory. */
bool cg_resize_k(ct_func *f, const cg_k_loop *x, uint32_t i, int64_t size);

#endif
