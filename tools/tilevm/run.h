/* One run of a kernel: what was asked for, what came of it.

     run_job.c     everything before the kernel starts; `tilevm check` takes it too
     cmd_run.c     tilevm run
     run_report.c  tells about it */
#ifndef TILEVM_TOOLS_RUN_H
#define TILEVM_TOOLS_RUN_H

#include "tools/tilevm/args.h"
#include "tools/tilevm/report.h"

enum { RUN_MAX_PAIRS = 256 };    /* of --save, of --expect */

/* Ids of the options that every command has that runs a kernel; its own begin at RUN_OPT_COUNT. */
enum {
    RUN_OPT_NONE,
#define OPTION(name, letter, text, value, help) RUN_OPT_##name,
#include "tools/tilevm/run_options.def"
    RUN_OPT_COUNT
};

/* An expected result. */
typedef struct run_expect {
    const char *name;
    const arg_array *got;        /* borrowed from the argument */
    arg_array want;              /* owned */
    arg_tolerance tolerance;
    arg_comparison comparison;   /* owned; count 0 until compared */
    bool compared;
} run_expect;

typedef enum run_outcome { RUN_OK, RUN_DIFFERENT, RUN_TRAPPED, RUN_OUTSIDE, RUN_INVALID } run_outcome;

typedef struct run_options {
    const char *path;            /* of the bytecode */
    const char *entry;
    const char *args_path;       /* --args; "none": not even the one beside the bytecode */
    const char *names;
    bool has_grid, json, quiet, stats, profile, params;
    uint32_t grid[3];
    tv_vm_options vm;
    uint64_t seed;
    bool has_seed, has_rtol, has_atol;
    double rtol, atol;
    const char *trace;           /* mnemonics, or "all" */
    const char *given[RUN_MAX_PAIRS], *saves[RUN_MAX_PAIRS], *expects[RUN_MAX_PAIRS];
    size_t given_count, save_count, expect_count;
} run_options;

typedef struct run_job {
    cli_args *args;
    run_options options;
    bc_arena arena;
    report_file report;          /* diagnostics, for --json; path shown in text */
    cli_printer printer;
    tv_sink sink;
    cli_file file;
    tv_module *module;
    size_t entry;
    tv_signature *signature;
    arg_file arg_file;
    arg_set set;
    tv_call *call;
    tv_vm *vm;
    tv_vm_stats stats;
    run_expect *expects;
    size_t expect_count;
    arg_save *saves;
    size_t save_count;
    bc_text output;              /* of print_tko and assert, for --json */
    bool output_cut;
    bool synthesised;            /* some arguments were made up */
    bool ran;
    run_outcome outcome;
    char outside[160];           /* RUN_OUTSIDE: where the kernel wrote */
} run_job;

/* Takes one of the shared options, or an operand: the file, then arguments. False: args->exit_code is set. */
bool run_take_option(cli_args *args, int id, const char *value, run_options *options);
/* Keeps one of several values of an option. False as above. */
bool run_add_pair(cli_args *args, const char *what, const char *value, const char **list, size_t *count);

/* Fills in a job whose args, options, report and sink are set and the rest zero: reads and verifies the file, takes the
   argument file in, makes all arrays, expected ones too, and lays the call out. Gives CLI_OK, or the exit code after a
   message. With options.params it lists the parameters instead. The caller releases the job in any case. */
int run_job_prepare(run_job *job);
void run_job_release(run_job *job);
/* Makes the memory of all arrays known to job->vm. */
tv_status run_add_buffers(run_job *job);
/* Prints the error, unless that was done already; gives CLI_ERROR. */
int run_fail(const io_error *error);

/* The parameters of one entry, or of all (entry SIZE_MAX). */
int run_print_params(const run_job *job, size_t entry);
/* A line for each array and scalar, mismatch reports, --stats. */
void run_report_text(const run_job *job);
/* The same, and the diagnostics, as one JSON document on standard output. */
bool run_report_json(const run_job *job);

/* Callback of --trace: one line on standard error for each value of the chosen ops. */
void run_trace_line(void *user, const tv_trace *trace);

#endif
