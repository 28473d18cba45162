/* Declarations that the files behind codegen/explain.h share: the kernel whose plans are compared, and the functions
   that compile a plan and predict its time. */
#ifndef TILEVM_CODEGEN_WEIGH_H
#define TILEVM_CODEGEN_WEIGH_H

#include "codegen/explain.h"

/* An op of the source that loads or multiplies in a loop. */
typedef struct cg_weighed_op {
    uint64_t offset;
    uint32_t loop; /* position in cg_weighing.loops */
} cg_weighed_op;

typedef struct cg_weighed_loop {
    uint64_t offset;
    const char *op;
    uint32_t loads;
} cg_weighed_loop;

/* A kernel whose plans are compared. */
typedef struct cg_weighing {
    const tv_module *m;
    const bc_function *f;
    const tv_compile_options *options;
    const cg_launch *launch;
    tv_sink sink; /* receives the remarks of the chosen plan */
    cg_explanation *out;
    cg_weighed_loop *loops; /* the loops that load or multiply, in the order of the source */
    uint32_t loop_count;
    cg_weighed_op *ops;
    uint32_t op_count;
    bool *seen;        /* by op: a remark says that the current plan prefetches it */
    cg_candidate *now; /* the current plan */
    bool lost;         /* a remark was lost because memory ran out */
    bool first;        /* the current plan is the chosen one: its obstacles are kept */
} cg_weighing;

/* Finds the loops of the source. False: out of memory. */
bool cg_find_weighed(cg_weighing *x);
/* Compiles the kernel with plan->choices and fills in the rest of the plan, without name and needs. */
tv_status cg_weigh_plan(cg_weighing *x, cg_candidate *plan);
/* Returns a copy of the text in the explanation's memory; NULL: out of memory. */
const char *cg_weighed_text(cg_weighing *x, tv_str text);
/* The remedy for the reason `why` (codegen/remedies.def); NULL: none is known. */
const char *cg_remedy_of(tv_str why);

#endif
