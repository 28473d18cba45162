/* tilevm test: all NAME.args.json of folders, with the kernels beside them. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "loader/driver.h"
#include "tools/tilevm/cli/collect.h"
#include "tools/tilevm/run/run.h"
#include "tools/tilevm/suite/suite.h"

enum {
    OPT_DEVICE = 1,
    OPT_FILTER,
    OPT_LIST,
    OPT_JOBS,
    OPT_TIMEOUT,
    OPT_RETRIES,
    OPT_CHECK,
    OPT_CONFIG,
    OPT_COVERAGE,
    OPT_DURATIONS,
    OPT_UPDATE,
    OPT_FORMAT,
    OPT_JSON,
    OPT_OUTPUT,
    OPT_QUIET
};
enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_JUNIT };
enum { DEVICE_ALL, DEVICE_CPU, DEVICE_CUDA };

#define FORMATS "text|json|junit"
#define DEVICES "all|cpu|cuda"

static const cli_option options[] = {
    {OPT_DEVICE, 'd', "device", DEVICES,
     "where to run: on the CPU and, if there is one, the GPU (all, the default), or on one of them"},
    {OPT_FILTER, 'k', "filter", "LIST",
     "run only tests whose names contain one of these, separated by commas; * ? and [ ]\nmatch as in a shell"},
    {OPT_LIST, 'l', "list", NULL, "print the names of the tests and run nothing"},
    {OPT_JOBS, 'j', "jobs", "N", "tests that run at the same time (default: one for each processor)"},
    {OPT_TIMEOUT, 't', "timeout", "SECONDS",
     "end a test that runs longer than this and count it as failed (default: no limit)"},
    {OPT_RETRIES, 'r', "retries", "N",
     "run a failed test again, up to N times; a test that then passes is reported as flaky"},
    {OPT_CHECK, 'c', "check", "LIST",
     "on the CPU also look for bounds,uninit,races,tokens,assume,values,order or all,\nas 'tilevm check' does"},
    {OPT_CONFIG, 0, "config", "FILE", "with --check: " CONFIG_HELP},
    {OPT_COVERAGE, 0, "coverage", "FILE",
     "write which ops and source lines ran on the CPU: JSON, or the format of lcov if\nFILE ends in .info"},
    {OPT_DURATIONS, 0, "durations", "N", "also list the N tests that took longest (0: all)"},
    {OPT_UPDATE, 'u', "update", NULL,
     "rewrite the .npy files of expected results that differ, from a run on the CPU;\nreview the changes"},
    {OPT_FORMAT, 'f', "format", FORMATS, "form of the report (default text)"},
    {OPT_JSON, 'J', "json", NULL, "print the report as JSON, like --format json"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write the report to FILE"},
    {OPT_QUIET, 'q', "quiet", NULL, "do not list tests that pass, and show no progress"},
    {0}};

static int run(cli_args *args);

const cli_command command_test = {
    "test",
    "FILE" SUITE_ENDING "|DIR...",
    "run kernels and compare with expected results",
    "tilevm test runs every argument file (NAME" SUITE_ENDING
    ", as 'tilevm run --args' takes it) with the kernel beside it,\n"
    "NAME.tbc; NAME.WHAT" SUITE_ENDING " also runs NAME.tbc. A test passes if each of its 'expect' entries holds and\n"
    "nothing is written outside the arrays. Directories are searched. Each test runs in a process of its own.\n"
    "Exit codes: 0 all tests pass, 1 a test fails, 2 a test could not be run, wrong usage, or a folder that cannot\n"
    "be read or has no tests.",
    options,
    run};

typedef struct test_request {
    suite_options suite;
    unsigned format, device;
    const char *output, *filter, *config_path;
    suppress_config config;
    bool list, has_durations;
    uint64_t durations; /* tests to list; 0: all */
} test_request;

/* What is reported as tests end. */
typedef struct test_told {
    test_request *request;
    cli_out *out; /* of the text */
    size_t passed, failed, errors, updated, flaky;
    coverage covered;
    bool lost;           /* coverage that could not be read */
    bool uses_lost;      /* the same of suppressions */
    uint64_t suppressed; /* findings */
    bool unknown;        /* a test ended early and did not report which it used */
} test_told;

/* The output of a test that does not pass. */
static const char *words_of(const report_file *report)
{
    const char *words = report->outcome == REPORT_UNREADABLE ? report_problem(report) : report->output;
    return words ? words : "out of memory";
}

/* "ok    k.args.json", or what is wrong. */
static void put_line(const test_told *told, const suite_case *one)
{
    const report_file *report = &one->report;
    bool flaky = report->outcome == REPORT_VALID && one->attempts > 1;
    bc_text line;
    bc_text_init(&line, NULL);
    if (report->outcome != REPORT_VALID)
        bc_text_printf(&line, "%s  %s\n%s\n", report->outcome == REPORT_INVALID ? "FAIL" : "ERR ", report->path,
                       words_of(report));
    else if (one->updated || flaky || !told->request->suite.quiet)
        bc_text_printf(&line, "%s  %s%s\n", one->updated ? "new " : "ok  ", report->path,
                       flaky && !one->updated ? " (flaky: it did not pass at first)" : "");
    cli_out_text(told->out, &line, false);
    bc_text_release(&line);
}

/* Which suppressions a test used. */
static void take_uses(test_told *told, suite_case *one)
{
    bool counts = told->request->suite.config && strcmp(one->device, "cpu") == 0;
    suppress_config *config = &told->request->config;
    told->unknown |= counts && !one->used.size;
    if (one->used.size && !suppress_config_add_uses(config, one->used.bytes, one->used.size, &one->suppressed))
        one->lost = true;
    told->uses_lost |= one->lost;
    told->suppressed += one->suppressed;
}

static void tell(void *user, suite_case *one)
{
    test_told *told = user;
    const report_file *report = &one->report;
    told->passed += report->outcome == REPORT_VALID;
    told->failed += report->outcome == REPORT_INVALID;
    told->errors += report->outcome == REPORT_UNREADABLE;
    told->updated += one->updated;
    told->flaky += report->outcome == REPORT_VALID && one->attempts > 1 && !one->updated;
    if (one->covered.size && !coverage_add(&told->covered, one->covered.bytes, one->covered.size))
        told->lost = true;
    take_uses(told, one);
    if (told->request->format == FORMAT_TEXT)
        put_line(told, one);
}

/* Is there a GPU? */
static bool has_gpu(void)
{
    const ld_driver *driver;
    int count = 0;
    return ld_driver_open(&driver) == LD_CUDA_SUCCESS && driver->cuInit(0) == LD_CUDA_SUCCESS
           && driver->cuDeviceGetCount(&count) == LD_CUDA_SUCCESS && count > 0;
}

/* The cases: each file on each device. NULL: out of memory. */
static suite_case *make_cases(const cli_paths *paths, const suite_options *suite, bc_arena *names, size_t *out_count)
{
    static const char *const devices[] = {"cpu", "cuda"};
    const bool wanted[] = {suite->cpu, suite->cuda};
    size_t count = 0;
    suite_case *cases = calloc(paths->count * TV_COUNT(devices), sizeof *cases);
    for (size_t i = 0; cases && i < paths->count; i++)
        for (size_t d = 0; d < TV_COUNT(devices); d++) {
            bc_text name;
            bc_text_init(&name, NULL);
            bc_text_printf(&name, d ? "%s on %s" : "%s", paths->items[i], devices[d]);
            const char *copy = bc_arena_dup(names, bc_text_get(&name)).ptr;
            names->failed |= name.failed;
            bc_text_release(&name);
            if (!wanted[d])
                continue;
            cases[count] = (suite_case){.args_path = paths->items[i], .device = devices[d]};
            report_file_init(&cases[count++].report, copy ? copy : "");
        }
    *out_count = count;
    return cases;
}

static int by_duration(const void *a, const void *b)
{
    const suite_case *x = *(const suite_case *const *)a, *y = *(const suite_case *const *)b;
    return (y->seconds > x->seconds) - (y->seconds < x->seconds);
}

/* The tests that took longest. False: out of memory. */
static bool put_durations(const test_request *request, const suite_case *cases, size_t count, bc_text *out)
{
    const suite_case **sorted = calloc(count + 1, sizeof *sorted);
    size_t shown = request->durations && request->durations < count ? (size_t)request->durations : count;
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = &cases[i];
    if (sorted)
        qsort(sorted, count, sizeof *sorted, by_duration);
    for (size_t i = 0; sorted && i < shown; i++)
        bc_text_printf(out, "%8.2f s  %s\n", sorted[i]->seconds, sorted[i]->report.path);
    free(sorted);
    return sorted != NULL;
}

static bool write_text(const test_told *told, const suite_case *cases, size_t count)
{
    const test_request *request = told->request;
    bc_text text;
    bc_text_init(&text, NULL);
    bool fine = !request->has_durations || put_durations(request, cases, count, &text);
    if (request->suite.coverage)
        coverage_text(&told->covered, &text);
    bc_text_printf(&text, "%zu test%s: %zu passed, %zu failed", count, count == 1 ? "" : "s", told->passed,
                   told->failed);
    if (told->errors)
        bc_text_printf(&text, ", %zu could not be run", told->errors);
    if (told->flaky)
        bc_text_printf(&text, ", %zu flaky", told->flaky);
    if (told->suppressed)
        bc_text_printf(&text, ", %llu finding%s suppressed", (unsigned long long)told->suppressed,
                       told->suppressed == 1 ? "" : "s");
    bc_text_printf(&text, told->updated ? ", %zu updated\n" : "\n", told->updated);
    fine = fine && !text.failed;
    cli_out_text(told->out, &text, false);
    return fine;
}

static bool write_report(const test_told *told, const suite_case *cases, size_t count)
{
    if (told->request->format == FORMAT_TEXT)
        return write_text(told, cases, count);
    if (told->request->format == FORMAT_JSON)
        return suite_json(cases, count, &told->request->config, told->request->suite.coverage ? &told->covered : NULL,
                          told->out);
    report_file *files = calloc(count ? count : 1, sizeof *files);
    for (size_t i = 0; files && i < count; i++)
        files[i] = cases[i].report;
    bool fine = files && report_junit(files, count, "test", told->out);
    free(files);
    return fine;
}

/* The exit code, after everything has been written. */
static int finish(test_told *told, const suite_case *cases, size_t count)
{
    const char *covered = told->request->suite.coverage;
    if (!write_report(told, cases, count)) {
        cli_out_abort(told->out);
        return cli_error("out of memory");
    }
    if (!cli_out_commit(told->out))
        return CLI_ERROR;
    if (covered && told->lost)
        return cli_error("%s", told->covered.arena.failed ? "out of memory"
                                                          : "--coverage: a kernel has changed while its tests ran");
    if (covered && coverage_write(&told->covered, covered) != CLI_OK)
        return CLI_ERROR;
    if (told->uses_lost)
        return cli_error("out of memory");
    if (!told->unknown && !told->request->filter)
        suppress_config_tell_unused(&told->request->config);
    return told->errors ? CLI_ERROR : told->failed ? CLI_FAILED : CLI_OK;
}

static int run_cases(test_request *request, suite_case *cases, size_t count)
{
    cli_out out;
    test_told told = {.request = request, .out = &out};
    if (!cli_out_open(&out, request->output))
        return CLI_ERROR;
    coverage_init(&told.covered);
    int code = CLI_ERROR;
    if (suite_run(cases, count, &request->suite, tell, &told)) {
        code = finish(&told, cases, count);
    } else {
        cli_out_abort(&out);
        cli_error("out of memory");
    }
    coverage_release(&told.covered);
    return code;
}

/* ---- which tests ---- */

/* Does the name contain one of the parts of the list, or match it as a pattern? */
static bool is_wanted(const char *name, const char *filter)
{
    bool wanted = !filter;
    for (const char *p = filter; p && *p && !wanted;) {
        size_t len = strcspn(p, ",");
        char pattern[512];
        bool fits = len && len < sizeof pattern - 3;
        snprintf(pattern, sizeof pattern, "*%.*s*", fits ? (int)len : 0, p);
        wanted = fits && fnmatch(pattern, name, 0) == 0;
        p += len + (p[len] == ',');
    }
    return wanted;
}

/* Keeps the cases that the filter wants. */
static size_t filter_cases(suite_case *cases, size_t count, const char *filter)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (is_wanted(cases[i].report.path, filter))
            cases[kept++] = cases[i];
        else
            suite_case_release(&cases[i]);
    return kept;
}

static int list_cases(const test_request *request, const suite_case *cases, size_t count)
{
    cli_out out;
    bc_text text;
    if (!cli_out_open(&out, request->output))
        return CLI_ERROR;
    bc_text_init(&text, NULL);
    for (size_t i = 0; i < count; i++)
        bc_text_printf(&text, "%s\n", cases[i].report.path);
    cli_out_text(&out, &text, false);
    return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
}

static void ignore(void *user, int severity, const char *text)
{
    (void)user;
    (void)severity;
    (void)text;
}

static int test_paths(test_request *request, const cli_paths *paths)
{
    bc_arena names;
    size_t count = 0;
    request->suite.cpu = request->device != DEVICE_CUDA;
    tvSetMessageHandler(ignore, NULL);
    request->suite.cuda = request->device == DEVICE_CUDA || (request->device == DEVICE_ALL && has_gpu());
    tvSetMessageHandler(NULL, NULL);
    bc_arena_init(&names, NULL, 0);
    suite_case *cases = make_cases(paths, &request->suite, &names, &count);
    size_t all = count;
    int code = CLI_ERROR;
    if (!cases || names.failed)
        cli_error("out of memory");
    else if ((count = filter_cases(cases, count, request->filter)) == 0 && all)
        cli_error("--filter %s: there is no such test among the %zu", request->filter, all);
    else
        code = request->list ? list_cases(request, cases, count) : run_cases(request, cases, count);
    for (size_t i = 0; cases && i < count; i++)
        suite_case_release(&cases[i]);
    free(cases);
    bc_arena_release(&names);
    return code;
}

/* ---- the command ---- */

static bool take_seconds(cli_args *args, const char *value, double *out)
{
    char *end = NULL;
    *out = strtod(value, &end);
    if (end != value && !*end && *out > 0 && *out <= 1e6)
        return true;
    cli_usage(args, "--timeout: '%s' is not a number of seconds", value);
    return false;
}

static bool take_option(cli_args *args, int id, const char *value, test_request *request)
{
    uint64_t number = 0;
    uint32_t checks;
    switch (id) {
    case OPT_DEVICE: return cli_choice(args, "--device", value, DEVICES, &request->device);
    case OPT_JOBS:
        if (!cli_number(args, "--jobs", value, 1, 256, &number))
            return false;
        request->suite.jobs = (unsigned)number;
        return true;
    case OPT_FILTER: request->filter = value; return true;
    case OPT_LIST: request->list = true; return true;
    case OPT_TIMEOUT: return take_seconds(args, value, &request->suite.timeout);
    case OPT_RETRIES:
        if (!cli_number(args, "--retries", value, 0, 100, &number))
            return false;
        request->suite.retries = (unsigned)number;
        return true;
    case OPT_CHECK: request->suite.checks = value; return run_take_checks(args, "--check", value, &checks);
    case OPT_CONFIG: request->config_path = value; return true;
    case OPT_COVERAGE: request->suite.coverage = value; return true;
    case OPT_DURATIONS:
        request->has_durations = true;
        return cli_number(args, "--durations", value, 0, UINT32_MAX, &request->durations);
    case OPT_JSON: request->format = FORMAT_JSON; return true;
    case OPT_UPDATE: request->suite.update = true; return true;
    case OPT_FORMAT: return cli_choice(args, "--format", value, FORMATS, &request->format);
    case OPT_OUTPUT: request->output = value; return true;
    case OPT_QUIET: request->suite.quiet = true; return true;
    default: return false; /* CLI_STOP */
    }
}

/* A file given by name must be named NAME.args.json, because its kernel is found by that name. */
static bool add_operand(cli_args *args, cli_paths *paths, const char *value)
{
    size_t before = paths->count, len = strlen(value), n = sizeof SUITE_ENDING - 1;
    cli_paths_add(paths, value);
    if (paths->count != before + 1 || strcmp(paths->items[before], value) != 0
        || (len > n && strcmp(value + len - n, SUITE_ENDING) == 0))
        return true;
    cli_usage(args, "%s is neither a directory nor called NAME" SUITE_ENDING, value);
    return false;
}

/* Options that do not go together. */
static bool check_options(cli_args *args, const test_request *request)
{
    const suite_options *suite = &request->suite;
    if (suite->update && request->device == DEVICE_CUDA)
        cli_usage(args, "--update runs on the CPU, whose results are the reference");
    else if (request->device == DEVICE_CUDA && (suite->checks || suite->coverage))
        cli_usage(args, "%s is for the CPU only", suite->checks ? "--check" : "--coverage");
    else if (request->config_path && !suite->checks)
        cli_usage(args, "--config is for --check");
    else
        return true;
    return false;
}

/* With the suppressions, if findings are looked for. */
static int test_with(test_request *request, const cli_paths *paths)
{
    int code = CLI_ERROR;
    if (!request->suite.checks || suppress_config_read(&request->config, request->config_path)) {
        request->suite.config = request->config.path;
        code = test_paths(request, paths);
    }
    suppress_config_release(&request->config);
    return code;
}

static int read_and_test(cli_args *args, cli_paths *paths)
{
    test_request request = {0};
    const char *value;
    bool given = false;
    for (int id; (id = cli_next(args, &value)) != CLI_END;) {
        given |= id == CLI_OPERAND;
        if (id == CLI_OPERAND ? !add_operand(args, paths, value) : !take_option(args, id, value, &request))
            return args->exit_code;
    }
    if (!given)
        return cli_usage(args, "no tests were given; give argument files or directories");
    if (!check_options(args, &request))
        return args->exit_code;
    return paths->failed ? CLI_ERROR : test_with(&request, paths);
}

static int run(cli_args *args)
{
    cli_paths paths;
    cli_paths_init(&paths);
    paths.ending = SUITE_ENDING;
    int code = read_and_test(args, &paths);
    cli_paths_release(&paths);
    return code;
}
