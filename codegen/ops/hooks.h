/* Ops with a pair of functions of their own, for the layouts pass and the lower pass, and what they call for regions.
 */
#ifndef TILEVM_CODEGEN_OPS_HOOKS_H
#define TILEVM_CODEGEN_OPS_HOOKS_H

#include "codegen/kernel/kernel.h"

#define HOOK(name) cg_hook cg_assign_##name, cg_lower_##name;
#include "codegen/ops/hooks.def"
#define TOP(name, ring, operands, more, results, text) cg_hook cg_assign_##name, cg_lower_##name;
#include "codegen/tile/ops.def"

/* The effects of an op; lowering takes them. */
typedef void cg_effects_hook(cg_func *c, ct_op *op);
#define EFFECTS(opcode, name) cg_effects_hook cg_effects_##name;
#include "codegen/ops/effects.def"

/* Of an op that writes a tile through a view (codegen/ops/view.c). Its first result's home says in which layout. */
void cg_assign_view_write(cg_func *c, const ct_op *op);

/* ---- which loop over strips they need ---- */

/* Does the extract choose among the registers that each thread has (codegen/ops/shape.c)? */
bool cg_extract_in_registers(cg_func *c, const ct_op *op);
/* Of a reduce or scan: strip bits along its dimension, and others that select elements (codegen/ops/fold.c). */
uint32_t cg_fold_strips(cg_func *c, const ct_op *op, uint32_t *out_others);
/* Is it a reduce over the trips of the loop that it stands in, whose results are there behind that? */
bool cg_reduces_strips(cg_func *c, const ct_op *op);
/* What makes them of what the threads have then. */
void cg_reduce_behind(cg_func *c, const ct_op *op);

/* Is the result of the loop over strips, at the end of its trips, written to local memory? Else it lies in registers,
   or a loop in it has kept it (codegen/ops/strips.c). */
bool cg_strips_keep(cg_func *c, const ct_value *result);

/* ---- regions (codegen/ops/regions.c) ---- */

/* Layouts of everything in a block. */
void cg_assign_block(cg_func *c, const ct_block *block);
/* Lowers the ops of a block; its arguments are set. */
void cg_block(cg_func *c, const ct_block *block);
/* Before a terminator: storage of the blocks that it leaves goes back (codegen/ops/alloca.c). */
void cg_leave_block(cg_func *c, const ct_op *terminator);
/* The body of a reduce or scan on scalars: args and results are registers. */
void cg_inline_region(cg_func *c, const ct_block *block, const cg_val *args, cg_val *out_results);

#endif
