/* How far apart two right results of a kernel may lie, because the order of sums in products, reductions, scans and
   atomic additions is free. docs/reference/numerics.md has the table. */
#ifndef TILEVM_TOOLS_RUN_SUMS_H
#define TILEVM_TOOLS_RUN_SUMS_H

#include "tools/tilevm/args/study.h"

/* Of a value or an array: up to `bound` times its largest magnitude. */
typedef struct run_sum {
    double bound;   /* 0: no such sum contributes to it */
    double terms;   /* of the longest sum */
    tv_dtype dtype; /* that it was rounded to */
} run_sum;

typedef struct run_sums {
    size_t count;
    run_sum *arrays; /* by entry parameter */
    run_sum *values; /* by value id */
} run_sums;

/* study: of the entry, with all its arguments known. False: out of memory. */
bool run_sums_find(bc_arena *arena, const bc_function *f, const uint32_t grid[3], const arg_study *study,
                   run_sums *out);

#endif
