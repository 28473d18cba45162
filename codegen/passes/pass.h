/* The passes over a function, in the order of passes.def, and their dumps. */
#ifndef TILEVM_CODEGEN_PASSES_PASS_H
#define TILEVM_CODEGEN_PASSES_PASS_H

#include "codegen/check/check.h"

/* A pass sets c->failed if it cannot continue. */
typedef void cg_pass_fn(cg_func *c);
/* Appends the ops and the results of a pass; the same input gives the same text. */
typedef void cg_dump_fn(cg_func *c, bc_text *out);
#define PASS(name, needs, gives, keeps, summary) cg_pass_fn cg_pass_##name;
#define PRINTER(name, function) cg_dump_fn function;
#include "codegen/passes/passes.def"

/* The output that is requested in addition to PTX. */
typedef struct cg_watch {
    uint64_t dumps; /* passes that are printed: a bit for each, by position; */
    tv_str kernel;  /* of this kernel only, unless it is empty */
    uint32_t first; /* passes that have run already */
    uint32_t count; /* passes that have run then: fewer than there are with stop_after */
    bool stops, times, verifies;
} cg_watch;

/* Parses the options dump_after, stop_after, time_passes and verify_each. TV_USAGE: a name is unknown; the message in
   the sink lists the known names. */
tv_status cg_watch_of(const bc_module *m, const tv_compile_options *options, tv_sink sink, cg_watch *out_watch);

/* For a plan that is only weighed: the passes run up to `cost`, and nothing is printed. */
cg_watch cg_watch_to_weigh(const cg_watch *watch);
/* For the same plan if it is compiled after all: the passes that remain. */
cg_watch cg_watch_weighed(const cg_watch *watch);
/* Is anything printed between passes, or does one of them come last? */
bool cg_watches(const cg_watch *watch);

/* Runs the passes until one fails, and prints the requested dumps to c->options->dump. */
void cg_run_passes(cg_func *c, const cg_watch *watch);

#endif
