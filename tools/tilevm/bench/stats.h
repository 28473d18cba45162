/* Statistics of samples: quantiles, an interval for the median, and one for the ratio of two medians. All of it depends
   on the samples and a seed alone. */
#ifndef TILEVM_TOOLS_BENCH_STATS_H
#define TILEVM_TOOLS_BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pseudo-random numbers from a seed (SplitMix64). */
typedef struct bench_random {
    uint64_t state;
} bench_random;
/* 0 to bound - 1; bound is at least 1. */
uint32_t bench_draw(bench_random *random, uint32_t bound);

typedef struct bench_interval {
    double low, high;
} bench_interval;

/* Summary of samples. */
typedef struct bench_summary {
    size_t count;
    double min, p5, p25, median, p75, p95, max, mean, deviation; /* deviation: of a sample, n - 1 in the divisor */
    bench_interval interval;                                     /* of the median */
} bench_summary;

void bench_sort(double *samples, size_t count);
/* Interpolates between the two nearest samples. `sorted` has at least one. q: 0 to 1. */
double bench_quantile(const double *sorted, size_t count, double q);
/* Two order statistics between which the median lies with a probability of at least 95 %, whatever the distribution is;
   with less than 6 samples, the smallest and the largest, whose probability is lower. */
bench_interval bench_median_interval(const double *sorted, size_t count);
/* samples: at least one, sorted by the call. */
bench_summary bench_summarize(double *samples, size_t count);
/* Half of the interval's width, relative to the median. */
double bench_spread(const bench_summary *summary);

/* The ratio of two medians, and its 95 % interval by the bootstrap. paired: sample i of both was taken in the same
   round, so both are drawn together, and what slows down both has no effect. False: out of memory. */
typedef struct bench_ratio {
    double ratio;
    bench_interval interval;
} bench_ratio;
bool bench_compare(const double *samples, size_t count, const double *base, size_t base_count, bool paired,
                   uint64_t seed, bench_ratio *out);

#endif
