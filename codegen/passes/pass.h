/* The passes over a function, in the order of passes.def, and what is printed after each. */
#ifndef TILEVM_CODEGEN_PASSES_PASS_H
#define TILEVM_CODEGEN_PASSES_PASS_H

#include "codegen/kernel/kernel.h"
#include "codegen/tile/verify.h"

/* A pass leaves c->failed set when it cannot go on. */
typedef void cg_pass_fn(cg_func *c);
/* Appends what a pass has found, with the ops; the same text for the same input. */
typedef void cg_dump_fn(cg_func *c, bc_text *out);
#define PASS(name, needs, gives, keeps, summary) \
    cg_pass_fn cg_pass_##name;                   \
    cg_dump_fn cg_dump_##name;
#include "codegen/passes/passes.def"

/* What is wanted of the passes besides PTX. */
typedef struct cg_watch {
    uint32_t dumps; /* passes that are printed: a bit for each, by position; */
    tv_str kernel;  /* of this kernel only, unless it is empty */
    uint32_t count; /* passes that run: fewer than there are with stop_after */
    bool stops, times, verifies;
} cg_watch;

/* Understands the options dump_after, stop_after, time_passes and verify_each. TV_USAGE: a name is unknown; the sink
   has which, and what there is. */
tv_status cg_watch_of(const bc_module *m, const tv_compile_options *options, tv_sink sink, cg_watch *out_watch);

/* Do layouts fit their tiles, and is every conversion from one layout to another? Else *out_fault says what was found
   first. For when there are layouts. */
bool cg_verify_layouts(cg_func *c, ct_fault *out_fault);

/* Once `shared` has run: does all of it lie in the memory that there is, and nothing in that of rings while they
   have it? Of each group of warps. */
bool cg_verify_shared(cg_func *c, ct_fault *out_fault);
/* Once `sync` has: is there a barrier on every way from one effect to another that needs it? Looked for way by way,
   not as `sync` does. */
bool cg_verify_sync(cg_func *c, ct_fault *out_fault);

/* What the op does with memory that other threads see, to op->effects: once there are layouts
   (codegen/passes/shared.c). stretch: cg_effects.stretch. */
void cg_find_effects(cg_func *c, ct_op *op, uint32_t stretch);

/* Runs the passes until one fails, and prints what is wanted to c->options->dump. */
void cg_run_passes(cg_func *c, const cg_watch *watch);

/* Appends the kernel's PTX; what lies before it in the module first. */
void cg_put_kernel(cg_func *c, bc_text *out);

/* ---- for printers (codegen/passes/dump.c) ---- */

/* What a printer says of one value, without a newline; nothing for a value that there is nothing to say about. */
typedef void cg_describe_fn(cg_func *c, const ct_value *v, bc_text *out);
/* The effects of an op, and what the kernel has of shared memory and barriers (codegen/passes/dump_effects.c). */
void cg_say_effects(const cg_func *c, const ct_op *op, bc_text *out);
void cg_say_sharing(const cg_func *c, bc_text *out);
/* Every op on a line, with what passes have found out about it. */
void cg_dump_ops(cg_func *c, bc_text *out);
/* Every op on a line, in order, with what `describe` says of each of its results and block arguments below it. */
void cg_dump_values(cg_func *c, cg_describe_fn *describe, bc_text *out);

#endif
