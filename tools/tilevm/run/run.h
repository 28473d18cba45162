/* One run of a kernel: its options, and its results.

     job.c         everything before the kernel starts; `tilevm check` takes it too
     kernel.c      the call, the machine, the kernel itself
     cmd/run.c     tilevm run
     cmd/check.c   tilevm check
     made_up.c     findings that made-up arguments may have led to
     backend.c     where the kernel runs: the virtual machine, or device.c
     device.c      the arrays on a GPU
     memory.c      what they hold, saved and put back
     against.c     the same kernel twice: --against
     sums.c        how far the order of sums may lead two results apart
     blame.c       which op it was that made the difference
     replay.c      both sides once more, with the values of ops exposed
     report.c      tells about it
     figures.c     numbers of arrays as JSON
     trace.c       values of chosen ops: --trace, --dump-tile
     tile.c        values of ops as arrays
     events.c      when ops ran: --trace-events
     coverage.c    which ops ran: --coverage
     precision.c   where digits are lost: --precision */
#ifndef TILEVM_TOOLS_RUN_RUN_H
#define TILEVM_TOOLS_RUN_RUN_H

#include "tools/tilevm/args/study.h"
#include "tools/tilevm/report/report.h"
#include "tools/tilevm/run/sums.h"

enum { RUN_MAX_PAIRS = 256 }; /* of --save, of --expect */

/* Ids of the options that every command has that runs a kernel; its own begin at RUN_OPT_COUNT. */
enum {
    RUN_OPT_NONE,
#define OPTION(name, letter, text, value, help) RUN_OPT_##name,
#include "tools/tilevm/run/options.def"
    RUN_OPT_COUNT
};

/* An expected result. */
typedef struct run_expect {
    const char *name;
    const arg_array *got; /* borrowed from the argument */
    arg_array want;       /* owned */
    arg_tolerance tolerance;
    arg_comparison comparison; /* owned; count 0 until compared */
    bool compared;
} run_expect;

typedef enum run_where { RUN_ON_AUTO, RUN_ON_CPU, RUN_ON_CUDA } run_where;

typedef enum run_outcome {
    RUN_OK,
    RUN_DIFFERENT,
    RUN_TRAPPED,
    RUN_FINDINGS,
    RUN_OUTSIDE,
    RUN_INVALID,
    RUN_ERROR
} run_outcome;

typedef struct run_options {
    const char *path; /* of the bytecode */
    const char *entry;
    const char *args_path; /* --args; "none": not even the one beside the bytecode */
    const char *names;
    bool has_grid, json, quiet, stats, profile, params;
    uint32_t grid[3];
    tv_vm_options vm;
    uint64_t seed;
    bool allow_sharing; /* arguments may share memory against the promises */
    bool has_seed, has_rtol, has_atol;
    double rtol, atol;
    run_where where;
    bool says_where;         /* --device was given */
    int ordinal;             /* of the GPU */
    const char *against;     /* "cpu", a file, or NULL */
    const char *trace;       /* which ops: mnemonics, indices, "all" */
    const char *trace_block; /* which tile blocks; NULL: all */
    uint64_t trace_max;      /* values to show; 0: all */
    const char *events;      /* the file for --trace-events, or NULL */
    uint64_t events_max;     /* events in it; 0: all */
    const char *coverage;    /* the file for it, or NULL */
    const char *config;      /* the file of suppressions; NULL: tilevm.toml, if it exists */
    const char *suppressed;  /* the file for how often they were used, or NULL */
    const char *given[RUN_MAX_PAIRS], *saves[RUN_MAX_PAIRS], *expects[RUN_MAX_PAIRS], *dumps[RUN_MAX_PAIRS];
    size_t given_count, save_count, expect_count, dump_count;
} run_options;

enum { RUN_TRACE_SHOWN = 8 }; /* elements of a traced value */

/* A value that was traced, for --json. */
typedef struct run_traced run_traced;
struct run_traced {
    run_traced *next;
    uint32_t block[3], op_index, result, line;
    tv_str op, file;
    const char *element; /* type of the elements, as the assembly writes it */
    tv_dtype dtype;      /* that they are shown as */
    uint32_t rank;
    const int64_t *shape;
    uint64_t count;
    unsigned shown;
    uint64_t first[RUN_TRACE_SHOWN];
    arg_summary summary;
};

/* A value to save. */
typedef struct run_dump {
    const char *text; /* the option's value, for messages */
    uint32_t op_index, result, block[3];
    bool has_time; /* the time-th run of the op in its block, from 0; else the last one */
    uint64_t time, seen;
    arg_array value;     /* owned; no storage until the op ran */
    const char *problem; /* why there is none */
} run_dump;

typedef struct run_trace {
    uint8_t *ops; /* by op index: RUN_TRACED, RUN_DUMPED */
    uint32_t op_count;
    uint32_t low[3], high[3]; /* tile blocks to show */
    uint64_t shown, hidden;   /* hidden: beyond --trace-max */
    bool no_memory;           /* for a value that should have been shown */
    bc_arena arena;           /* of the list */
    run_traced *first, *last;
    run_dump *dumps;
    size_t dump_count;
} run_trace;

typedef struct run_job {
    cli_args *args;
    run_options options;
    bc_arena arena;
    report_file report; /* diagnostics, for --json; path shown in text */
    cli_printer printer;
    tv_sink sink;
    cli_file file;
    tv_module *module;
    size_t entry;
    const char *symbol; /* of the entry */
    tv_signature *signature;
    arg_file arg_file;
    arg_budget budget; /* of all arrays below */
    arg_set set;
    tv_call *call;
    tv_vm *vm;
    tv_vm_stats stats;
    run_expect *expects;
    size_t expect_count;
    arg_save *saves;
    size_t save_count;
    run_trace trace;
    bc_text output; /* of print_tko and assert, for --json */
    bool output_cut;
    struct run_watch *watch; /* while a machine runs */
    bool synthesised;        /* some arguments were made up */
    arg_study study;         /* then: what depends on them */
    tv_sink told;            /* where sink passes on its findings */
    unsigned excused;        /* findings that made-up arguments may have caused */
    unsigned blamed;         /* other errors */
    run_sums sums;           /* with --against: how much the order of sums may change */
    bool broke_off;          /* the kernel was stopped, and made-up arguments may be the cause */
    bool ran;
    run_outcome outcome;
    char message[2048];   /* RUN_ERROR: what failed; RUN_OUTSIDE: where; RUN_TRAPPED: the driver's message */
    const char *rule;     /* the L rule that message is about, or NULL */
    char device[200];     /* "cuda:0, NVIDIA H200 (sm_90)"; empty: the CPU */
    char not_device[512]; /* why `auto` did not take a GPU */
    double kernel_ms;     /* on a GPU */
    const struct vm_observer *observer; /* of the machine, while it runs; NULL: nobody */
    struct run_events *events;          /* with --trace-events */
    struct run_against *against;        /* with --against, once both have run */
} run_job;

/* Takes one of the shared options, or an operand: the file, then arguments. False: args->exit_code is set. */
bool run_take_option(cli_args *args, int id, const char *value, run_options *options);
/* "auto", "cpu", "cuda", "cuda:N", the value of --device. False as above. */
bool run_take_device(cli_args *args, const char *value, run_options *options);
/* Keeps one of several values of an option. False as above. */
bool run_add_pair(cli_args *args, const char *what, const char *value, const char **list, size_t *count);

/* Fills in a job whose args, options, report and sink are set and the rest zero: reads and verifies the file, takes the
   argument file in, makes all arrays, expected ones too, and lays the call out. Returns CLI_OK, or the exit code after
   a message. With options.params it lists the parameters instead. The caller releases the job in any case. */
int run_job_prepare(run_job *job);
void run_job_release(run_job *job);
/* "races,tokens", "all". False: args->exit_code is set. */
bool run_take_checks(cli_args *args, const char *what, const char *value, uint32_t *out_checks);
/* Checks the arguments against the promises of the symbol and lays them out, with the addresses that their arrays have
   for the kernel. */
tv_status run_job_call(run_job *job, void *(*address)(const void *user, const arg_array *array), const void *user,
                       tv_call **out_call);
/* The same with the addresses that they have here, as the job's call. */
tv_status run_job_call_here(run_job *job);
/* A machine for the job's module, or one like it, that knows the arrays. */
tv_status run_job_machine(const run_job *job, const tv_module *module, const tv_vm_options *options, tv_vm **out_vm);
/* Records the contents of the arrays; called before the kernel runs. */
void run_job_starts(run_job *job);
/* From now on, findings in the job's kernel are excused if made-up arguments may have caused them. */
void run_made_up_listen(run_job *job);
/* The outcome of the run, without excused findings. */
tv_status run_made_up_status(run_job *job, tv_status status);
/* Makes the machine and runs the kernel. */
tv_status run_job_kernel(run_job *job, const tv_vm_options *options);
/* Prints the error unless it has been printed; returns CLI_ERROR. */
int run_fail(run_job *job, const io_error *error);

/* "c", "xs[1]" */
void run_array_name(const arg_value *value, size_t k, char *out, size_t size);
/* By the type, or what --rtol and --atol say. */
arg_tolerance run_tolerance(const run_options *options, tv_dtype dtype);
/* The same; if neither was given, adds a tolerance for the order of sums. */
arg_tolerance run_sum_tolerance(const run_options *options, tv_dtype dtype, const run_sum *sum);

/* The name of an option that only the CPU supports, or NULL. */
const char *run_only_on_cpu(const run_options *options);
/* A writer whose user is the job: keeps what the kernel prints, up to a limit. */
bool run_keep_output(void *job, const void *bytes, size_t size);
/* Runs the kernel where the options say, with --against on both sides. Gives CLI_OK, or the exit code after a message.
 */
int run_backend_kernel(run_job *job);

/* The parameters of one entry, or of all (entry SIZE_MAX). */
int run_print_params(const run_job *job, size_t entry);
/* A line for each array and scalar, mismatch reports, --stats. False: out of memory; nothing was printed. */
bool run_report_text(const run_job *job);
/* The same, and the diagnostics, as one JSON document on standard output. */
bool run_report_json(const run_job *job);

/* Determines which ops to trace and dump, and adds the dumped values to those that are saved. False: an option is
   invalid. */
bool run_trace_prepare(run_job *job, io_error *error);
/* Adds the hooks to the machine's options, whose user must be the job. */
void run_trace_hook(const run_job *job, tv_vm_options *vm);
/* After the run: says how much was left out. False: a value to save was never made. */
bool run_trace_finish(run_job *job, io_error *error);
void run_trace_release(run_job *job);

/* The type of a traced tile's elements, by their name; of pointers, u64. */
tv_dtype run_dtype_of(const char *element);
/* A tile as an array of that type: i4 becomes i8 and f4E2M1FN f32, which have all their values. False: out of
   memory. */
bool run_tile_array(const tv_tile *tile, tv_dtype dtype, arg_array *out, io_error *error);

/* Writes which ops ran, after the run; returns the exit code. */
int run_coverage_write(const run_job *job);

/* "  min 1  mean 2.5  max 4  1 nan" */
void run_put_figures(bc_text *out, tv_dtype dtype, const arg_summary *summary);

/* ---- figures.c ---- */

/* A number; if JSON or a double cannot represent it, a string. */
void run_add_number(json_doc *doc, cJSON *parent, const char *key, tv_dtype dtype, uint64_t bits);
void run_add_hex(json_doc *doc, cJSON *parent, const char *key, uint64_t value, unsigned bytes);
/* Members that say what an array holds; how two elements differ; by which tolerance arrays are compared; the result. */
void run_add_figures(json_doc *doc, cJSON *item, tv_dtype dtype, const arg_summary *summary);
void run_add_difference(json_doc *doc, cJSON *item, const arg_array *array, const arg_difference *difference);
void run_add_tolerance(json_doc *doc, cJSON *item, const arg_comparison *comparison);
void run_add_comparison(json_doc *doc, cJSON *item, const arg_array *got, const arg_comparison *comparison);

#endif
