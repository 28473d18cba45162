/* Statistics of benchmarks: quantiles, the interval of a median, ratios. Expected numbers are those of NumPy's quantile
   and of tables of the binomial distribution; how often intervals hold is tried out. */
#include <math.h>
#include <string.h>

#include "tests/unit/test.h"
#include "tools/tilevm/bench/stats.h"

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static void test_quantiles(void)
{
    double samples[] = {7, 1, 4, 2, 9, 5};
    bench_summary s = bench_summarize(samples, 6);
    CHECK(s.count == 6 && near(s.min, 1) && near(s.max, 9));
    CHECK(near(s.median, 4.5) && near(s.p25, 2.5) && near(s.p75, 6.5) && near(s.p5, 1.25) && near(s.p95, 8.5));
    CHECK(near(s.mean, 28.0 / 6) && near(s.deviation, 3.0110906108363240));
    double one[] = {3};
    s = bench_summarize(one, 1);
    CHECK(near(s.median, 3) && near(s.p95, 3) && s.deviation >= 0 && near(s.interval.low, 3));
}

/* Ranks of the two samples, from 1, by the number of samples: 95 % for the median. */
static void test_ranks(void)
{
    static const struct {
        size_t count, low;
    } table[] = {{1, 1}, {5, 1}, {6, 1}, {8, 1}, {9, 2}, {10, 2}, {20, 6}, {25, 8}, {50, 18}, {100, 40}, {1000, 469}};
    enum { MOST = 1000 };
    double sorted[MOST];
    for (size_t i = 0; i < MOST; i++)
        sorted[i] = (double)(i + 1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        bench_interval interval = bench_median_interval(sorted, table[i].count);
        CHECK_MSG(near(interval.low, (double)table[i].low), "%zu samples: rank %g, not %zu", table[i].count,
                  interval.low, table[i].low);
        CHECK(near(interval.high, (double)(table[i].count + 1 - table[i].low)));
    }
}

/* Skewed, as times are: never below 1, seldom far above. */
static double draw_time(bench_random *random)
{
    double u = ((double)bench_draw(random, 1u << 30) + 0.5) / (1u << 30);
    return 1 - 0.05 * log(u);
}

enum { TRIALS = 200, COUNT = 30 };
static const double median = 1 + 0.05 * 0.69314718055994531; /* of the distribution */

/* An interval that is to hold in 95 % of all cases does so in at least 90 % of the trials: fewer are a chance in
   1000. */
static void test_coverage(void)
{
    bench_random random = {7};
    unsigned holds = 0, ratio_holds = 0, paired_holds = 0;
    for (unsigned t = 0; t < TRIALS; t++) {
        double a[COUNT], b[COUNT], shifted[COUNT];
        bench_ratio ratio;
        for (size_t i = 0; i < COUNT; i++) {
            double slow = 1 + (double)i / COUNT; /* both get slower with time */
            a[i] = draw_time(&random);
            b[i] = 1.02 * draw_time(&random);
            shifted[i] = a[i] * slow;
        }
        ratio_holds += bench_compare(b, COUNT, a, COUNT, false, t, &ratio) && ratio.interval.low <= 1.02
                       && ratio.interval.high >= 1.02;
        for (size_t i = 0; i < COUNT; i++)
            b[i] = 1.1 * shifted[i];
        paired_holds += bench_compare(b, COUNT, shifted, COUNT, true, t, &ratio)
                        && fabs(ratio.interval.low - 1.1) < 1e-9 && fabs(ratio.interval.high - 1.1) < 1e-9;
        bench_sort(a, COUNT);
        bench_interval interval = bench_median_interval(a, COUNT);
        holds += interval.low <= median && interval.high >= median;
    }
    CHECK_MSG(holds >= TRIALS * 9 / 10, "the median's interval holds in %u of %d", holds, TRIALS);
    CHECK_MSG(ratio_holds >= TRIALS * 9 / 10, "the ratio's interval holds in %u of %d", ratio_holds, TRIALS);
    CHECK_MSG(paired_holds == TRIALS, "pairs: %u of %d", paired_holds, TRIALS);
}

static void test_repeats(void)
{
    double a[COUNT], b[COUNT];
    bench_random random = {3};
    bench_ratio first, again;
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = draw_time(&random);
        b[i] = draw_time(&random);
    }
    CHECK(bench_compare(a, COUNT, b, COUNT, true, 5, &first) && bench_compare(a, COUNT, b, COUNT, true, 5, &again));
    CHECK(memcmp(&first, &again, sizeof first) == 0);
    CHECK(bench_compare(a, COUNT, b, 1, false, 5, &again) && again.interval.low < again.interval.high);
    for (unsigned bound = 1; bound < 9; bound++)
        for (unsigned i = 0; i < 100; i++)
            CHECK(bench_draw(&random, bound) < bound);
}

int main(void)
{
    test_quantiles();
    test_ranks();
    test_coverage();
    test_repeats();
    return TEST_END("bench_stats");
}
