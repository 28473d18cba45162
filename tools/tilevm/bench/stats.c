/* Quantiles as NumPy has them by default; the interval of the median from the binomial distribution; the ratio of
   medians by the percentile bootstrap. */
#include "tools/tilevm/bench/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double outside = 0.025; /* on either side of an interval */
enum { RESAMPLES = 1000, FEW = 6 };

/* ---- random numbers ---- */

static uint64_t next_number(bench_random *random)
{
    uint64_t x = random->state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint32_t bench_draw(bench_random *random, uint32_t bound)
{
    return (uint32_t)((next_number(random) >> 32) * bound >> 32);
}

/* ---- one set of samples ---- */

static int compare(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

void bench_sort(double *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, compare);
}

double bench_quantile(const double *sorted, size_t count, double q)
{
    double at = q * (double)(count - 1), below = floor(at);
    size_t i = (size_t)below;
    return i + 1 < count ? sorted[i] + (at - below) * (sorted[i + 1] - sorted[i]) : sorted[count - 1];
}

/* The largest k such that fewer than k of count fair coins show heads with a probability of at most `outside`. */
static size_t coins(size_t count)
{
    double sum = 0;
    size_t k = 0;
    for (; k < count; k++) {
        double n = (double)count, x = (double)k;
        sum += exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) - n * log(2));
        if (sum > outside)
            break;
    }
    return k;
}

bench_interval bench_median_interval(const double *sorted, size_t count)
{
    size_t k = count < FEW ? 1 : coins(count);
    return (bench_interval){sorted[k - 1], sorted[count - k]};
}

static double deviation_of(const double *samples, size_t count, double mean)
{
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (samples[i] - mean) * (samples[i] - mean);
    return count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

bench_summary bench_summarize(double *samples, size_t count)
{
    double sum = 0;
    bench_sort(samples, count);
    for (size_t i = 0; i < count; i++)
        sum += samples[i];
    bench_summary s = {.count = count,
                       .min = samples[0],
                       .p5 = bench_quantile(samples, count, 0.05),
                       .p25 = bench_quantile(samples, count, 0.25),
                       .median = bench_quantile(samples, count, 0.5),
                       .p75 = bench_quantile(samples, count, 0.75),
                       .p95 = bench_quantile(samples, count, 0.95),
                       .max = samples[count - 1],
                       .mean = sum / (double)count,
                       .interval = bench_median_interval(samples, count)};
    s.deviation = deviation_of(samples, count, s.mean);
    return s;
}

double bench_spread(const bench_summary *s)
{
    return s->median > 0 ? (s->interval.high - s->interval.low) / 2 / s->median : 0;
}

/* ---- two sets ---- */

/* Draws as many samples with replacement; for paired sets, the same places in both. */
static void draw_places(bench_random *random, size_t *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        places[i] = bench_draw(random, (uint32_t)count);
}

static double median_at(const double *samples, const size_t *places, size_t count, double *room)
{
    for (size_t i = 0; i < count; i++)
        room[i] = samples[places[i]];
    bench_sort(room, count);
    return bench_quantile(room, count, 0.5);
}

static double median_of(const double *samples, size_t count, double *room)
{
    memcpy(room, samples, count * sizeof *room);
    bench_sort(room, count);
    return bench_quantile(room, count, 0.5);
}

bool bench_compare(const double *samples, size_t count, const double *base, size_t base_count, bool paired,
                   uint64_t seed, bench_ratio *out)
{
    size_t most = count > base_count ? count : base_count;
    double *room = calloc(most, sizeof *room), *ratios = calloc(RESAMPLES, sizeof *ratios);
    size_t *places = calloc(most, sizeof *places);
    bench_random random = {seed};
    bool good = room && ratios && places;
    if (good) {
        out->ratio = median_of(samples, count, room) / median_of(base, base_count, room);
        for (size_t i = 0; i < RESAMPLES; i++) {
            draw_places(&random, places, count);
            double median = median_at(samples, places, count, room);
            if (!paired || count != base_count)
                draw_places(&random, places, base_count);
            ratios[i] = median / median_at(base, places, base_count, room);
        }
        bench_sort(ratios, RESAMPLES);
        out->interval = (bench_interval){bench_quantile(ratios, RESAMPLES, outside),
                                         bench_quantile(ratios, RESAMPLES, 1 - outside)};
    }
    free(room);
    free(ratios);
    free(places);
    return good;
}
