/* Ops with functions of their own for the layouts pass and the lower pass, and the functions that those call for
   regions. */
#ifndef TILEVM_CODEGEN_OPS_HOOKS_H
#define TILEVM_CODEGEN_OPS_HOOKS_H

#include "codegen/kernel/kernel.h"

#define HOOK(name) cg_hook cg_assign_##name, cg_lower_##name;
#include "codegen/ops/hooks.def"
#define TOP(name, ring, operands, more, results, text) cg_hook cg_assign_##name, cg_lower_##name;
#include "codegen/tile/ops.def"

/* Finds the effects of an op, which lowering takes later. */
typedef void cg_effects_hook(cg_func *c, ct_op *op);
#define EFFECTS(opcode, name) cg_effects_hook cg_effects_##name;
#include "codegen/ops/effects.def"
/* Stores the op's effects on memory that is visible to other threads in op->effects. Requires layouts. stretch:
   cg_effects.stretch. */
void cg_find_effects(cg_func *c, ct_op *op, uint32_t stretch);

/* For an op that writes a tile through a view (codegen/ops/view.c). The home of its first result gives the layout. */
void cg_assign_view_write(cg_func *c, const ct_op *op);

/* ---- which loop over strips they need ---- */

/* Does the extract select registers that each thread has (codegen/ops/shape.c)? */
bool cg_extract_in_registers(cg_func *c, const ct_op *op);
/* For a reduce or scan: the strip bits along its dimension; out_others: the others that select elements
   (codegen/ops/fold.c). */
uint32_t cg_fold_strips(cg_func *c, const ct_op *op, uint32_t *out_others);
/* Does the reduce combine the trips of its loop over strips, so that its results are complete after the loop? */
bool cg_reduces_strips(cg_func *c, const ct_op *op);
/* Combines the partial results of such a reduce after the loop. */
void cg_reduce_behind(cg_func *c, const ct_op *op);

/* Is the result of the loop over strips stored to local memory at the end of its trips? Otherwise it is in
   registers, or a loop inside has stored it (codegen/ops/strips.c). */
bool cg_strips_keep(cg_func *c, const ct_value *result);

/* ---- regions (codegen/ops/regions.c) ---- */

/* Assigns layouts to all values in a block. */
void cg_assign_block(cg_func *c, const ct_block *block);
/* Lowers the ops of a block, whose arguments are set. */
void cg_block(cg_func *c, const ct_block *block);
/* Before a terminator: frees the storage of the blocks that it leaves (codegen/ops/alloca.c). */
void cg_leave_block(cg_func *c, const ct_op *terminator);
/* Lowers the body of a reduce or scan, on scalars: args and results are registers. */
void cg_inline_region(cg_func *c, const ct_block *block, const cg_val *args, cg_val *out_results);

#endif
