/* tilevm report: writes a page that shows what the compiler made of a kernel, and what a run of it did. */
#include <stdlib.h>

#include "tools/tilevm/page/page.h"
#include "tools/tilevm/run/watch.h"

enum { OPT_TARGET = RUN_OPT_COUNT, OPT_OUTPUT, OPT_LEVEL, OPT_SOURCE, OPT_DIFF, OPT_RUN, OPT_JSON };

static const cli_option options[] = {
    {OPT_TARGET, 't', "target", "sm_XX", "GPU to compile for (default sm_80, or that of a program's image)"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write to FILE, or - (default: FILE's name ending in .html, in this folder)"},
    {OPT_LEVEL, 'O', "opt-level", "N", "0 to 3 (default 3), as 'tilevm compile' has it"},
    {OPT_SOURCE, 'S', "source", "DIR",
     "look for source files in DIR, too, by the last part of their names; may be\nrepeated (default: only beside "
     "FILE)"},
    {OPT_DIFF, 0, "diff", "OTHER", "show OTHER, an earlier version of the kernel, beside FILE"},
    {OPT_RUN, 'r', "run", NULL,
     "also run the kernel on the CPU, with arguments as 'tilevm run' takes them,\nonce as it is and once with the "
     "checks of "
     "'tilevm check'"},
    {OPT_JSON, 'J', "json", NULL, "print the document that the page shows, as JSON"},
#define OPTION(name, letter, text, value, help) {RUN_OPT_##name, letter, text, value, help},
#include "tools/tilevm/run/options.def"
    {0}};

static int run(cli_args *args);

const cli_command command_report = {
    "report",
    "FILE [--run --grid X[,Y[,Z]] [NAME=VALUE...]]",
    "show what the compiler made of a kernel, as a page",
    "tilevm report compiles the kernels of a file and writes one HTML page that needs nothing else: source\n"
    "lines, ops and PTX, linked; the layout of every tile; shared memory over time; the registers that tiles\n"
    "take; the pipeline of each loop; what was vectorised, pipelined and converted, or why not; the plans\n"
    "that were weighed; a roofline. With --run it also has counts, arrays and tiles as heat maps, the order\n"
    "of memory accesses, and races, each with the shortest schedule that shows it. With --diff it compares\n"
    "two versions of a kernel.",
    options,
    run};

typedef struct report_job {
    cli_args *args;
    run_options run;
    cli_targets targets;
    const char *output, *other;
    const char *folders[PAGE_MOST_FOLDERS];
    page_options page;
    bool runs, json;
    json_doc doc;
    page_tiles tiles; /* the run, with its job */
    page_watch watch;
} report_job;

/* ---- options ---- */

static bool take_folder(report_job *job, const char *value)
{
    if (job->page.folder_count == PAGE_MOST_FOLDERS) {
        cli_usage(job->args, "--source: at most %d folders", PAGE_MOST_FOLDERS);
        return false;
    }
    job->folders[job->page.folder_count++] = value;
    return true;
}

static bool take_option(report_job *job, int id, const char *value)
{
    uint64_t number;
    switch (id) {
    case OPT_TARGET: return cli_target_list(job->args, value, &job->targets);
    case OPT_OUTPUT: job->output = value; return true;
    case OPT_SOURCE: return take_folder(job, value);
    case OPT_DIFF: job->other = value; return true;
    case OPT_RUN: job->runs = true; return true;
    case OPT_JSON: job->json = true; return true;
    case OPT_LEVEL:
        if (!cli_number(job->args, "--opt-level", value, 0, 3, &number))
            return false;
        job->page.opt_level = (unsigned)number;
        return true;
    default: return run_take_option(job->args, id, value, &job->run);
    }
}

static bool parse_options(report_job *job)
{
    const char *value;
    for (int id; (id = cli_next(job->args, &value)) != CLI_END;)
        if (id == CLI_STOP || !take_option(job, id, value))
            return false;
    if (!job->run.path)
        cli_usage(job->args, "which file?");
    else if (job->targets.count > 1)
        cli_usage(job->args, "--target: a report is for one GPU");
    else if (job->json && job->output)
        cli_usage(job->args, "--json prints the document; leave --output out");
    else if (!job->runs && (job->run.has_grid || job->run.given_count))
        cli_usage(job->args, "grid and arguments are for --run");
    else
        return true;
    return false;
}

/* ---- the run ---- */

static int run_once(run_job *job, tv_vm_options *vm)
{
    run_watch watch;
    bc_text_init(&job->output, NULL);
    run_watch_start(&watch, job, &job->vm, job->options.json, vm);
    tv_status status = run_job_kernel(job, vm);
    return run_watch_end(&watch, cli_exit_of(status, job->options.path));
}

/* Errors of the kernel are not failures of the report. */
static int add_run(report_job *report, cJSON *root)
{
    run_job *job = &report->tiles.job;
    int code = page_run_twice(&report->tiles, &report->watch, run_once);
    if (code == CLI_ERROR || code == CLI_INTERRUPTED)
        return code;
    cJSON *item = page_add_run(&report->doc, root, job, &report->watch);
    page_tiles_add(&report->doc, item, &report->tiles);
    return CLI_OK;
}

static int prepare_run(report_job *report)
{
    run_job *job = &report->tiles.job;
    job->args = report->args;
    job->options = report->run;
    job->options.quiet = true;
    report_file_init(&job->report, cli_shown_path(report->run.path));
    job->sink = report_file_sink(&job->report);
    int code = run_job_prepare(job);
    report->page.input = &job->file;
    if (code == CLI_OK && !(report->page.launch = page_launch(job)))
        code = cli_error("out of memory");
    if (code == CLI_FAILED)
        report_text_file(&job->report, UINT32_MAX, false, &(cli_out){.file = stderr});
    return code;
}

/* ---- the report ---- */

static int make_document(report_job *job)
{
    cJSON *root = json_document(&job->doc, "report");
    json_text(&job->doc, root, "version", tv_version());
    int code = job->runs ? prepare_run(job) : CLI_OK;
    if (code == CLI_OK)
        code = page_add_side(&job->doc, root, &job->page, job->run.path);
    if (code == CLI_OK && job->other)
        code = page_add_side(&job->doc, json_object(&job->doc, root, "other"), &job->page, job->other);
    return code == CLI_OK && job->runs ? add_run(job, root) : code;
}

static int write_report(report_job *job)
{
    cli_out out = {.file = stdout};
    if (!job->json)
        return page_write_file(&job->doc, job->output, job->run.path);
    return json_finish(&job->doc, &out) ? CLI_OK : cli_error("out of memory");
}

static int report_on(report_job *job)
{
    job->page.args = job->args;
    job->page.folders = job->folders;
    job->page.target = job->targets.count ? job->targets.names[0] : NULL;
    job->page.entry = job->run.entry;
    page_watch_init(&job->watch);
    int code = make_document(job);
    if (code == CLI_OK)
        code = write_report(job);
    json_drop(&job->doc);
    if (job->runs) {
        page_tiles_release(&job->tiles);
        run_job_release(&job->tiles.job);
    }
    page_watch_release(&job->watch);
    return code;
}

static int run(cli_args *args)
{
    report_job *job = calloc(1, sizeof *job);
    if (!job)
        return cli_error("out of memory");
    job->args = args;
    job->page.opt_level = 3;
    int code = parse_options(job) ? report_on(job) : args->exit_code;
    free(job);
    return code;
}
