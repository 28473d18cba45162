/* Times and what is told of them, for the programs that measure. */
#ifndef TILEVM_TESTS_COMMON_MEASURE_H
#define TILEVM_TESTS_COMMON_MEASURE_H

#include <stddef.h>

/* Seconds since some moment; the processor's seconds that this thread has had. */
double measure_now(void);
double measure_cpu(void);

/* Sorts the values; at_percent is then the value that this share of them does not pass. count is at least 1. */
void measure_sort(double *values, size_t count);
double measure_at(const double *sorted, size_t count, unsigned percent);

/* One process, its output thrown away. */
typedef struct measure_process {
    double seconds, cpu_seconds; /* of the processor: children that it waited for count, too */
    long rss_kib;                /* most memory that was resident */
    int exit_code;               /* -1: a signal ended it */
} measure_process;

/* argv[0] is a path. Ends this program when it cannot be started. */
measure_process measure_run(char *const argv[]);

#endif
