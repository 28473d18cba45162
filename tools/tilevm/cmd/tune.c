/* tilevm tune: ranks variants of a kernel by prediction, and times the best where there is a GPU. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/bench/tune.h"

enum { OPT_SPACE = BENCH_OPT_COUNT, OPT_TARGET, OPT_TOP, OPT_JOBS, OPT_OUTPUT, OPT_ALL };

static const cli_option options[] = {
#define OPTION(name, letter, text, value, help) {RUN_OPT_##name, letter, text, value, help},
#include "tools/tilevm/run/options.def"
#define OPTION(name, letter, text, value, help) {BENCH_OPT_##name, letter, text, value, help},
#include "tools/tilevm/bench/options.def"
    {OPT_SPACE, 's', "space", "hints|FILE",
     "the variants: all usual hints (default), or those that a JSON file or text lists"},
    {OPT_TARGET, 't', "target", "NAME", "target to compile for (default: that of the GPU; sm_90a without one)"},
    {OPT_TOP, 0, "top", "N", "time the N best by prediction, and the first variant (default: a tenth, at least 8)"},
    {OPT_JOBS, 0, "jobs", "N", "variants that are compiled at the same time (default: one per processor)"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write the best variant as bytecode"},
    {OPT_ALL, 0, "all", NULL, "list all variants"},
    {0}};

static int run(cli_args *args);

const cli_command command_tune = {
    "tune",
    "FILE|module.py:KERNEL --grid X[,Y[,Z]] [NAME=VALUE...]",
    "find the best hints or the best variant of a kernel",
    "tilevm tune compiles variants of a kernel in parallel and ranks them by the time that the cost model\n"
    "predicts, without a GPU. If there is one, the best of them take turns on it, and the slower half is\n"
    "dropped repeatedly. Arguments are those of 'tilevm run'. FILE may also be module.py:kernel, a cuTile\n"
    "kernel: the space then lists values of its constants, and the Python package exports the variants\n"
    "with cuda-tile. docs/guides/bench.md describes the files of variants.",
    options,
    run};

typedef struct tune_job {
    run_job *run;
    tune_options options;
    const char *space, *output, *grid;
    tune_export export;
    cli_targets targets;
    bool all;
} tune_job;

/* ---- options ---- */

static bool take_option(cli_args *args, int id, const char *value, tune_job *t)
{
    uint64_t number = 0;
    switch (id) {
    case RUN_OPT_GRID: t->grid = value; return true; /* of a kernel in Python: expressions */
    case OPT_SPACE: t->space = value; return true;
    case OPT_TARGET: return cli_target_list(args, value, &t->targets);
    case OPT_TOP:
        if (!cli_number(args, "--top", value, 1, TUNE_MOST_VARIANTS, &number))
            return false;
        t->options.top = (size_t)number;
        return true;
    case OPT_JOBS:
        if (!cli_number(args, "--jobs", value, 1, 256, &number))
            return false;
        t->options.jobs = (unsigned)number;
        return true;
    case OPT_OUTPUT: t->output = value; return true;
    case OPT_ALL: t->all = true; return true;
    default: return bench_take_option(args, id, value, &t->run->options, &t->options.bench);
    }
}

static bool check_python(cli_args *args, const tune_job *t)
{
    if (!t->grid)
        cli_usage(args, "the number of tile blocks is missing; use --grid 'cdiv(A.shape[0],TM),...'");
    else if (strcmp(t->space, "hints") == 0)
        cli_usage(args, "which constants? Use --space '{\"TM\": [64, 128]}'");
    else
        return true;
    return false;
}

static bool parse_options(cli_args *args, tune_job *t)
{
    const char *value;
    for (int id; (id = cli_next(args, &value)) != CLI_END;)
        if (id == CLI_STOP || !take_option(args, id, value, t))
            return false;
    if (!t->run->options.path)
        cli_usage(args, "which file?");
    else if (tune_is_python(t->run->options.path))
        return check_python(args, t);
    else if (t->grid && !run_take_option(args, RUN_OPT_GRID, t->grid, &t->run->options))
        return false;
    else if (t->targets.count > 1)
        cli_usage(args, "one target at a time");
    else if (t->run->options.json && t->output && strcmp(t->output, "-") == 0)
        cli_usage(args, "--json and -o - both want standard output; name a file");
    else
        return true;
    return false;
}

/* ---- the work ---- */

/* The GPU's own target, unless another one is requested; then nothing can be timed. */
static void choose_target(tune_job *t, const bench_bed *bed)
{
    const char *of_device = bed->on_gpu ? tv_target_for(bed->limits.sm, true, 0) : NULL;
    t->options.target = t->targets.count ? t->targets.names[0] : of_device ? of_device : "sm_90a";
    t->options.sm = (unsigned)strtoul(t->options.target + strlen("sm_"), NULL, 10);
}

static bool read_space(tune_job *t, tune_space *out, io_error *error)
{
    bc_arena *arena = &t->run->arena;
    return strcmp(t->space, "hints") == 0 ? tune_space_of_hints(t->run, t->options.sm, arena, out, error)
                                          : tune_space_read(t->run, t->space, arena, out, error);
}

static bool time_best(tune_job *t, bench_bed *bed, tune_result *result, io_error *error)
{
    enum { LEAST = 8, PART = 10 };
    run_capture capture;
    bc_text printed;
    if (!bed->on_gpu || bed->limits.sm != t->options.sm || !result->ranked
        || result->space.variants[0].outcome != TUNE_RANKED)
        return true;
    if (!t->options.top)
        t->options.top = result->ranked / PART > LEAST ? result->ranked / PART : LEAST;
    bc_text_init(&printed, NULL);
    run_capture_begin(&capture, true);
    bool good = tune_time(bed, result, error);
    run_capture_end(&capture, &printed);
    bc_text_release(&printed);
    return good;
}

static int write_best(const tune_job *t, const tune_result *r)
{
    const tune_variant *best = r->best ? r->best : r->ranked ? &r->space.variants[r->order[0]] : NULL;
    io_error error = {{0}};
    bc_text bytes;
    cli_out out;
    if (!best)
        return cli_error("no variant can be compiled; nothing is written");
    bc_text_init(&bytes, NULL);
    bool good = tune_variant_bytes(t->run, best, t->options.sm, &bytes, &error);
    if (!good || !cli_out_open(&out, t->output)) {
        bc_text_release(&bytes);
        return good ? CLI_ERROR : cli_error("%s", error.text);
    }
    cli_out_write(&out, bytes.ptr, bytes.len);
    bc_text_release(&bytes);
    return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
}

static int tell(const tune_job *t, const tune_result *r)
{
    bc_text text;
    bc_text_init(&text, NULL);
    bool good = t->run->options.json ? tune_report_json(r, &text) : tune_report_text(r, t->all, &text);
    if (good)
        cli_show(t->output && strcmp(t->output, "-") == 0 ? stderr : stdout, bc_text_get(&text), false);
    bc_text_release(&text);
    if (!good)
        return cli_error("out of memory");
    int code = t->output ? write_best(t, r) : CLI_OK;
    return code != CLI_OK ? code : r->ranked ? CLI_OK : CLI_FAILED;
}

/* Exports the variants of a kernel in Python: from then on the first of them is the file. */
static bool export_variants(tune_job *t, io_error *error)
{
    run_options *o = &t->run->options;
    char arch[16];
    const char *target = t->targets.count ? t->targets.names[0] : "sm_90";
    snprintf(arch, sizeof arch, "sm_%u", (unsigned)strtoul(target + strlen("sm_"), NULL, 10));
    const tune_request request = {.kernel = o->path,
                                  .grid = t->grid,
                                  .space = t->space,
                                  .arch = arch,
                                  .args = o->given,
                                  .arg_count = o->given_count,
                                  .jobs = t->options.jobs};
    if (!tune_export_run(&request, &t->export, error))
        return false;
    o->path = t->export.first;
    o->given_count = 0;
    t->space = t->export.space;
    return true;
}

static int prepare(tune_job *t)
{
    run_job *job = t->run;
    io_error error = {{0}};
    t->options.name = job->options.path;
    if (tune_is_python(job->options.path) && !export_variants(t, &error))
        return cli_error("%s", error.text);
    report_file_init(&job->report, cli_shown_path(job->options.path));
    job->sink = cli_printing_sink(&job->printer, job->options.path, job->args->color);
    t->options.bench.seed = job->options.seed + 1;
    return run_job_prepare(job);
}

static int tune(tune_job *t, bench_bed *bed)
{
    io_error error = {{0}};
    tune_result result = {.ranked = 0};
    if (!bench_bed_open(bed, t->run, &t->options.bench, &error))
        return run_fail(t->run, &error);
    choose_target(t, bed);
    if (!read_space(t, &result.space, &error) || !tune_rank(t->run, &t->options, &result, &error)
        || !time_best(t, bed, &result, &error))
        return run_fail(t->run, &error);
    return tell(t, &result);
}

static int run(cli_args *args)
{
    tune_job t = {.run = calloc(1, sizeof *t.run),
                  .options = {.bench = {.precision = 0.01, .seconds = 10}},
                  .space = "hints"};
    bench_bed bed = {.job = NULL};
    if (!t.run)
        return cli_error("out of memory");
    t.run->args = args;
    int code = CLI_ERROR;
    if (parse_options(args, &t)) {
        code = prepare(&t);
        if (code == CLI_OK)
            code = tune(&t, &bed);
        bench_bed_close(&bed);
        run_job_release(t.run);
        tune_export_remove(&t.export);
    } else {
        code = args->exit_code;
    }
    free(t.run);
    return code;
}
