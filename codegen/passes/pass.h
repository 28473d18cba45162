/* The passes over a function, in the order of passes.def, and their dumps. */
#ifndef TILEVM_CODEGEN_PASSES_PASS_H
#define TILEVM_CODEGEN_PASSES_PASS_H

#include "codegen/kernel/kernel.h"
#include "codegen/tile/verify.h"

/* A pass sets c->failed if it cannot continue. */
typedef void cg_pass_fn(cg_func *c);
/* Appends the ops and the results of a pass; the same input gives the same text. */
typedef void cg_dump_fn(cg_func *c, bc_text *out);
#define PASS(name, needs, gives, keeps, summary) \
    cg_pass_fn cg_pass_##name;                   \
    cg_dump_fn cg_dump_##name;
#include "codegen/passes/passes.def"

/* The output that is requested in addition to PTX. */
typedef struct cg_watch {
    uint32_t dumps; /* passes that are printed: a bit for each, by position; */
    tv_str kernel;  /* of this kernel only, unless it is empty */
    uint32_t count; /* passes that run: fewer than there are with stop_after */
    bool stops, times, verifies;
} cg_watch;

/* Parses the options dump_after, stop_after, time_passes and verify_each. TV_USAGE: a name is unknown; the message in
   the sink lists the known names. */
tv_status cg_watch_of(const bc_module *m, const tv_compile_options *options, tv_sink sink, cg_watch *out_watch);

/* For a plan that is only weighed: the passes run up to `cost`, and nothing is printed. */
cg_watch cg_watch_to_weigh(const cg_watch *watch);

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

/* Stores the op's effects on memory that is visible to other threads in op->effects. Requires layouts
   (codegen/passes/shared.c). stretch: cg_effects.stretch. */
void cg_find_effects(cg_func *c, ct_op *op, uint32_t stretch);

/* Runs the passes until one fails, and prints the requested dumps to c->options->dump. */
void cg_run_passes(cg_func *c, const cg_watch *watch);

/* Appends the kernel's PTX, preceded by the declarations of the module that it needs. */
void cg_put_kernel(cg_func *c, bc_text *out);

/* ---- for printers (codegen/passes/dump.c) ---- */

/* Prints the facts about one value, without a newline; prints nothing if there are none. */
typedef void cg_describe_fn(cg_func *c, const ct_value *v, bc_text *out);
/* Print the effects of an op, and the kernel's shared memory and barriers (codegen/passes/dump_effects.c). */
void cg_say_effects(const cg_func *c, const ct_op *op, bc_text *out);
void cg_say_sharing(const cg_func *c, bc_text *out);
/* Prints what passes have stored with an op, and its effects, without a newline; prints nothing if there is none. */
void cg_say_op(cg_func *c, const ct_op *op, bc_text *out);
/* Prints every op on a line, with the information that passes have stored with it. */
void cg_dump_ops(cg_func *c, bc_text *out);
/* Prints every op on a line, in order, and below it the output of `describe` for each of its results and block
   arguments. */
void cg_dump_values(cg_func *c, cg_describe_fn *describe, bc_text *out);

#endif
