/* The work of a launch: arithmetic by type, bytes that its accesses move, bytes that must be read from and written to
   memory at least once. It is counted from the ops and the number of their runs, which the virtual machine has counted
   or which follows from the arguments, tile block by tile block. */
#ifndef TILEVM_TOOLS_BENCH_WORK_H
#define TILEVM_TOOLS_BENCH_WORK_H

#include "tools/tilevm/args/study.h"

typedef struct bench_work {
    double products[BC_KIND_COUNT]; /* operations of matrix products, by the elements that are multiplied */
    double plain[BC_KIND_COUNT];    /* other floating-point operations, by the elements of the result */
    double accessed;                /* bytes that loads and stores move; those outside of arrays count, too */
    double read, written;           /* bytes that are read and written, each counted once */
    bool sampled;                   /* only some of the tile blocks were counted */
    const bc_op *at_most;           /* a branch that may or may not be taken, and was counted; NULL: none */
    const bc_op *unknown;           /* a loop whose iterations are not known, counted as one; NULL: none */
} bench_work;

/* Counts from the arguments, all of which are given. False: out of memory. */
bool bench_work_count(const arg_set *set, const bc_function *f, const uint32_t grid[3], bench_work *out);

/* Counts from the counters of a machine: runs by op index, and the bytes that were moved. Which elements are touched
   follows from the arguments. False: out of memory. */
bool bench_work_counted(const arg_set *set, const bc_function *f, const uint32_t grid[3], const double *times,
                        double accessed, bench_work *out);

/* All floating-point operations. */
double bench_work_flops(const bench_work *work);

#endif
