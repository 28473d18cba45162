/* Compares the plans of a kernel: ways to compile it that the passes could have chosen. Each plan is real: the
   kernel is compiled with the choices that distinguish the plan (codegen/kernel/choices.h), and the cost model
   predicts its time (codegen/cost/cost.h). This is for `tilevm compile --explain`, `tilevm tune` and `tilevm
   report`. */
#ifndef TILEVM_CODEGEN_EXPLAIN_H
#define TILEVM_CODEGEN_EXPLAIN_H

#include "codegen/compile.h"
#include "codegen/kernel/choices.h"

enum {
    CG_MOST_PLANS = 64, /* plans that are compared for a kernel */
    CG_BEST_PLANS = 3   /* plans that are reported */
};

/* The form that a loop which loads or multiplies has in a plan. */
typedef struct cg_loop_candidate {
    uint64_t offset;       /* of the loop's op in the file: the same in all plans */
    const char *op;        /* its mnemonic; lives forever */
    const char *route;     /* how its tiles are loaded: "TMA", "producer warps", "all threads", "plain loads" ...; */
    const char *product;   /* its instruction (codegen/analysis/instructions.def); NULL: it does not multiply */
    uint32_t loads, ahead; /* loads directly in the loop; how many of them are prefetched */
    uint32_t stages, in_flight; /* the stages of its largest ring; bytes in flight for a thread block */
    double iterations;          /* of a block, on average; negative: not known */
    double cycles;              /* of the multiprocessor for an iteration of one block, while other blocks share it */
    const char *bound;          /* the resource that takes longest: "DRAM", "L2", "tensor cores", "latency" ...
                                   (cost.h) */
} cg_loop_candidate;

typedef struct cg_candidate {
    cg_choices choices; /* the choices that lead to this plan (cg_compile_with) */
    const char *name;   /* how it differs from the chosen plan: "8 warps", "no TMA, 2 stages"; "as compiled" */
    const char *needs;  /* promises that it needs, as text for users: "%3 is a multiple of 16"; NULL: it is legal */
    bool chosen;        /* the compiler chooses this plan */
    uint32_t threads, producers;        /* of a block; how many of them only copy */
    uint32_t registers, shared, blocks; /* of a thread, approximately; bytes of a block; blocks on a multiprocessor */
    uint32_t cluster;                   /* thread blocks of a tile block */
    bool persistent;
    double us;         /* predicted for the launch; negative: the grid or iterations are not known */
    double cycles;     /* of the multiprocessor for one tile block, while others share it; loops with an unknown
                          number of iterations count CG_UNKNOWN_ITERATIONS */
    const char *bound; /* of the kernel */
    cg_loop_candidate *loops;
    uint32_t loop_count;
} cg_candidate;

/* Why a better form was not chosen. */
typedef struct cg_obstacle {
    uint64_t offset;    /* of the op in the file; TV_NO_OFFSET: the whole kernel */
    uint64_t loop;      /* of the innermost loop around it, in the source; TV_NO_OFFSET: none */
    const char *op;     /* its mnemonic; NULL: the whole kernel */
    const char *remark; /* the form: name of the remark that reports it, "TensorMaps", "NotPipelined", "VectorAccess" */
    const char *why;    /* the code generator's reason */
    const char *remedy; /* what the author of the kernel can do about it; NULL: no remedy is known */
} cg_obstacle;

/* An op of the source, for messages. */
typedef struct cg_source_op {
    uint64_t offset; /* in the file */
    const char *op;  /* its mnemonic; lives forever */
    uint32_t loc;    /* in the debug section */
} cg_source_op;

/* The comparison of one kernel's plans. */
typedef struct cg_explanation {
    const tv_module *m;
    tv_str kernel; /* its symbol, borrowed from the module */
    uint32_t loc;  /* of the kernel in the debug section */
    cg_source_op *ops;
    uint32_t op_count;
    cg_candidate *plans; /* distinct plans, the cheapest first: by time if it is known for all, otherwise by cycles */
    uint32_t plan_count, weighed; /* weighed: the number of compiled plans, including those with the same outcome */
    cg_obstacle *obstacles;       /* of the chosen plan, each once, in the order of the file */
    uint32_t obstacle_count;
    bc_arena arena; /* owns everything above */
} cg_explanation;

/* Compares the plans of an entry. It writes nothing, and sends nothing to options->remarks.

   entry     below tv_module_entry_count
   launch    what is known of it; NULL: nothing, and plans are compared by cycles
   Result    TV_OK: *out is to be released; else what tv_compile_ptx returns, *out is empty, the sink knows why */
tv_status cg_explain(const tv_module *m, size_t entry, const tv_compile_options *options, const cg_launch *launch,
                     tv_sink sink, cg_explanation *out);
void cg_explanation_release(cg_explanation *x);

/* The i-th of the choices that are tried alone, first those that cg_explain weighs, then others, which only tests try;
   NULL past the end. Whether a choice is legal depends on the kernel. */
const cg_choices *cg_choice_at(uint32_t i);

/* The cheapest legal plan if the model predicts that it is faster than the chosen one, and how many times as fast;
   NULL: it tells no plan from the chosen one. */
const cg_candidate *cg_better_plan(const cg_explanation *x, double *out_gain);

/* Finds the best plans of a loop, at most `most`: positions in x->plans, the cheapest first, each with another form
   of that loop, including those that need promises. Returns their number. */
uint32_t cg_best_of_loop(const cg_explanation *x, uint64_t offset, uint32_t most, uint32_t *out);

/* Reports the best plans of the kernel and of its loops, and its obstacles with a remedy, as remarks (Plan, NotTaken,
   LoopPlan, Remedy). */
void cg_report_explanation(const cg_explanation *x, tv_remark_sink sink);

#endif
