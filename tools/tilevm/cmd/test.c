/* tilevm test: all NAME.args.json of folders, with the kernels beside them. */
#include <stdlib.h>
#include <string.h>

#include "loader/driver.h"
#include "tools/tilevm/cli/collect.h"
#include "tools/tilevm/suite/suite.h"

enum { OPT_DEVICE = 1, OPT_JOBS, OPT_UPDATE, OPT_FORMAT, OPT_OUTPUT, OPT_QUIET };
enum { FORMAT_TEXT, FORMAT_JUNIT };
enum { DEVICE_ALL, DEVICE_CPU, DEVICE_CUDA };

#define FORMATS "text|junit"
#define DEVICES "all|cpu|cuda"

static const cli_option options[] = {
    {OPT_DEVICE, 'd', "device", DEVICES,
     "where to run: on the CPU and, if there is one, the GPU (all, the default), or on one of them"},
    {OPT_JOBS, 'j', "jobs", "N", "tests at a time (default: one for each processor)"},
    {OPT_UPDATE, 'u', "update", NULL,
     "rewrite the .npy files of expected results that do not hold, from a run on the\nCPU; read the difference"},
    {OPT_FORMAT, 'f', "format", FORMATS, "form of the report (default text)"},
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
    const char *output;
} test_request;

/* What is told as tests end. */
typedef struct test_told {
    const test_request *request;
    cli_out *out; /* of the text */
    size_t passed, failed, errors, updated;
} test_told;

/* What a test that does not pass says. */
static const char *words_of(const report_file *report)
{
    const char *words = report->outcome == REPORT_UNREADABLE ? report_problem(report) : report->output;
    return words ? words : "out of memory";
}

static void tell(void *user, const suite_case *one)
{
    test_told *told = user;
    bool text = told->request->format == FORMAT_TEXT;
    const report_file *report = &one->report;
    told->passed += report->outcome == REPORT_VALID;
    told->failed += report->outcome == REPORT_INVALID;
    told->errors += report->outcome == REPORT_UNREADABLE;
    told->updated += one->updated;
    if (!text)
        return;
    bc_text line;
    bc_text_init(&line, NULL);
    if (report->outcome != REPORT_VALID)
        bc_text_printf(&line, "%s  %s\n%s\n", report->outcome == REPORT_INVALID ? "FAIL" : "ERR ", report->path,
                       words_of(report));
    else if (one->updated || !told->request->suite.quiet)
        bc_text_printf(&line, "%s  %s\n", one->updated ? "new " : "ok  ", report->path);
    cli_out_text(told->out, &line, false);
    bc_text_release(&line);
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
            bc_text_release(&name);
            if (!wanted[d])
                continue;
            cases[count] = (suite_case){.args_path = paths->items[i], .device = devices[d]};
            report_file_init(&cases[count++].report, copy ? copy : "");
        }
    *out_count = count;
    return cases;
}

static bool write_report(const test_told *told, const suite_case *cases, size_t count)
{
    if (told->request->format == FORMAT_TEXT) {
        bc_text text;
        bc_text_init(&text, NULL);
        bc_text_printf(&text, "%zu test%s: %zu passed, %zu failed", count, count == 1 ? "" : "s", told->passed,
                       told->failed);
        if (told->errors)
            bc_text_printf(&text, ", %zu could not be run", told->errors);
        bc_text_printf(&text, told->updated ? ", %zu updated\n" : "\n", told->updated);
        bool fine = !text.failed;
        cli_out_text(told->out, &text, false);
        return fine;
    }
    report_file *files = calloc(count ? count : 1, sizeof *files);
    for (size_t i = 0; files && i < count; i++)
        files[i] = cases[i].report;
    bool fine = files && report_junit(files, count, "test", told->out);
    free(files);
    return fine;
}

static int run_cases(const test_request *request, suite_case *cases, size_t count)
{
    cli_out out;
    test_told told = {.request = request, .out = &out};
    if (!cli_out_open(&out, request->output))
        return CLI_ERROR;
    if (!suite_run(cases, count, &request->suite, tell, &told) || !write_report(&told, cases, count)) {
        cli_out_abort(&out);
        return cli_error("out of memory");
    }
    if (!cli_out_commit(&out))
        return CLI_ERROR;
    return told.errors ? CLI_ERROR : told.failed ? CLI_FAILED : CLI_OK;
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
    int code = cases && !names.failed ? run_cases(request, cases, count) : cli_error("out of memory");
    for (size_t i = 0; i < count; i++)
        report_file_release(&cases[i].report);
    free(cases);
    bc_arena_release(&names);
    return code;
}

/* ---- the command ---- */

static bool take_option(cli_args *args, int id, const char *value, test_request *request)
{
    uint64_t number = 0;
    switch (id) {
    case OPT_DEVICE: return cli_choice(args, "--device", value, DEVICES, &request->device);
    case OPT_JOBS:
        if (!cli_number(args, "--jobs", value, 1, 256, &number))
            return false;
        request->suite.jobs = (unsigned)number;
        return true;
    case OPT_UPDATE: request->suite.update = true; return true;
    case OPT_FORMAT: return cli_choice(args, "--format", value, FORMATS, &request->format);
    case OPT_OUTPUT: request->output = value; return true;
    case OPT_QUIET: request->suite.quiet = true; return true;
    default: return false; /* CLI_STOP */
    }
}

/* A file by name must be one of ours: its kernel is found by it. */
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
    if (request.suite.update && request.device == DEVICE_CUDA)
        return cli_usage(args, "--update runs on the CPU, whose results are the reference");
    if (paths->failed)
        return CLI_ERROR;
    return test_paths(&request, paths);
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
