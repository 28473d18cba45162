/* tilevm check: runs a kernel and looks for defects that no GPU reports. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/module.h"
#include "tools/tilevm/page/page.h"
#include "tools/tilevm/report/config.h"
#include "tools/tilevm/run/watch.h"

enum {
    OPT_CHECK = RUN_OPT_COUNT,
    OPT_ORDERS,
    OPT_MAX_ERRORS,
    OPT_CONFIG,
    OPT_FORMAT,
    OPT_JSON,
    OPT_OUTPUT,
    OPT_REPORT,
    OPT_QUIET
};
enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_SARIF, FORMAT_JUNIT };
enum { DEFAULT_MAX_ERRORS = 20, DEFAULT_STEPS = 200000000, DEFAULT_LEVEL = 3 };

#define FORMATS "text|json|sarif|junit"

static const cli_option options[] = {
#define OPTION(name, letter, text, value, help) {RUN_OPT_##name, letter, text, value, help},
#include "tools/tilevm/run/options.def"
    {OPT_CHECK, 'c', "check", "LIST",
     "look for these only: bounds,uninit,races,tokens,assume,values,order (default: all)"},
    {OPT_ORDERS, 0, "orders", "N", "other orders of the tile blocks to try (default 3)"},
    {OPT_MAX_ERRORS, 'm', "max-errors", "N", "stop after N findings (default 20)"},
    {OPT_CONFIG, 0, "config", "FILE", CONFIG_HELP},
    {OPT_FORMAT, 'f', "format", FORMATS, "form of the report (default text)"},
    {OPT_JSON, 'J', "json", NULL, "the same as --format json"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write the report to FILE"},
    {OPT_REPORT, 'r', "report", "FILE",
     "also write a page, as 'tilevm report --run' does: each race with its two\naccesses, and the shortest schedule "
     "that "
     "shows it"},
    {OPT_QUIET, 'q', "quiet", NULL, "print no report, only set the exit code"},
    {0}};

static int run(cli_args *args);

const cli_command command_check = {
    "check",
    "FILE --grid X[,Y[,Z]] [NAME=VALUE...]",
    "run a kernel and look for races and other defects",
    "tilevm check runs a kernel on the CPU, with arguments as 'tilevm run' takes them, and looks for\n"
    "\n"
    "  bounds   accesses outside the arrays or between their elements, indices outside a view\n"
    "  uninit   reads of memory that nothing has written: arrays made by empty(DTYPE, SHAPE), alloca;\n"
    "           results that depend on undefined elements of a load\n"
    "  races    conflicting accesses of two tile blocks, or of one op, that nothing orders\n"
    "  tokens   conflicting accesses of one tile block that no token orders\n"
    "  assume   assume facts that are false\n"
    "  values   division by zero, overflow against a promise, conversions and shifts out of range\n"
    "  order    results that depend on the order of the tile blocks\n"
    "\n"
    "and for deadlocks among tile blocks. Each finding is reported once per pair of ops, with both\n"
    "places. Tile blocks take turns on one thread, in the same way every time. A run stops after 200\n"
    "million ops unless --max-steps says otherwise. Nothing is saved.\n"
    "Generated arguments may not suit the kernel; a finding that they may have caused is reported as a\n"
    "note.\n"
    "Exit codes: 0 nothing was found, 1 something was found, 2 wrong usage, a file that cannot be read,\n"
    "or generated arguments that stopped the kernel, 130 stopped by ^C.",
    options,
    run};

typedef struct check_settings {
    unsigned format;
    const char *output, *page;
    const char *config_path; /* NULL: tilevm.toml, if it exists */
    suppress_config config;
    page_watch watch; /* with a page */
    bool quiet;
} check_settings;

/* ---- options ---- */

static bool take_option(cli_args *args, int id, const char *value, run_options *o, check_settings *settings)
{
    uint64_t number = 0;
    switch (id) {
    case OPT_CHECK: return run_take_checks(args, "--check", value, &o->vm.checks);
    case OPT_ORDERS:
        if (!cli_number(args, "--orders", value, 1, 1000, &number))
            return false;
        o->vm.check_orders = (unsigned)number;
        return true;
    case OPT_MAX_ERRORS:
        if (!cli_number(args, "--max-errors", value, 1, 1000000, &number))
            return false;
        o->vm.max_findings = (unsigned)number;
        return true;
    case OPT_CONFIG: settings->config_path = value; return true;
    case OPT_FORMAT: return cli_choice(args, "--format", value, FORMATS, &settings->format);
    case OPT_JSON: settings->format = FORMAT_JSON; return true;
    case OPT_OUTPUT: settings->output = value; return true;
    case OPT_REPORT: settings->page = value; return true;
    case OPT_QUIET: settings->quiet = true; return true;
    default: return run_take_option(args, id, value, o);
    }
}

static bool parse_options(cli_args *args, run_options *o, check_settings *settings)
{
    const char *value;
    for (int id; (id = cli_next(args, &value)) != CLI_END;)
        if (id == CLI_STOP || !take_option(args, id, value, o, settings))
            return false;
    if (o->path)
        return true;
    cli_usage(args, "which file?");
    return false;
}

/* ---- running ---- */

/* Unless the result is CLI_ERROR, job->report has the findings. */
static int check_kernel(run_job *job, const check_settings *settings)
{
    tv_vm_options vm = job->options.vm;
    run_watch watch;
    int code = run_job_prepare(job);
    if (code != CLI_OK)
        return code;
    if (settings->format == FORMAT_TEXT && !settings->quiet)
        vm.output = run_watch_output(&watch);
    run_watch_start(&watch, job, &job->vm, false, &vm);
    tv_status status = run_job_kernel(job, &vm);
    return run_watch_end(&watch, cli_exit_of(status, job->options.path));
}

/* ---- reporting ---- */

/* False: out of memory. */
static bool write_text(run_job *job, const check_settings *settings, cli_out *out)
{
    report_file *file = &job->report;
    cli_out errors = {.file = stderr};
    cli_when when = job->args->color;
    bool to_file = settings->output != NULL;
    report_text_file(file, job->options.vm.max_findings, !to_file && cli_use_color(when, stderr),
                     to_file ? out : &errors);
    bc_text text;
    bc_text_init(&text, NULL);
    if (file->errors || file->warnings)
        bc_text_printf(&text, "%u error%s, %u warning%s", file->errors, file->errors == 1 ? "" : "s", file->warnings,
                       file->warnings == 1 ? "" : "s");
    else
        bc_text_puts(&text, job->broke_off ? "the kernel was stopped" : "nothing found");
    bc_text_printf(&text, " in %llu tile block%s, %llu ops", (unsigned long long)job->stats.blocks,
                   job->stats.blocks == 1 ? "" : "s", (unsigned long long)job->stats.ops);
    if (file->suppressed)
        bc_text_printf(&text, "; %u suppressed", file->suppressed);
    if (job->excused)
        bc_text_printf(&text, "; %u note%s about made-up arguments", job->excused, job->excused == 1 ? "" : "s");
    bc_text_char(&text, '\n');
    if (job->ran)
        cli_out_text(out, &text, false);
    bc_text_release(&text);
    return !errors.failed;
}

static bool write_report(run_job *job, const check_settings *settings, cli_out *out)
{
    const report_file *file = &job->report;
    if (file->lost)
        return false;
    switch (settings->format) {
    case FORMAT_JSON: return report_json(file, 1, "check", out);
    case FORMAT_SARIF: return report_sarif(file, 1, out);
    case FORMAT_JUNIT: return report_junit(file, 1, "check", out);
    default: return write_text(job, settings, out);
    }
}

static int report(run_job *job, const check_settings *settings, int code)
{
    cli_out out;
    if (!cli_out_open(&out, settings->output))
        return CLI_ERROR;
    if (!write_report(job, settings, &out)) {
        cli_out_abort(&out);
        return cli_error("out of memory");
    }
    return cli_out_commit(&out) ? code : CLI_ERROR;
}

/* The page shows the run alone where the kernel cannot be compiled. */
static int write_page(run_job *job, const check_settings *settings, int code)
{
    json_doc doc = {0};
    page_options how = {.args = job->args,
                        .entry = job->symbol,
                        .opt_level = DEFAULT_LEVEL,
                        .launch = page_launch(job),
                        .quiet = true,
                        .input = &job->file};
    cJSON *root = json_document(&doc, "report");
    json_text(&doc, root, "version", tv_version());
    int compiled = page_add_side(&doc, root, &how, job->options.path);
    cJSON *item = page_add_run(&doc, root, job, &settings->watch);
    if (compiled != CLI_OK)
        page_add_code(&doc, item, job->module, bc_entry_at(job->module, job->entry));
    int written = page_write_file(&doc, settings->page, job->options.path);
    json_drop(&doc);
    return written == CLI_OK ? code : written;
}

/* Writes the requested reports of a check with that exit code. */
static int write_reports(run_job *job, check_settings *settings, int code)
{
    if (!settings->quiet && (code != CLI_ERROR || settings->format != FORMAT_TEXT))
        code = report(job, settings, code);
    return settings->page && job->ran && code != CLI_ERROR ? write_page(job, settings, code) : code;
}

static void read_outcome(run_job *job, int code)
{
    job->report.size = job->file.size;
    job->report.minor = job->module ? tv_module_minor(job->module) : 0;
    job->report.outcome = code == CLI_OK ? REPORT_VALID : code == CLI_ERROR ? REPORT_UNREADABLE : REPORT_INVALID;
    if (code == CLI_ERROR) { /* the message of what failed, if it is a diagnostic */
        job->report.problem = job->message[0] ? strdup(job->message) : NULL;
        report_text_file(&job->report, UINT32_MAX, false, &(cli_out){.file = stderr});
    }
}

/* What was allocated is released by the caller. */
static int run_with(run_job *job, check_settings *settings)
{
    if (!parse_options(job->args, &job->options, settings))
        return job->args->exit_code;
    if (!suppress_config_read(&settings->config, settings->config_path))
        return CLI_ERROR;
    report_file_init(&job->report, cli_shown_path(job->options.path));
    job->report.suppressions = &settings->config.list;
    job->sink = report_file_sink(&job->report);
    if (settings->page)
        job->observer = &settings->watch.observer;
    int code = check_kernel(job, settings);
    read_outcome(job, code);
    code = write_reports(job, settings, code);
    if (job->broke_off && code == CLI_FAILED)
        code = CLI_ERROR;
    if (code != CLI_ERROR && !settings->quiet)
        suppress_config_tell_unused(&settings->config);
    run_job_release(job);
    return code;
}

static int run(cli_args *args)
{
    check_settings settings = {0};
    run_job *job = calloc(1, sizeof *job);
    if (!job)
        return cli_error("out of memory");
    job->args = args;
    job->options.vm =
        (tv_vm_options){.checks = TV_CHECK_ALL, .max_findings = DEFAULT_MAX_ERRORS, .step_limit = DEFAULT_STEPS};
    page_watch_init(&settings.watch);
    int code = run_with(job, &settings);
    page_watch_release(&settings.watch);
    suppress_config_release(&settings.config);
    free(job);
    return code;
}
