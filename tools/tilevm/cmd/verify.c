/* tilevm verify: checks files against every rule, many at once. Threads take the next file from a common counter; the
   main thread writes what they found in the order of the arguments. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tilevm/cli/collect.h"
#include "tools/tilevm/cli/progress.h"
#include "tools/tilevm/report/report.h"

enum { OPT_STRICT = 1, OPT_TARGET, OPT_PROFILE, OPT_MAX_ERRORS, OPT_FORMAT, OPT_JSON, OPT_OUTPUT, OPT_JOBS, OPT_QUIET };
enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_SARIF, FORMAT_JUNIT };
enum { PROFILE_HARDWARE, PROFILE_REFERENCE };
enum { DEFAULT_MAX_ERRORS = 20 };

#define FORMATS "text|json|sarif|junit"
#define PROFILES "hardware|reference"

static const cli_option options[] = {
    {OPT_STRICT, 's', "strict", NULL, "refuse also what known tools tolerate"},
    {OPT_TARGET, 't', "target", "sm_XX", "check too that every op can run on that GPU"},
    {OPT_PROFILE, 0, "profile", PROFILES,
     "with --target: what the hardware can run at all (default), or what\nNVIDIA's compiler accepts for it"},
    {OPT_MAX_ERRORS, 'm', "max-errors", "N", "stop a file after N errors (default 20)"},
    {OPT_FORMAT, 'f', "format", FORMATS, "form of the report (default text)"},
    {OPT_JSON, 'J', "json", NULL, "the same as --format json"},
    {OPT_OUTPUT, 'o', "output", "FILE", "write the report to FILE"},
    {OPT_JOBS, 'j', "jobs", "N", "threads (default: one for each processor)"},
    {OPT_QUIET, 'q', "quiet", NULL, "print no report; the exit code tells"},
    {0}};

static int run(cli_args *args);

const cli_command command_verify = {
    "verify",
    "FILE|DIR...",
    "check files against every rule",
    "Checks Tile IR bytecode against every rule and reports each violation with its rule, place, op,\n"
    "source line and a hint. Directories are searched for bytecode files. 'tilevm explain RULE' says\n"
    "more about a rule. Exit codes: 0 all files are valid, 1 one is not, 2 wrong usage or unreadable.",
    options,
    run};

typedef struct verify_settings {
    tv_verify_options verify;
    unsigned format, jobs;
    const char *output;
    bool quiet;
} verify_settings;

/* Shared by the threads of one run. */
typedef struct verify_job {
    const verify_settings *settings;
    report_file *files;
    size_t count;
    atomic_size_t next;   /* file to take next */
    pthread_mutex_t lock; /* guards done and finished */
    pthread_cond_t changed;
    bool *done;        /* by file */
    bool color_errors; /* on stderr */
    size_t finished;
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

static void check_file(report_file *file, const verify_settings *settings)
{
    cli_file bytes;
    if (!cli_read(file->path, &bytes, &file->problem)) {
        file->outcome = REPORT_UNREADABLE;
        return;
    }
    file->size = bytes.size;
    check_module(file, &bytes, settings);
    cli_file_free(&bytes);
}

/* ---- many files ---- */

static void *work(void *user)
{
    verify_job *job = user;
    for (size_t i; (i = atomic_fetch_add(&job->next, 1)) < job->count;) {
        check_file(&job->files[i], job->settings);
        pthread_mutex_lock(&job->lock);
        job->done[i] = true;
        job->finished++;
        pthread_cond_signal(&job->changed);
        pthread_mutex_unlock(&job->lock);
    }
    return NULL;
}

static void say_problem(const report_file *file)
{
    const char *problem = report_problem(file);
    if (problem)
        cli_error("%s", problem);
}

/* Writes finished files as soon as all before them are written. Diagnostics as text go where those of every command go,
   to stderr, unless the report has a file of its own. False: they could not be written, which was said. */
static bool write_in_order(verify_job *job, cli_out *report)
{
    const verify_settings *settings = job->settings;
    bool text = settings->format == FORMAT_TEXT && !settings->quiet, color = !settings->output && job->color_errors;
    cli_out errors = {.file = stderr}, *out = settings->output ? report : &errors;
    cli_progress progress;
    cli_progress_start(&progress, "files", job->count);
    for (size_t i = 0; i < job->count; i++) {
        pthread_mutex_lock(&job->lock);
        while (!job->done[i]) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec++;
            pthread_cond_timedwait(&job->changed, &job->lock, &until);
            cli_progress_update(&progress, job->finished);
        }
        pthread_mutex_unlock(&job->lock);
        if (job->files[i].count || report_problem(&job->files[i]))
            cli_progress_clear(&progress);
        say_problem(&job->files[i]);
        if (text)
            report_text_file(&job->files[i], settings->verify.max_errors, color, out);
    }
    cli_progress_clear(&progress);
    return cli_out_commit(&errors);
}

/* Threads worth starting: starting one costs as much as checking a few small files. */
static size_t thread_count(const verify_settings *settings, size_t files)
{
    enum { MAX_THREADS = 64, FILES_A_THREAD = 4 };
    size_t useful = files / FILES_A_THREAD;
    if (useful <= 1)
        return 1;
    long processors = settings->jobs ? (long)settings->jobs : sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = processors > 0 ? (size_t)processors : 1;
    if (wanted > useful)
        wanted = useful;
    return wanted > MAX_THREADS ? MAX_THREADS : wanted;
}

static bool check_all(verify_job *job, cli_out *out)
{
    pthread_t threads[64];
    size_t wanted = thread_count(job->settings, job->count), started = 0;
    if (wanted > 1)
        while (started < wanted && pthread_create(&threads[started], NULL, work, job) == 0)
            started++;
    if (started == 0)
        work(job);
    bool written = write_in_order(job, out);
    for (size_t t = 0; t < started; t++)
        pthread_join(threads[t], NULL);
    return written;
}

static bool write_report(const verify_job *job, const report_totals *totals, cli_out *out, bool color)
{
    switch (job->settings->format) {
    case FORMAT_JSON: return report_json(job->files, job->count, "verify", out);
    case FORMAT_SARIF: return report_sarif(job->files, job->count, out);
    case FORMAT_JUNIT: return report_junit(job->files, job->count, "verify", out);
    default: report_text_summary(totals, color, out); return true;
    }
}

static int verify_paths(cli_args *args, const cli_paths *paths, const verify_settings *settings)
{
    verify_job job = {.settings = settings,
                      .count = paths->count,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .changed = PTHREAD_COND_INITIALIZER,
                      .color_errors = cli_use_color(args->color, stderr)};
    job.files = calloc(paths->count, sizeof *job.files);
    job.done = calloc(paths->count, sizeof *job.done);
    cli_out out;
    bool ready = job.files && job.done;
    if (!ready || !cli_out_open(&out, settings->quiet ? NULL : settings->output)) {
        free(job.files);
        free(job.done);
        return ready ? CLI_ERROR : cli_error("out of memory");
    }
    bool color = !settings->output && cli_use_color(args->color, stdout);
    for (size_t i = 0; i < paths->count; i++)
        report_file_init(&job.files[i], paths->items[i]);
    bool written = check_all(&job, &out);
    report_totals totals;
    report_count(job.files, job.count, &totals);
    int code = totals.unreadable || !written ? CLI_ERROR : totals.invalid ? CLI_FAILED : CLI_OK;
    if (!settings->quiet && !write_report(&job, &totals, &out, color)) {
        cli_out_abort(&out);
        code = cli_error("out of memory");
    } else if (!cli_out_commit(&out)) {
        code = CLI_ERROR;
    }
    for (size_t i = 0; i < job.count; i++)
        report_file_release(&job.files[i]);
    free(job.files);
    free(job.done);
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
        code = cli_usage(args, "which file? give files, directories, or - for standard input");
    else if (settings.verify.reference && !settings.verify.target)
        code = cli_usage(args, "--profile reference needs --target");
    if (code == CLI_OK && paths.count)
        code = verify_paths(args, &paths, &settings);
    if (code != CLI_ERROR && paths.failed)
        code = CLI_ERROR;
    cli_paths_release(&paths);
    return code;
}
