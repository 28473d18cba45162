/* Loops over K that do nothing but multiply tiles, loaded or computed element by element from loaded ones, whose steps
   may be divided (codegen/passes/cut.c) or taken together (codegen/rewrite/lengthen.c). */
#ifndef TILEVM_CODEGEN_ANALYSIS_K_LOOP_H
#define TILEVM_CODEGEN_ANALYSIS_K_LOOP_H

#include "codegen/kernel/kernel.h"

enum { CG_K_LOADS = 8, CG_K_SLICES = 64 };

/* A value, of which one dimension is K, or a part of it. */
typedef struct cg_k_slice {
    ct_value *value;
    uint32_t k;
    const bc_type *was; /* its type before it got another size */
    ct_value *base;     /* of a sum of a scalar and the position along K: this scalar; else NULL */
} cg_k_slice;

typedef struct cg_k_loop {
    ct_op *loop, *product;
    ct_op *loads[CG_K_LOADS]; /* the first two: the first load of each operand of the product */
    uint32_t k[CG_K_LOADS];   /* the tile dimension that is K, of each load */
    uint32_t load_count;
    uint32_t operand;               /* of which the slices are being found */
    bool computed[2];               /* is the operand more than a load, converted? */
    cg_k_slice slices[CG_K_SLICES]; /* all values from the loads to the product */
    uint32_t slice_count;
} cg_k_loop;

/* Is the loop a `for` that carries only the sum of its only product, and tokens, and whose other ops may be executed in
   more or fewer iterations? The operands of the product are computed element by element from tiles at even distances
   of a view, or of a batch of those, and from what does not change in the loop. */
bool cg_find_k_loop(ct_op *loop, cg_k_loop *out);
/* Is the scalar or tile the same in all iterations, as far as its last ops show? */
bool cg_is_steady(const cg_k_loop *x, const ct_value *v, uint32_t ops);
/* Bytes of a load's tile in memory. */
uint32_t cg_loaded_bytes(const ct_op *load);
/* How far apart tiles start along a dimension of their view. */
int64_t cg_tiles_apart(const bc_type *view, uint32_t dim);
/* Are both operands zero where all loaded tiles are? */
bool cg_is_zero_of_zeros(const cg_k_loop *x);
/* Gives all values from the loads to the product the types of tiles with times/parts as many elements along K. False:
   out of memory. */
bool cg_resize_k(ct_func *f, cg_k_loop *x, int64_t times, int64_t parts);

#endif
