/* The parts of reductions and scans. */
#ifndef TILEVM_CODEGEN_OPS_FOLD_H
#define TILEVM_CODEGEN_OPS_FOLD_H

#include "codegen/kernel/kernel.h"

enum { CG_FOLD_OPERANDS = 16 };
typedef cg_val cg_fold_row[CG_FOLD_OPERANDS]; /* an element of each operand */

/* Ops with more operands are refused. */
bool cg_fold_is_too_wide(cg_func *c, const ct_op *op);
/* Assigns layouts in the body, which works on scalars. */
void cg_fold_assign_body(cg_func *c, const ct_op *op);
/* The element index bits of the dimension that the attribute `row` gives. */
uint32_t cg_fold_mask(const ct_op *op, int row);
/* out[i] = body(first[i], second[i]) for the operands of the op. */
void cg_fold_combine(cg_func *c, const ct_op *op, const cg_val *first, const cg_val *second, cg_val *out);
/* The register of another lane: instruction "bfly", "up", "down" or "idx" of shfl; by: its operand, a register or a
   constant. */
cg_val cg_shuffled(cg_func *c, const char *how, cg_val x, cg_val by);
/* Two registers of the same lane; 16-bit ones in one word. */
void cg_shuffled_pair(cg_func *c, bc_kind kind, const char *how, const cg_val *x, cg_val by, cg_val *out);

/* ---- results ---- */

/* The layout without the dimension, and the register bits that remain. */
cg_layout cg_fold_layout(const cg_layout *source, uint32_t mask, uint32_t *out_kept);
/* Adds the effect of cg_fold_exchange to an op: scratch for that many bits of warps. */
void cg_fold_add_exchange(cg_func *c, ct_op *place, const ct_op *op, const cg_layout *result, uint32_t warps);
/* Exchanges the partial results of all warps along the dimension through shared memory. A partial result is an
   element of a tile whose index consists of the index of the result and, above it, the number of the warp (`warps`
   bits). own: the layout of the partial results of a warp, slots: the same with the number of the warp. parts[i]: of
   operand i, register k of warp n, in the layout `result`, at k | n << register bits of the result. */
void cg_fold_exchange(cg_func *c, const ct_op *op, const cg_layout *own, const cg_layout *slots, uint32_t warps,
                      const cg_layout *result, cg_fold_row *values, cg_val **parts);
/* Allocates rows. NULL: out of memory. */
cg_fold_row *cg_fold_rows(cg_func *c, uint32_t count);
/* Sets register k of the results to row k, for `count` registers. */
void cg_fold_set_results(cg_func *c, const ct_op *op, uint32_t count, cg_fold_row *values);
/* ---- scans ---- */

/* The layout of a scan whose operands are loaded in vectors of 2^vector elements along its dimension. True: memory
   accesses are efficient in it. */
bool cg_scans_pieces(const cg_func *c, const ct_op *op, uint32_t vector, cg_layout *out);

/* ---- in strips ---- */

/* Adds the effects of the part of a reduce that follows its loop over strips (cg_reduce_behind) to that loop. */
void cg_add_reduce(cg_func *c, ct_op *place, const ct_op *op);

#endif
