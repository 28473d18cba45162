/* Differential mode: the kernel on a GPU, and once more somewhere else. */
#ifndef TILEVM_TOOLS_RUN_AGAINST_H
#define TILEVM_TOOLS_RUN_AGAINST_H

#include "tools/tilevm/run/blame.h"

/* One array of the kernel on both sides. */
typedef struct run_pair {
    char name[96];
    arg_array got, want;       /* views of the copies below */
    arg_comparison comparison; /* owned */
} run_pair;

typedef struct run_against {
    bool is_cpu;
    const char *other;    /* "the CPU", or the file */
    run_copy here, there; /* contents of the arrays after the run on the GPU, and after the other run */
    run_pair *pairs;
    size_t pair_count;
    bool differs;
    run_blame blame; /* when it differs from the CPU */
} run_against;

/* Runs the other side with the original contents of the arrays, and compares. The arrays then hold the results of the
   GPU. Returns CLI_OK, or the exit code after a message; job->against has the result. */
int run_against_other(run_job *job, run_device *device, const run_copy *before);
void run_against_free(run_against *against);

#endif
