/* Runs a kernel again on a GPU and on the CPU, with the results of some of its ops exposed (expose.h), and finds where
   they differ. */
#ifndef TILEVM_TOOLS_RUN_REPLAY_H
#define TILEVM_TOOLS_RUN_REPLAY_H

#include "tools/tilevm/module/expose.h"
#include "tools/tilevm/run/blame.h"

/* The first record of a tile block that differs. */
typedef struct run_finding {
    bool found, is_control;
    uint32_t slot;   /* tile block of the window */
    uint64_t rounds; /* of loops, begun before it: with op_index its place in the order of execution */
    uint32_t op_index, result;
    uint64_t time;
    arg_array shape; /* of the result; without memory */
    arg_difference first;
    uint64_t wrong;
    run_blame_operand operands[RUN_BLAME_OPERANDS];
    size_t operand_count;
} run_finding;

typedef struct run_study {
    run_job *job;
    run_device *device;
    const run_copy *before, *cpu;
    const bc_function *f;
    bc_op **ops; /* all of the function, in pre-order */
    uint32_t op_count;
    bool strict;       /* rtol is of each element; else of the largest in the tile, so that the rounding of sums
                          that nearly cancel is not taken for a fault */
    bool persists;     /* some replay gave other results than the CPU's */
    char problem[400]; /* the last one; empty: none */
} run_study;

/* Exposes the ops in the tile blocks [first, first + count), with a log of so many bytes for each, and gives the first
   record that differs. False: it cannot be done; s->problem says why. */
bool run_look_at(run_study *s, const uint32_t *ops, size_t op_count, uint64_t first, uint32_t count, uint64_t capacity,
                 run_finding *out);

#endif
