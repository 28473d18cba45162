/* tilevm run: runs a kernel with arrays from files or generators, compares and saves the results. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/report/config.h"
#include "tools/tilevm/run/against.h"
#include "tools/tilevm/run/events.h"

enum {
    OPT_DEVICE = RUN_OPT_COUNT,
    OPT_AGAINST,
    OPT_PARAMS,
    OPT_SAVE,
    OPT_EXPECT,
    OPT_RTOL,
    OPT_ATOL,
    OPT_ORDER,
    OPT_BATCH,
    OPT_STATS,
    OPT_PROFILE,
    OPT_TRACE,
    OPT_TRACE_BLOCK,
    OPT_TRACE_MAX,
    OPT_EVENTS,
    OPT_EVENTS_MAX,
    OPT_DUMP,
    OPT_CHECK,
    OPT_CONFIG,
    OPT_SUPPRESSED,
    OPT_PRECISION,
    OPT_COVERAGE,
    OPT_JSON,
    OPT_QUIET
};

enum { TRACE_MAX = 1000, EVENTS_MAX = 1000000 };

static const cli_option options[] = {
#define OPTION(name, letter, text, value, help) {RUN_OPT_##name, letter, text, value, help},
#include "tools/tilevm/run/options.def"
    {OPT_DEVICE, 'd', "device", "auto|cpu|cuda",
     "where to run: cuda or cuda:N is the first or the N-th GPU, from 0\n"
     "(default auto: a GPU where there is one, unless an option is for the\n"
     "CPU only)"},
    {OPT_AGAINST, 0, "against", "cpu|FILE",
     "run on the GPU, then on the CPU or from another .tbc, .ptx or .cubin\n"
     "file, and show the first element that differs; against the CPU, also\n"
     "the op that made it differ"},
    {OPT_PARAMS, 'p', "params", NULL, "list the kernels with their parameters, and stop"},
    {OPT_SAVE, 's', "save", "NAME=FILE", "write an array to a .npy, .npz, .safetensors or .bin file"},
    {OPT_EXPECT, 'x', "expect", "NAME=VALUE",
     "compare an array with a file or a generator; exit code 1 if they differ"},
    {OPT_RTOL, 0, "rtol", "R", "allowed difference, relative to the expected value (default: by element type)"},
    {OPT_ATOL, 0, "atol", "A", "allowed difference, absolute"},
    {OPT_ORDER, 0, "order", "N", "run the tile blocks in an order drawn from this number (default: 0, in order)"},
    {OPT_BATCH, 0, "batch", "auto|off|always",
     "run neighbouring tile blocks of small tiles as one: where it is worth\n"
     "it (default), never, or wherever it is possible; results are the same"},
    {OPT_STATS, 0, "stats", NULL, "show how many ops, bytes and tiles the run took"},
    {OPT_PROFILE, 0, "profile", NULL, "also show the time that each kind of op took"},
    {OPT_TRACE, 0, "trace", "OPS", "show the results of these ops: mnemonics, indices or all, as in mmaf,12,20-29"},
    {OPT_TRACE_BLOCK, 0, "trace-block", "X[,Y[,Z]]", "only in these tile blocks: numbers, ranges such as 0-3, or *"},
    {OPT_TRACE_MAX, 0, "trace-max", "N", "show at most N values (default 1000; 0: all)"},
    {OPT_EVENTS, 0, "trace-events", "FILE",
     "write a Chrome trace, for Perfetto and other viewers: what each tile block\n"
     "does, and when, in the time of the virtual machine"},
    {OPT_EVENTS_MAX, 0, "trace-events-max", "N", "write at most N events (default 1000000; 0: all)"},
    {OPT_DUMP, 0, "dump-tile", "OP[@X,Y,Z]=FILE",
     "save a result of an op in one tile block (default: the first);\n"
     "OP is 12 or mmaf, 12#1 its second result, 12:0 that of its first\n"
     "iteration in a loop (default: the last)"},
    {OPT_CHECK, 0, "check", "LIST",
     "look for bounds,uninit,races,tokens,assume,values,order or all, as 'tilevm check' does"},
    {OPT_CONFIG, 0, "config", "FILE", "with --check: " CONFIG_HELP},
    {OPT_SUPPRESSED, 0, "suppressed", "FILE", "with --check: write how often each suppression was used: JSON"},
    {OPT_PRECISION, 0, "precision", NULL,
     "also run the kernel without rounding, and show how many digits the stored\n"
     "arrays have lost, in units in the last place (ulps), and where"},
    {OPT_COVERAGE, 0, "coverage", "FILE",
     "write how often each op ran: JSON, or the format of lcov if FILE ends in .info"},
    {OPT_JSON, 'J', "json", NULL, "print one JSON document"},
    {OPT_QUIET, 'q', "quiet", NULL, "do not list the arrays"},
    {0}};

static int run(cli_args *args);

const cli_command command_run = {
    "run",
    "FILE --grid X[,Y[,Z]] [NAME=VALUE...]",
    "run a kernel on a GPU or the CPU",
    "tilevm run verifies the file, runs one of its kernels, and prints a line for each array. If the host\n"
    "has a GPU, the kernel is compiled and runs there; --against cpu compares the results with those of\n"
    "the CPU.\n"
    "\n"
    "Arguments are given for the parameters of the kernel's function, in order or by name. Names are a,\n"
    "b, c... or 0, 1, 2... by position ('--params' lists them), or those of --names; 'b.1' is an item of\n"
    "a tuple. Constants take no argument. Without arguments, all are generated; 'auto' generates one.\n"
    "\n"
    "values:\n"
    "  5, -1.5, 1e3, nan, true     a number; f32:5 states its type\n"
    "  x.npy  x.npz:NAME  x.safetensors:NAME  bf16:x.npy (raw elements)  x.bin\n"
    "  file(PATH, member=, dtype=), bin(DTYPE, SHAPE, PATH)\n"
    "  zeros(DTYPE, SHAPE), ones, empty, full(DTYPE, SHAPE, VALUE), values(DTYPE, [1, 2, 3], SHAPE)\n"
    "  arange(DTYPE, SHAPE, start=0, step=1, mod=), uniform(DTYPE, SHAPE, low=0, high=1, seed=)\n"
    "  randn(DTYPE, SHAPE, seed=, mean=0, std=1), randint(DTYPE, SHAPE, low, high, seed=, den=1)\n"
    "  bits(DTYPE, SHAPE, seed=)\n"
    "                              a shape is 64 or [64,32]; strides=, offset= and order=F place the elements\n"
    "  @a, @a(DTYPE, SHAPE)        the memory of another argument\n"
    "  [x.npy, zeros(f32,8)]       a list of arrays, or the items of a tuple\n"
    "  auto                        a generated value;  null  a null pointer\n"
    "An expected value may add rtol=, atol= or mode=close|equal|bits|sorted to its parentheses.\n"
    "\n"
    "Before the run, every array is checked against the promises that the kernel's symbol makes about it;\n"
    "after the run, the memory around it is checked. Files are saved only if the run had no errors.",
    options,
    run};

/* ---- options ---- */

static bool get_tolerance(cli_args *args, const char *what, const char *value, bool *out_has, double *out)
{
    char *end = NULL;
    *out = strtod(value, &end);
    *out_has = true;
    if (end == value || *end || !(*out >= 0)) {
        cli_usage(args, "%s: '%s' is not a number from 0 on", what, value);
        return false;
    }
    return true;
}

static bool get_batch(cli_args *args, const char *value, run_options *o)
{
    static const char *const words[] = {[TV_BATCH_AUTO] = "auto", [TV_BATCH_OFF] = "off", [TV_BATCH_ALWAYS] = "always"};
    for (uint8_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i]) == 0) {
            o->vm.batch = i;
            return true;
        }
    cli_usage(args, "--batch: '%s' is not one of auto, off, always", value);
    return false;
}

/* One option; false: args->exit_code is set. */
static bool take_option(cli_args *args, int id, const char *value, run_options *o)
{
    switch (id) {
    case OPT_DEVICE: return run_take_device(args, value, o);
    case OPT_AGAINST: o->against = value; return true;
    case OPT_PARAMS: o->params = true; return true;
    case OPT_SAVE: return run_add_pair(args, "--save", value, o->saves, &o->save_count);
    case OPT_EXPECT: return run_add_pair(args, "--expect", value, o->expects, &o->expect_count);
    case OPT_RTOL: return get_tolerance(args, "--rtol", value, &o->has_rtol, &o->rtol);
    case OPT_ATOL: return get_tolerance(args, "--atol", value, &o->has_atol, &o->atol);
    case OPT_ORDER: return cli_number(args, "--order", value, 0, UINT64_MAX, &o->vm.order_seed);
    case OPT_BATCH: return get_batch(args, value, o);
    case OPT_STATS: o->stats = true; return true;
    case OPT_PROFILE: o->stats = o->profile = o->vm.profile = true; return true;
    case OPT_PRECISION: o->vm.precision = true; return true;
    case OPT_COVERAGE: o->coverage = value; return true;
    case OPT_TRACE: o->trace = value; return true;
    case OPT_TRACE_BLOCK: o->trace_block = value; return true;
    case OPT_TRACE_MAX: return cli_number(args, "--trace-max", value, 0, UINT64_MAX, &o->trace_max);
    case OPT_EVENTS: o->events = value; return true;
    case OPT_EVENTS_MAX: return cli_number(args, "--trace-events-max", value, 0, UINT64_MAX, &o->events_max);
    case OPT_DUMP: return run_add_pair(args, "--dump-tile", value, o->dumps, &o->dump_count);
    case OPT_CHECK: return run_take_checks(args, "--check", value, &o->vm.checks);
    case OPT_CONFIG: o->config = value; return true;
    case OPT_SUPPRESSED: o->suppressed = value; return true;
    case OPT_JSON: o->json = true; return true;
    case OPT_QUIET: o->quiet = true; return true;
    default: return run_take_option(args, id, value, o);
    }
}

/* Options that do not go together. */
static bool check_options(cli_args *args, run_options *o)
{
    const char *only = run_only_on_cpu(o);
    if (o->against && o->where == RUN_ON_CPU)
        cli_usage(args, "--against needs a GPU; use --device cuda");
    else if (only && (o->against || o->where == RUN_ON_CUDA))
        cli_usage(args, "%s works on the CPU only, not on %s", only, o->against ? "--against" : "--device cuda");
    else if (!o->vm.checks && (o->config || o->suppressed))
        cli_usage(args, "%s is for --check", o->config ? "--config" : "--suppressed");
    else if (o->events && (o->vm.checks || o->profile))
        cli_usage(args, "--trace-events does not go with %s, which changes what takes time",
                  o->profile ? "--profile" : "--check");
    else if (o->vm.checks && o->vm.precision)
        cli_usage(args, "--check and --precision run a kernel in two different ways; give one of them");
    else if (o->params && o->json)
        cli_usage(args, "--params prints text; 'tilevm inspect --json' prints the same and more");
    else
        return true;
    return false;
}

static bool parse_options(cli_args *args, run_options *o)
{
    const char *value;
    o->trace_max = TRACE_MAX;
    o->events_max = EVENTS_MAX;
    for (int id; (id = cli_next(args, &value)) != CLI_END;)
        if (id == CLI_STOP || !take_option(args, id, value, o))
            return false;
    if (!o->path) {
        cli_usage(args, "which file?");
        return false;
    }
    if (!check_options(args, o))
        return false;
    if (o->against)
        o->where = RUN_ON_CUDA;
    return true;
}

/* ---- running ---- */

/* Looks whether the kernel wrote outside its arrays: the machine checks addresses, but gaps inside an array's memory
   and memory shared by arrays are seen only here, and a GPU checks nothing. */
static bool check_guards(run_job *job, io_error *error)
{
    for (size_t i = 0; i < job->set.count; i++)
        for (size_t k = 0; k < job->set.values[i].array_count; k++) {
            int64_t offset;
            if (arg_array_guards(&job->set.values[i].arrays[k], &offset, error))
                continue;
            if (error->text[0])
                return false;
            job->outcome = RUN_OUTSIDE;
            snprintf(job->message, sizeof job->message,
                     "the kernel wrote outside the elements of argument '%.60s', %lld bytes from the first",
                     job->set.values[i].name, (long long)offset);
        }
    return true;
}

static bool compare_results(run_job *job, io_error *error)
{
    job->outcome = job->against && job->against->differs ? RUN_DIFFERENT : RUN_OK;
    for (size_t i = 0; i < job->expect_count; i++) {
        run_expect *e = &job->expects[i];
        io_error inner;
        if (!arg_compare(e->got, &e->want, &e->tolerance, &e->comparison, &inner))
            return io_fail(error, "expected '%s': %.400s", e->name, inner.text);
        e->compared = true;
        if (e->comparison.wrong)
            job->outcome = RUN_DIFFERENT;
    }
    return true;
}

/* Everything after the kernel: CLI_OK or CLI_FAILED, or CLI_ERROR with a message. */
static int finish(run_job *job)
{
    io_error error = {{0}};
    if (!check_guards(job, &error))
        return run_fail(job, &error);
    if (job->outcome == RUN_OUTSIDE) {
        if (!job->options.json)
            cli_error("%s", job->message);
        return CLI_FAILED;
    }
    if (!run_trace_finish(job, &error) || !compare_results(job, &error)
        || !arg_save_all(job->saves, job->save_count, &error))
        return run_fail(job, &error);
    if (!job->options.json && !run_report_text(job))
        return cli_error("out of memory");
    return job->outcome == RUN_OK ? CLI_OK : CLI_FAILED;
}

static int run_job_steps(run_job *job)
{
    io_error error = {{0}};
    int code = run_job_prepare(job);
    if (code != CLI_OK || job->options.params)
        return code;
    if (!run_trace_prepare(job, &error) || !arg_save_check(job->saves, job->save_count, &error))
        return run_fail(job, &error);
    code = run_events_begin(job);
    if (code != CLI_OK)
        return code;
    code = run_backend_kernel(job);
    int traced = job->ran && code != CLI_ERROR ? run_events_end(job) : CLI_OK;
    code = traced > code ? traced : code;
    if (job->options.coverage && job->ran) { /* also of a run that did not end well */
        int written = run_coverage_write(job);
        code = written > code ? written : code;
    }
    return code == CLI_OK ? finish(job) : code;
}

/* If there are suppressions, findings are kept; otherwise they are reported at once. */
static void open_sink(run_job *job, suppress_config *config)
{
    const run_options *o = &job->options;
    report_file_init(&job->report, cli_shown_path(o->path));
    job->report.suppressions = &config->list;
    job->sink = o->json ? report_file_sink(&job->report) : cli_printing_sink(&job->printer, o->path, job->args->color);
    if (o->json || !config->path)
        return;
    job->report.told = job->sink;
    job->sink = report_file_sink(&job->report);
}

/* Reports the use of the suppressions, after the kernel has run and all options are served; returns the exit code. */
static int report_suppressed(const run_job *job, const suppress_config *config, int code)
{
    const run_options *o = &job->options;
    if (!o->vm.checks || !job->ran || code == CLI_ERROR)
        return code;
    if (!o->json && job->report.lost)
        return cli_error("out of memory");
    if (!o->suppressed)
        suppress_config_tell_unused(config);
    else if (suppress_config_write_uses(config, o->suppressed) != CLI_OK)
        return CLI_ERROR;
    return code;
}

static int run_with(run_job *job, suppress_config *config)
{
    if (job->options.vm.checks && !suppress_config_read(config, job->options.config))
        return CLI_ERROR;
    open_sink(job, config);
    int code = report_suppressed(job, config, run_job_steps(job));
    if (code == CLI_ERROR)
        job->outcome = RUN_ERROR;
    if (job->options.json && code == CLI_ERROR)
        report_text_file(&job->report, UINT32_MAX, false, &(cli_out){.file = stderr});
    if (job->options.json && !run_report_json(job)) {
        code = cli_error("out of memory");
    }
    run_against_free(job->against);
    run_trace_release(job);
    run_events_release(job);
    run_job_release(job);
    return code;
}

static int run(cli_args *args)
{
    suppress_config config = {0};
    run_job *job = calloc(1, sizeof *job);
    if (!job)
        return cli_error("out of memory");
    job->args = args;
    int code = parse_options(args, &job->options) ? run_with(job, &config) : args->exit_code;
    suppress_config_release(&config);
    free(job);
    return code;
}
