/* Finds the op that made the difference: replays a kernel on a GPU and on the CPU with the results of its ops exposed
   (expose.h), and looks for the first result that differs although nothing before it does. */
#ifndef TILEVM_TOOLS_RUN_BLAME_H
#define TILEVM_TOOLS_RUN_BLAME_H

#include "tools/tilevm/run/device.h"

typedef enum run_blame_kind {
    RUN_BLAME_NONE,    /* the search could not be completed */
    RUN_BLAME_VALUE,   /* the op's result differs */
    RUN_BLAME_CONTROL, /* the op takes another branch, or another number of iterations */
    RUN_BLAME_STORE,   /* the operands of all stores are the same */
    RUN_BLAME_HIDDEN   /* with values exposed, there is no difference */
} run_blame_kind;

enum { RUN_BLAME_OPERANDS = 8 };

/* A value that goes into the op, made by another op. */
typedef struct run_blame_operand {
    uint32_t op_index, result;
    bool same_bits;   /* else within the tolerance */
    uint64_t ulp;     /* of the worst element */
    bool has_element; /* it has as many elements as the result: this one */
    tv_dtype dtype;
    uint64_t bits; /* on the CPU */
} run_blame_operand;

typedef struct run_blame {
    run_blame_kind kind;
    uint32_t op_index, result;
    uint64_t block;  /* tile block, counted with x fastest */
    uint64_t time;   /* how often the op had run there before */
    arg_array shape; /* VALUE: of the result; without memory */
    arg_difference first;
    uint64_t wrong;
    run_blame_operand operands[RUN_BLAME_OPERANDS];
    size_t operand_count;
    char problem[400]; /* NONE: why the search found nothing; empty: unknown */
} run_blame;

/* before: the contents of the arrays before the run; cpu: those after the run on the CPU. Leaves the arrays
   undefined. */
void run_blame_find(run_job *job, run_device *device, const run_copy *before, const run_copy *cpu, run_blame *out);
/* The op, or NULL. */
const bc_op *run_blame_op(const run_job *job, const run_blame *blame);
/* Appends lines for people. */
void run_blame_print(bc_text *out, const run_job *job, const run_blame *blame);

#endif
