/* Options of both commands. */
#include <stdlib.h>

#include "tools/tilevm/bench/bench.h"

bool bench_take_number(cli_args *args, const char *what, const char *value, double most, double *out)
{
    char *end = NULL;
    *out = strtod(value, &end);
    if (end != value && !*end && *out > 0 && *out <= most)
        return true;
    cli_usage(args, "%s: '%s' is not a number above 0 and up to %g", what, value, most);
    return false;
}

bool bench_take_percent(cli_args *args, const char *what, const char *value, double *out)
{
    bool good = bench_take_number(args, what, value, 100, out);
    *out /= 100;
    return good;
}

bool bench_take_option(cli_args *args, int id, const char *value, run_options *run, bench_options *bench)
{
    static const double most_seconds = 1e6;
    switch (id) {
    case BENCH_OPT_DEVICE: return run_take_device(args, value, run);
    case BENCH_OPT_COLD: bench->cold = true; return true;
    case BENCH_OPT_RESTORE: bench->restore = true; return true;
    case BENCH_OPT_PRECISION: return bench_take_percent(args, "--precision", value, &bench->precision);
    case BENCH_OPT_SECONDS: return bench_take_number(args, "--max-time", value, most_seconds, &bench->seconds);
    case BENCH_OPT_JSON: run->json = true; return true;
    default: return run_take_option(args, id, value, run);
    }
}
