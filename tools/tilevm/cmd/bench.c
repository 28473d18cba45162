/* tilevm bench: times a kernel, and compares it with others and with the peak rates of the device. */
#include <stdlib.h>
#include <string.h>

#include "tools/tilevm/bench/bench.h"

enum { OPT_COMPARE = BENCH_OPT_COUNT, OPT_REPEAT, OPT_SAVE, OPT_AGAINST, OPT_THRESHOLD, OPT_CSV };

enum { MOST_SUBJECTS = 64, MOST_REPEAT = 100000 };

static const cli_option options[] = {
#define OPTION(name, letter, text, value, help) {RUN_OPT_##name, letter, text, value, help},
#include "tools/tilevm/run/options.def"
#define OPTION(name, letter, text, value, help) {BENCH_OPT_##name, letter, text, value, help},
#include "tools/tilevm/bench/options.def"
    {OPT_COMPARE, 'c', "compare", "WHAT",
     "also time WHAT, in turns: a file (bytecode, PTX, a cubin), or the kernel\n"
     "with other hints, as in hints:occupancy=2,num_ctas=1; a grid of its own\n"
     "follows an @, as in k2.tbc@64,32"},
    {OPT_REPEAT, 0, "repeat", "N", "take exactly N samples"},
    {OPT_SAVE, 's', "save", "FILE", "write the results, for --against: JSON"},
    {OPT_AGAINST, 0, "against", "FILE", "compare with saved results; exit code 1 if something is slower"},
    {OPT_THRESHOLD, 0, "threshold", "PERCENT",
     "with --against: how much longer counts as slower, with 95 % confidence (default 5)"},
    {OPT_CSV, 0, "csv", NULL, "print a table: comma-separated values"},
    {0}};

static int run(cli_args *args);

const cli_command command_bench = {
    "bench",
    "FILE --grid X[,Y[,Z]] [NAME=VALUE...]",
    "time a kernel and compare it with others",
    "tilevm bench times a kernel on a GPU, or on the CPU by the virtual machine. Arguments are those of\n"
    "'tilevm run'. After a warm-up it takes samples until the median is known well enough, and says\n"
    "which share of the device's limits the kernel reaches: operations and bytes are counted from its\n"
    "ops. Several subjects take turns, so that clocks and temperature affect all of them alike.",
    options,
    run};

typedef struct bench_job {
    run_job *run;
    bench_options options;
    const char *names[MOST_SUBJECTS]; /* [0] is "" */
    size_t count;
    bench_subject *subjects;
    bench_ratio ratios[MOST_SUBJECTS];
    bench_change changes[MOST_SUBJECTS];
    const char *save, *against;
    double threshold;
    bool csv;
} bench_job;

/* ---- options ---- */

static bool take_option(cli_args *args, int id, const char *value, bench_job *b)
{
    uint64_t number = 0;
    switch (id) {
    case OPT_COMPARE:
        if (b->count == MOST_SUBJECTS) {
            cli_usage(args, "more than %d times --compare", MOST_SUBJECTS - 1);
            return false;
        }
        b->names[b->count++] = value;
        return true;
    case OPT_REPEAT:
        if (!cli_number(args, "--repeat", value, 1, MOST_REPEAT, &number))
            return false;
        b->options.repeat = (unsigned)number;
        return true;
    case OPT_SAVE: b->save = value; return true;
    case OPT_AGAINST: b->against = value; return true;
    case OPT_THRESHOLD: return bench_take_percent(args, "--threshold", value, &b->threshold);
    case OPT_CSV: b->csv = true; return true;
    default: return bench_take_option(args, id, value, &b->run->options, &b->options);
    }
}

static bool parse_options(cli_args *args, bench_job *b)
{
    const char *value;
    for (int id; (id = cli_next(args, &value)) != CLI_END;)
        if (id == CLI_STOP || !take_option(args, id, value, b))
            return false;
    if (!b->run->options.path)
        cli_usage(args, "which file?");
    else if (b->csv && b->run->options.json)
        cli_usage(args, "--csv and --json both want standard output");
    else
        return true;
    return false;
}

/* ---- the work ---- */

/* Uses the machine's counts if it has run the kernel. */
static bool count_work(const bench_bed *bed, const bench_subject *s, bench_work *out)
{
    run_job *job = bed->job;
    const bc_function *f = bc_entry_at(job->module, job->entry);
    if (bed->on_gpu)
        return bench_work_count(&job->set, f, job->options.grid, out);
    double *times = bc_new(&job->arena, double, f->op_count);
    tv_vm_stats stats;
    for (uint32_t i = 0; times && i < f->op_count; i++) {
        uint64_t runs = 0;
        tv_vm_op_runs_at(s->vm, i, &runs);
        times[i] = (double)runs;
    }
    tv_vm_get_stats(s->vm, &stats);
    return times
           && bench_work_counted(&job->set, f, job->options.grid, times,
                                 (double)stats.bytes_loaded + (double)stats.bytes_stored, out);
}

/* ---- results ---- */

static int write_saved(const char *path, const bench_result *r)
{
    cli_out out;
    bc_text text;
    bc_text_init(&text, NULL);
    if (!bench_report_json(r, &text)) {
        bc_text_release(&text);
        return cli_error("out of memory");
    }
    if (!cli_out_open(&out, path)) {
        bc_text_release(&text);
        return CLI_ERROR;
    }
    cli_out_text(&out, &text, false);
    return cli_out_commit(&out) ? CLI_OK : CLI_ERROR;
}

static int tell(const bench_job *b, const bench_result *r)
{
    bc_text text;
    bc_text_init(&text, NULL);
    bool good = b->run->options.json ? bench_report_json(r, &text)
                : b->csv             ? bench_report_csv(r, &text)
                                     : bench_report_text(r, &text);
    if (good)
        cli_show(stdout, bc_text_get(&text), false);
    bc_text_release(&text);
    if (!good)
        return cli_error("out of memory");
    int code = b->save ? write_saved(b->save, r) : CLI_OK;
    return code != CLI_OK ? code : bench_is_slower(r) ? CLI_FAILED : CLI_OK;
}

static bool compare_all(bench_job *b, const bench_saved *saved, bench_result *r, io_error *error)
{
    const bench_subject *s = b->subjects;
    for (size_t i = 1; i < b->count; i++)
        if (!bench_compare(s[i].samples, s[i].count, s[0].samples, s[0].count, true, b->options.seed, &b->ratios[i]))
            return io_fail(error, "out of memory");
    r->saved = b->against ? saved : NULL;
    return !b->against || bench_compare_saved(r, b->changes, error);
}

/* Takes all samples. What kernels print goes to `printed`. */
static bool measure(bench_job *b, bench_bed *bed, bc_text *printed, io_error *error)
{
    run_capture capture;
    for (size_t i = 0; i < b->count; i++)
        if (!bench_subject_open(bed, b->names[i], &b->subjects[i], error))
            return false;
    run_capture_begin(&capture, bed->on_gpu);
    bool good = bench_measure(bed, b->subjects, b->count, error);
    run_capture_end(&capture, printed);
    return good;
}

static int bench(bench_job *b, bench_bed *bed)
{
    io_error error = {{0}};
    bench_saved saved;
    bc_text printed;
    char words[80];
    bench_result r = {.bed = bed,
                      .subjects = b->subjects,
                      .count = b->count,
                      .ratios = b->ratios,
                      .changes = b->changes,
                      .threshold = b->threshold};
    if (b->against && !bench_saved_read(b->against, &b->run->arena, &saved, &error))
        return run_fail(b->run, &error);
    bc_text_init(&printed, NULL);
    bool good = bench_bed_open(bed, b->run, &b->options, &error) && measure(b, bed, &printed, &error);
    snprintf(words, sizeof words, "%zu bytes, which are not shown", printed.len);
    r.printed = printed.len ? words : NULL;
    bc_text_release(&printed);
    if (good && !count_work(bed, &b->subjects[0], &r.work))
        good = io_fail(&error, "out of memory");
    if (!good || !compare_all(b, &saved, &r, &error))
        return run_fail(b->run, &error);
    return tell(b, &r);
}

static int run_with(bench_job *b)
{
    bench_bed bed = {.job = NULL};
    run_job *job = b->run;
    report_file_init(&job->report, cli_shown_path(job->options.path));
    job->sink = cli_printing_sink(&job->printer, job->options.path, job->args->color);
    int code = run_job_prepare(job);
    b->options.seed = job->options.seed + 1;
    if (code == CLI_OK)
        code = bench(b, &bed);
    for (size_t i = 0; i < b->count; i++)
        bench_subject_free(&b->subjects[i]);
    bench_bed_close(&bed);
    run_job_release(job);
    return code;
}

static int run(cli_args *args)
{
    bench_job *b = calloc(1, sizeof *b);
    run_job *job = calloc(1, sizeof *job);
    bench_subject *subjects = calloc(MOST_SUBJECTS, sizeof *subjects);
    int code = CLI_ERROR;
    if (b && job && subjects) {
        job->args = args;
        *b = (bench_job){.run = job,
                         .options = {.precision = 0.01, .seconds = 10},
                         .names = {""},
                         .count = 1,
                         .subjects = subjects,
                         .threshold = 0.05};
        code = parse_options(args, b) ? run_with(b) : args->exit_code;
    } else {
        cli_error("out of memory");
    }
    free(subjects);
    free(job);
    free(b);
    return code;
}
