/* Tuning: variants of a kernel, ranked by what the cost model predicts, then timed.

     space.c       which variants there are: a file, or all hints
     export.c      variants of a kernel in Python
     rank.c        compiles them all, in parallel, and sorts them by prediction
     halving.c     times the best of them, and drops the slower half again and again
     tune_report.c text and JSON */
#ifndef TILEVM_TOOLS_BENCH_TUNE_H
#define TILEVM_TOOLS_BENCH_TUNE_H

#include "tools/tilevm/bench/bench.h"

enum { TUNE_MOST_VARIANTS = 20000 };

typedef enum tune_outcome {
    TUNE_RANKED,
    TUNE_SAME,    /* its code is that of an earlier variant */
    TUNE_REFUSED, /* it cannot be compiled */
    TUNE_NO_MEMORY
} tune_outcome;

typedef struct tune_variant {
    const char *name; /* name of a file's variant, as in the space; NULL: the hints identify it */
    const char *path; /* bytecode, or what holds some; NULL: the kernel's own */
    uint32_t grid[3];
    bench_hints hints;
    /* set by ranking */
    tune_outcome outcome;
    size_t same;         /* TUNE_SAME: the earlier one */
    const char *problem; /* TUNE_REFUSED: the reason; else what is wrong with it ("likely to spill"), or NULL */
    double us;           /* predicted; below 0: not known */
    const char *bound;
    uint32_t threads, registers, shared, blocks;
    uint64_t hash; /* of its code */
    size_t rank;   /* from 1, of TUNE_RANKED */
    /* set by timing */
    bool timed;
    unsigned rounds; /* of halving that it has survived */
    bench_summary summary;
    int spilled; /* bytes of a thread, as the driver reports; below 0: not known */
} tune_variant;

typedef struct tune_space {
    bc_arena *arena;        /* owns all of it */
    tune_variant *variants; /* the first is the kernel as it is, or the first of the files */
    size_t count;
} tune_space;

/* All combinations of the hints' usual values that the target knows. */
bool tune_space_of_hints(const run_job *job, unsigned sm, bc_arena *arena, tune_space *out, io_error *error);
/* Reads a file of variants, or the text itself, which begins with a brace; docs/guides/bench.md describes it. The text
   is untrusted: sizes, counts and depths are bounded. */
bool tune_space_read(const run_job *job, const char *path, bc_arena *arena, tune_space *out, io_error *error);

/* A kernel in Python, "module.py:kernel". */
bool tune_is_python(const char *path);
typedef struct tune_request {
    const char *kernel, *grid, *space, *arch; /* grid: expressions; space: JSON or a file; arch: "sm_90" */
    const char *const *args;                  /* "A=zeros(f16,[64,64])" */
    size_t arg_count;
    unsigned jobs; /* 0: one per processor */
} tune_request;
typedef struct tune_export {
    char folder[256], first[512], space[512]; /* paths; folder "": not exported yet */
} tune_export;
/* Exports all variants with the Python package; Python's messages go to standard error. The folder has the bytecode,
   arguments beside the first variant, and a space. The caller removes it in any case. */
bool tune_export_run(const tune_request *request, tune_export *out, io_error *error);
void tune_export_remove(tune_export *export);

typedef struct tune_options {
    const char *name; /* of what is tuned, as it was given */
    bench_options bench;
    const char *target; /* "sm_90a" */
    unsigned sm, jobs;  /* jobs: threads that compile; 0: one per processor */
    size_t top;         /* variants that are timed, besides the unchanged kernel */
} tune_options;

typedef struct tune_result {
    run_job *job;
    const tune_options *options;
    const bench_bed *bed; /* NULL: nothing was timed */
    tune_space space;
    size_t
        *order; /* places of the ranked variants, the best first; after timing, timed ones by time before the others */
    size_t ranked, same, refused, timed;
    double seconds;           /* that ranking took */
    const tune_variant *best; /* NULL: there is none */
    bench_ratio ratio;        /* of the best to the first, if both were timed to the end */
    bool compared;
} tune_result;

/* Compiles all variants of result->space and sorts those that differ. */
bool tune_rank(run_job *job, const tune_options *options, tune_result *result, io_error *error);
/* Times the first `top` of them and the first of the space. */
bool tune_time(bench_bed *bed, tune_result *result, io_error *error);

/* Appends a description of the variant: "occupancy=2, num_ctas=1", "k_64.tbc occupancy=2", "as it is". */
void tune_variant_print(const tune_variant *variant, bc_text *out);
/* False: out of memory. */
bool tune_report_text(const tune_result *result, bool all, bc_text *out);
bool tune_report_json(const tune_result *result, bc_text *out);
/* The bytecode of a variant. */
bool tune_variant_bytes(const run_job *job, const tune_variant *variant, unsigned sm, bc_text *out, io_error *error);

#endif
