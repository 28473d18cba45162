/* The expander of software pipelines. A schedule says for which iteration each op of a loop is executed when the
   loop's counter counts iteration i, and in which order; the expander makes the prologue in front of the loop, the
   new body, and the epilogue behind it. It knows no strategy: rings of tiles, loads into registers and products that
   overlap are schedules (docs/internals/codegen/expander.md). */
#ifndef TILEVM_CODEGEN_REWRITE_PIPELINE_H
#define TILEVM_CODEGEN_REWRITE_PIPELINE_H

#include "codegen/rewrite/iteration.h"

/* When an op of the body is executed. */
typedef struct cg_scheduled {
    ct_op *op;
    int32_t shift; /* for the iteration i + shift */
    ct_op *place;  /* of an op that runs ahead: the op of the body in front of which it stands. Neighbours with the same
                      place are a step: they are executed together, for the same iteration */
} cg_scheduled;

/* A schedule of one of two forms. Either its ops run ahead of the counter, and all other ops of the body stay where
   they are: at most one step of them passes on results. What a step takes from what the loop carries must be known in
   the current iteration: what it passes on, for a step ahead by one; for others, what an earlier schedule has loaded
   for their iteration, and tokens. Or it has all ops of the body but the last one, and their shifts are 0 or -1: of
   an op behind the counter, the loop carries only the sum of a product that adds to what it carries. */
typedef struct cg_schedule {
    ct_op *loop;             /* a `for` whose body ends in one place */
    const cg_scheduled *ops; /* in the order of the new body */
    uint32_t count;
    ct_value *allow; /* a condition for all ops ahead of the counter; NULL: there is none */
} cg_schedule;

/* What the expander has made of a loop. */
typedef struct cg_pipelined {
    ct_op *loop;
    ct_op *guard; /* the branch around the loop, which replaces the old loop: whether there is an iteration. NULL: no op
                     is behind the counter, and `loop` is the loop itself, or replaces it */
} cg_pipelined;

/* Expands the loop. False: out of memory, which c records. */
bool cg_pipeline(cg_func *c, const cg_schedule *schedule, cg_pipelined *out);

#endif
