/* tilevm verify: checks files against every rule, many at once, and writes what was found in the order of the
   arguments. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/cli/collect.h"
#include "tools/tilevm/cli/work.h"
#include "tools/tilevm/report/report.h"
#include "tools/tilevm/cli/images.h"

enum { OPT_STRICT = 1, OPT_TARGET, OPT_PROFILE, OPT_MAX_ERRORS, OPT_FORMAT, OPT_JSON, OPT_OUTPUT, OPT_JOBS, OPT_QUIET };
enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_SARIF, FORMAT_JUNIT };
enum { PROFILE_HARDWARE, PROFILE_REFERENCE };
enum { DEFAULT_MAX_ERRORS = 20 };

#define FORMATS "text|json|sarif|junit"
#define PROFILES "hardware|reference"

static const cli_option options[] = {
    {OPT_STRICT, 's', "strict", NULL, "also enforce rules that known tools tolerate"},
    {OPT_TARGET, 't', "target", "sm_XX", "also check that every op can run on that GPU"},
    {OPT_PROFILE, 0, "profile", PROFILES,
     "with --target: check what the hardware can run (default), or what\nNVIDIA's compiler accepts for it"},
    {OPT_MAX_ERRORS, 'm', "max-errors", "N", "stop a file after N errors (default 20)"},
    {OPT_FORMAT, 'f', "format", FORMATS, "form of the report (default text)"},
    {OPT_JSON, 'J', "json", NULL, "the same as --format json"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write the report to FILE"},
    {OPT_JOBS, 'j', "jobs", "N", "threads (default: one for each processor)"},
    {OPT_QUIET, 'q', "quiet", NULL, "print no report, only set the exit code"},
    {0}};

static int run(cli_args *args);

const cli_command command_verify = {
    "verify",
    "FILE|DIR...",
    "check files against every rule",
    "tilevm verify checks Tile IR bytecode against every rule and reports each violation with its rule,\n"
    "location, op, source line and a hint. In programs, libraries, objects, archives and fat binaries it\n"
    "checks every image. It searches directories for bytecode files. 'tilevm explain RULE' says more\n"
    "about a rule.\n"
    "Exit codes: 0 all files are valid, 1 a file is not valid, 2 wrong usage or a file that cannot be\n"
    "read.",
    options,
    run};

typedef struct verify_settings {
    tv_verify_options verify;
    unsigned format, jobs;
    const char *output;
    bool quiet;
} verify_settings;

/* A path, with a report for the file, or for each image in it. */
typedef struct verify_path {
    const char *path;
    report_file file, *reports; /* reports: &file, or a list that is owned */
    size_t count;
} verify_path;

/* Shared by the threads of one run. */
typedef struct verify_job {
    const verify_settings *settings;
    verify_path *paths;
    size_t count;
    cli_out errors;       /* stderr */
    cli_out *diagnostics; /* as text: there, where those of every command go, or with the report in its own file */
    bool color_errors;    /* on stderr */
} verify_job;

/* ---- one file ---- */

static void check_module(report_file *file, const cli_file *bytes, const verify_settings *settings)
{
    tv_sink sink = report_file_sink(file);
    tv_open_options open = {.strict = settings->verify.strict};
    tv_module *module = NULL;
    tv_status status = tv_module_open(bytes->bytes, bytes->size, &open, sink, &module);
    if (status == TV_OK) {
        file->minor = tv_module_minor(module);
        status = tv_module_verify(module, &settings->verify, sink);
        tv_module_close(module);
    }
    file->outcome = status == TV_OK ? REPORT_VALID : REPORT_INVALID;
    if (status == TV_NO_MEMORY || file->lost) {
        file->outcome = REPORT_UNREADABLE;
        cli_problem(file->path, "out of memory", &file->problem);
    }
}

static void check_image(report_file *file, const cli_image *image, const verify_settings *settings)
{
    cli_file bytes;
    const char *problem = cli_image_read(image, &bytes);
    if (problem) {
        file->outcome = REPORT_UNREADABLE;
        cli_problem(file->path, problem, &file->problem);
        return;
    }
    file->size = bytes.size;
    check_module(file, &bytes, settings);
    cli_file_free(&bytes);
}

/* Reports for the images of a program; names are kept beyond it. False: out of memory. */
static bool make_reports(verify_path *path, const cli_images *images)
{
    path->reports = calloc(images->count, sizeof *path->reports);
    if (!path->reports)
        return false;
    path->count = images->count;
    for (size_t i = 0; i < images->count; i++) {
        report_file *file = &path->reports[i];
        report_file_init(file, "");
        tv_str name = bc_arena_dup(&file->arena, bc_str(images->items[i].name));
        file->path = name.ptr ? name.ptr : path->path;
        file->image = true;
    }
    return true;
}

static void check_path(verify_path *path, const verify_settings *settings)
{
    cli_images images;
    path->reports = &path->file;
    path->count = 1;
    report_file_init(&path->file, path->path);
    if (!cli_images_open(path->path, &images, &path->file.problem)) {
        path->file.outcome = REPORT_UNREADABLE;
        return;
    }
    if (images.inside && !make_reports(path, &images)) {
        path->reports = &path->file;
        path->file.outcome = REPORT_UNREADABLE; /* no problem: out of memory */
    } else {
        for (size_t i = 0; i < images.count; i++)
            check_image(&path->reports[i], &images.items[i], settings);
    }
    cli_images_close(&images);
}

static void release_path(verify_path *path)
{
    if (!path->reports)
        return;
    for (size_t i = 0; i < path->count; i++)
        report_file_release(&path->reports[i]);
    if (path->reports != &path->file) {
        report_file_release(&path->file);
        free(path->reports);
    }
}

/* ---- many files ---- */

static void check_at(void *user, size_t i)
{
    verify_job *job = user;
    check_path(&job->paths[i], job->settings);
}

static void say_problem(const report_file *file)
{
    const char *problem = report_problem(file);
    if (problem)
        cli_error("%s", problem);
}

static void write_at(void *user, size_t i, cli_progress *progress)
{
    verify_job *job = user;
    const verify_settings *settings = job->settings;
    bool text = settings->format == FORMAT_TEXT && !settings->quiet, color = !settings->output && job->color_errors;
    for (size_t k = 0; k < job->paths[i].count; k++) {
        const report_file *file = &job->paths[i].reports[k];
        if (file->count || report_problem(file))
            cli_progress_clear(progress);
        say_problem(file);
        if (text)
            report_text_file(file, settings->verify.max_errors, color, job->diagnostics);
    }
}

/* Threads worth starting: starting one costs as much as checking a few small files. */
static size_t thread_count(const verify_settings *settings, size_t files)
{
    enum { MAX_THREADS = 64, FILES_A_THREAD = 4 };
    size_t wanted = cli_thread_count(settings->jobs, files / FILES_A_THREAD, MAX_THREADS);
    return wanted > 1 ? wanted : 0;
}

/* False: out of memory. */
static bool check_all(verify_job *job)
{
    return cli_work_run(&(cli_work){.count = job->count,
                                    .threads = thread_count(job->settings, job->count),
                                    .noun = "files",
                                    .user = job,
                                    .run = check_at,
                                    .take = write_at});
}

static bool write_report(const verify_settings *settings, const report_list *list, cli_out *out, bool color)
{
    switch (settings->format) {
    case FORMAT_JSON: return report_json(list->files, list->count, "verify", out);
    case FORMAT_SARIF: return report_sarif(list->files, list->count, out);
    case FORMAT_JUNIT: return report_junit(list->files, list->count, "verify", out);
    default: report_text_summary(&list->totals, color, out); return true;
    }
}

/* The reports of all paths, one after another; they stay owned by the paths. False: out of memory. */
static bool gather_reports(const verify_job *job, report_list *out)
{
    size_t count = 0;
    for (size_t i = 0; i < job->count; i++)
        count += job->paths[i].count;
    *out = (report_list){.files = calloc(count, sizeof *out->files)};
    if (!out->files)
        return false;
    for (size_t i = 0; i < job->count; i++)
        for (size_t k = 0; k < job->paths[i].count; k++)
            out->files[out->count++] = job->paths[i].reports[k];
    report_count(out->files, out->count, &out->totals);
    return true;
}

/* Gives the exit code; output is open. */
static int check_and_report(verify_job *job, cli_out *out, bool color)
{
    report_list list;
    const verify_settings *settings = job->settings;
    job->errors = (cli_out){.file = stderr};
    job->diagnostics = settings->output ? out : &job->errors;
    bool checked = check_all(job), written = cli_out_commit(&job->errors);
    if (!checked || !gather_reports(job, &list)) {
        cli_out_abort(out);
        return cli_error("out of memory");
    }
    int code = list.totals.unreadable || !written ? CLI_ERROR : list.totals.invalid ? CLI_FAILED : CLI_OK;
    bool whole = settings->quiet || write_report(settings, &list, out, color);
    free(list.files);
    if (whole)
        return cli_out_commit(out) ? code : CLI_ERROR;
    cli_out_abort(out);
    return cli_error("out of memory");
}

static int verify_paths(cli_args *args, const cli_paths *paths, const verify_settings *settings)
{
    verify_job job = {.settings = settings, .count = paths->count, .color_errors = cli_use_color(args->color, stderr)};
    job.paths = calloc(paths->count, sizeof *job.paths);
    cli_out out;
    int code = CLI_ERROR;
    for (size_t i = 0; job.paths && i < paths->count; i++)
        job.paths[i].path = paths->items[i];
    if (!job.paths)
        cli_error("out of memory");
    else if (cli_out_open(&out, settings->quiet ? NULL : settings->output))
        code = check_and_report(&job, &out, !settings->output && cli_use_color(args->color, stdout));
    for (size_t i = 0; job.paths && i < job.count; i++)
        release_path(&job.paths[i]);
    free(job.paths);
    return code;
}

/* ---- the command ---- */

static bool set_option(cli_args *args, verify_settings *settings, int id, const char *value)
{
    uint64_t number = 0;
    unsigned choice = 0;
    switch (id) {
    case OPT_STRICT: settings->verify.strict = true; return true;
    case OPT_TARGET: return cli_target(args, value, &settings->verify.target);
    case OPT_PROFILE:
        if (!cli_choice(args, "--profile", value, PROFILES, &choice))
            return false;
        settings->verify.reference = choice == PROFILE_REFERENCE;
        return true;
    case OPT_MAX_ERRORS:
        if (!cli_number(args, "--max-errors", value, 1, 1000000, &number))
            return false;
        settings->verify.max_errors = (unsigned)number;
        return true;
    case OPT_FORMAT: return cli_choice(args, "--format", value, FORMATS, &settings->format);
    case OPT_JSON: settings->format = FORMAT_JSON; return true;
    case OPT_OUTPUT: settings->output = value; return true;
    case OPT_JOBS:
        if (!cli_number(args, "--jobs", value, 1, 1024, &number))
            return false;
        settings->jobs = (unsigned)number;
        return true;
    case OPT_QUIET: settings->quiet = true; return true;
    default: return false; /* CLI_STOP */
    }
}

static int run(cli_args *args)
{
    verify_settings settings = {.verify.max_errors = DEFAULT_MAX_ERRORS};
    cli_paths paths;
    cli_paths_init(&paths);
    const char *value;
    int code = CLI_OK;
    bool given = false;
    for (int id; code == CLI_OK && (id = cli_next(args, &value)) != CLI_END;) {
        given |= id == CLI_OPERAND;
        if (id == CLI_OPERAND) {
            cli_paths_add(&paths, value);
        } else if (!set_option(args, &settings, id, value)) {
            cli_paths_release(&paths);
            return args->exit_code;
        }
    }
    if (!given)
        code = cli_usage(args, "no file was given; give files, directories, or - for standard input");
    else if (settings.verify.reference && !settings.verify.target)
        code = cli_usage(args, "--profile reference needs --target");
    if (code == CLI_OK && paths.count)
        code = verify_paths(args, &paths, &settings);
    if (code != CLI_ERROR && paths.failed)
        code = CLI_ERROR;
    cli_paths_release(&paths);
    return code;
}
