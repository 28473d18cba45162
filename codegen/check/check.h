/* What is asked of the ops between passes: whether they and the plans about them hold together, and their text. */
#ifndef TILEVM_CODEGEN_CHECK_CHECK_H
#define TILEVM_CODEGEN_CHECK_CHECK_H

#include "codegen/kernel/kernel.h"
#include "codegen/tile/verify.h"

/* Do layouts fit their tiles, and does every conversion change the layout? If not, *out_fault describes the first
   violation. Requires layouts. */
bool cg_verify_layouts(cg_func *c, ct_fault *out_fault);

/* Do the plans of loops, products and the kernel hold together? Rings have slots, places and roles that fit each other,
   loads registers, products an instruction for the way in which they are computed. If not, *out_fault describes the
   first violation. */
bool cg_verify_plan(cg_func *c, ct_fault *out_fault);
/* After `shared`: are all buffers of each group of warps within the available memory, and does none overlap a live
   ring? */
bool cg_verify_shared(cg_func *c, ct_fault *out_fault);
/* After `sync`: is there a barrier on every path between two effects that need one? This follows paths one by one,
   unlike `sync`. */
bool cg_verify_sync(cg_func *c, ct_fault *out_fault);

/* ---- for printers (codegen/check/dump.c) ---- */

/* Prints the facts about one value, without a newline; prints nothing if there are none. */
typedef void cg_describe_fn(cg_func *c, const ct_value *v, bc_text *out);
/* Prints what has been decided for the kernel as a whole. */
void cg_say_kernel(const cg_func *c, bc_text *out);
/* Prints the effects of an op (codegen/check/dump_effects.c). */
void cg_say_effects(const cg_func *c, const ct_op *op, bc_text *out);
/* Prints what passes have stored with an op, and its effects, without a newline; prints nothing if there is none. */
void cg_say_op(cg_func *c, const ct_op *op, bc_text *out);
/* Prints every op on a line, with the information that passes have stored with it. */
void cg_dump_ops(cg_func *c, bc_text *out);
/* The same with facts about values; with their layouts; with those of values that are converted; with places in local
   memory; and with the kernel's shared memory and barriers. */
void cg_dump_facts(cg_func *c, bc_text *out);
void cg_dump_layouts(cg_func *c, bc_text *out);
void cg_dump_convert(cg_func *c, bc_text *out);
void cg_dump_strips(cg_func *c, bc_text *out);
void cg_dump_shared(cg_func *c, bc_text *out);
/* Prints the predictions of loops, and that of the kernel. */
void cg_dump_cost(cg_func *c, bc_text *out);
/* Prints every op on a line, in order, and below it the output of `describe` for each of its results and block
   arguments. */
void cg_dump_values(cg_func *c, cg_describe_fn *describe, bc_text *out);

#endif
