/* Weighs the plans of a kernel: ways to compile it that the passes could have taken. Each is really planned, by
   compiling the kernel with what distinguishes it asked for (codegen/kernel/choices.h), and predicted by the cost model
   (codegen/cost/cost.h). For `tilevm compile --explain`, `tilevm tune` and `tilevm report`. */
#ifndef TILEVM_CODEGEN_EXPLAIN_H
#define TILEVM_CODEGEN_EXPLAIN_H

#include "codegen/compile.h"
#include "codegen/kernel/choices.h"

enum {
    CG_MOST_PLANS = 64, /* that are weighed for a kernel */
    CG_BEST_PLANS = 3   /* that are told */
};

/* What a plan makes of a loop that loads or multiplies. */
typedef struct cg_loop_candidate {
    uint64_t offset;       /* of the loop's op in the file: the same in all plans */
    const char *op;        /* its mnemonic; lives forever */
    const char *route;     /* who brings what it loads: "TMA", "producer warps", "all threads", "plain loads" ...; */
    const char *product;   /* its instruction, "wgmma", "mma.sync", "none"; NULL: it does not multiply */
    uint32_t loads, ahead; /* loads in the loop itself; how many of them run ahead of their iteration */
    uint32_t stages, in_flight; /* the most of a ring; bytes on their way for a thread block */
    double iterations;          /* of a block on the average; below 0: not known */
    double cycles;              /* of the multiprocessor for an iteration of one block, beside those that share it */
    const char *bound;          /* what takes longest: "DRAM", "L2", "tensor cores", "latency" ... (cost.h) */
} cg_loop_candidate;

typedef struct cg_candidate {
    cg_choices choices; /* what was asked for: compile with it (cg_compile_with) to have this plan */
    const char *name;   /* how it differs from the plan that is taken: "8 warps", "no TMA, 2 stages"; "as compiled" */
    const char *needs;  /* what would have to be promised, for people: "%3 is a multiple of 16"; NULL: it is legal */
    bool chosen;        /* the plan that the compiler takes */
    uint32_t threads, producers;        /* of a block; how many of these only copy */
    uint32_t registers, shared, blocks; /* of a thread, about; bytes of a block; blocks on a multiprocessor */
    uint32_t cluster;                   /* thread blocks of a tile block */
    bool persistent;
    double us;         /* predicted for the launch; below 0: grid or iterations are not known */
    double cycles;     /* of the multiprocessor for one tile block, beside those that share it; loops with unknown
                          iterations count as CG_UNKNOWN_ITERATIONS */
    const char *bound; /* of the kernel */
    cg_loop_candidate *loops;
    uint32_t loop_count;
} cg_candidate;

/* Why a better form was not taken. */
typedef struct cg_obstacle {
    uint64_t offset;    /* of the op in the file; TV_NO_OFFSET: the whole kernel */
    uint64_t loop;      /* of the innermost loop around it, in the source; TV_NO_OFFSET: none */
    const char *op;     /* its mnemonic; NULL: the whole kernel */
    const char *remark; /* the form: name of the remark that says it, "TensorMaps", "NotPipelined", "VectorAccess" */
    const char *why;    /* what the code generator says */
    const char *remedy; /* what the author of the kernel can do about it; NULL: nothing that is known */
} cg_obstacle;

/* An op of the source, for messages. */
typedef struct cg_source_op {
    uint64_t offset; /* in the file */
    const char *op;  /* its mnemonic; lives forever */
    uint32_t loc;    /* in the debug section */
} cg_source_op;

/* Of one kernel. */
typedef struct cg_explanation {
    const tv_module *m;
    tv_str kernel; /* its symbol, borrowed from the module */
    uint32_t loc;  /* of the kernel in the debug section */
    cg_source_op *ops;
    uint32_t op_count;
    cg_candidate *plans; /* different ones, the cheapest first: by time if it is known for all, else by cycles */
    uint32_t plan_count, weighed; /* weighed: how many were compiled, with those that came out the same */
    cg_obstacle *obstacles;       /* of the plan that is taken, each once, in the order of the file */
    uint32_t obstacle_count;
    bc_arena arena; /* owns all of it */
} cg_explanation;

/* Weighs the plans of an entry. Nothing is written, and options->remarks hears nothing.

   entry     below tv_module_entry_count
   launch    what is known of it; NULL: nothing, and plans are compared by cycles
   Result    TV_OK: *out is to be released; else what tv_compile_ptx returns, *out is empty, the sink knows why */
tv_status cg_explain(const tv_module *m, size_t entry, const tv_compile_options *options, const cg_launch *launch,
                     tv_sink sink, cg_explanation *out);
void cg_explanation_release(cg_explanation *x);

/* The choices that are weighed alone, one after the other; NULL past the end. Whether they are legal depends on the
   kernel. */
const cg_choices *cg_choice_at(uint32_t i);

/* The best plans of a loop: positions in x->plans, the cheapest first, each another plan of that loop; legal ones, and
   those that need promises. At most `most`; how many. */
uint32_t cg_best_of_loop(const cg_explanation *x, uint64_t offset, uint32_t most, uint32_t *out);

/* Reports the best plans of the kernel and of its loops, and its obstacles with a remedy, as remarks (Plan, LoopPlan,
   Remedy). */
void cg_report_explanation(const cg_explanation *x, tv_remark_sink sink);

#endif
