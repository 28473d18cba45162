/* Benchmarks: the subjects that are timed, the device, and the results.

     stats.c       quantiles, intervals, ratios
     work.c        what a launch has to do, counted from its ops
     limits.c      what a device can do at most
     bed.c         takes samples: on a GPU between events, on the CPU by the virtual machine's clock
     subject.c     something to time: the kernel itself, another file, the kernel with other hints
     measure.c     warm-up, rounds in which subjects take turns, when to stop
     options.c     options of both commands
     report.c      text for people
     document.c    JSON and CSV
     saved.c       results of an earlier run to compare with */
#ifndef TILEVM_TOOLS_BENCH_BENCH_H
#define TILEVM_TOOLS_BENCH_BENCH_H

#include "tools/tilevm/bench/stats.h"
#include "tools/tilevm/bench/work.h"
#include "tools/tilevm/module/hints.h"
#include "tools/tilevm/run/device.h"

/* ---- subjects ---- */

/* Hints that are set in the kernel, in the order of hints_kind_at; 0 leaves a hint as it is. */
typedef struct bench_hints {
    int64_t values[HINTS_KINDS];
} bench_hints;

/* "occupancy=2,num_ctas=1". False: error says what is wrong. */
bool bench_hints_parse(const char *text, bench_hints *out, io_error *error);
/* Appends "occupancy=2, num_ctas=1", by cuTile's names; nothing if none is set. */
void bench_hints_print(const bench_hints *hints, bc_text *out);

typedef struct bench_subject {
    const char *name; /* as it was given */
    uint32_t grid[3];
    cli_file file; /* bytecode, PTX or a cubin; not owned by the job */
    bc_text made;  /* bytecode that was made here and replaces the file */
    char *symbol;  /* of the kernel in it; owned */
    run_kernel kernel;
    tv_module *module; /* the module of the file; NULL: that of the job */
    tv_vm *vm;
    int registers, local_bytes; /* of a thread; below 0: not known */
    unsigned launches;          /* of one sample */
    ld_graph graph;             /* of these launches, if a sample has several on a GPU */
    double *samples;            /* microseconds of a launch, in the order of the rounds; owned */
    size_t count, capacity;
    bench_summary summary;
} bench_subject;

/* ---- where samples are taken ---- */

typedef struct bench_options {
    bool cold;                 /* caches are flushed before every sample */
    bool restore;              /* arrays are put back before every sample */
    double precision, seconds; /* half the width of the median's interval, relative to it; the time limit */
    unsigned repeat;           /* samples; 0: as many as the precision needs */
    uint64_t seed;
} bench_options;

/* Ids of the options that both commands have; their own begin at BENCH_OPT_COUNT. */
enum {
    BENCH_OPT_BEFORE = RUN_OPT_COUNT - 1,
#define OPTION(name, letter, text, value, help) BENCH_OPT_##name,
#include "tools/tilevm/bench/options.def"
    BENCH_OPT_COUNT
};
/* Takes one of these options, or one of run_take_option. False: args->exit_code is set. */
bool bench_take_option(cli_args *args, int id, const char *value, run_options *run, bench_options *bench);
/* Read a number above 0 and up to `most`; a percentage above 0 and up to 100, as a fraction. */
bool bench_take_number(cli_args *args, const char *what, const char *value, double most, double *out);
bool bench_take_percent(cli_args *args, const char *what, const char *value, double *out);

/* What a device can do at most; 0: not known. */
typedef struct bench_limits {
    double multiprocessors, clock_hz, memory_hz, dram_bytes, l2_bytes; /* dram_bytes: a second; l2_bytes: its size */
    unsigned sm;
} bench_limits;

typedef struct bench_bed {
    run_job *job;
    const bench_options *options;
    bool on_gpu;
    run_device device;
    ld_timer timer;
    void **params;     /* of launches on it */
    tvDevicePtr flush; /* memory that is written to flush caches */
    unsigned char *host_flush;
    size_t flush_bytes;
    bench_limits limits;
    char where[200];     /* "cuda:0, NVIDIA H200 (sm_90)", "the CPU (virtual machine, 8 threads)" */
    char not_there[200]; /* why `auto` did not take a GPU; "" otherwise */
} bench_bed;

/* The job has been prepared. The caller closes the bed in any case. */
bool bench_bed_open(bench_bed *bed, run_job *job, const bench_options *options, io_error *error);
void bench_bed_close(bench_bed *bed);
/* One sample: subject->launches, one after the other. out_us: the time of one of them. */
bool bench_bed_sample(bench_bed *bed, bench_subject *subject, double *out_us, io_error *error);

void bench_limits_read(const ld_device *device, bench_limits *out);
/* Operations per second of matrix products of such elements, and of other arithmetic; 0: not known. */
double bench_limit_products(const bench_limits *limits, bc_kind kind);
double bench_limit_plain(const bench_limits *limits, bc_kind kind);

/* Rates that a launch of this duration reaches. */
typedef enum bench_part_kind { BENCH_PRODUCTS, BENCH_ARITHMETIC, BENCH_MEMORY } bench_part_kind;
typedef struct bench_part {
    const char *name; /* of the elements: "f16"; "DRAM" */
    double amount;    /* operations or bytes of a launch */
    double rate;      /* a second */
    double limit;     /* a second; 0: not known */
    bench_part_kind kind;
    bool binds; /* no other kind takes a larger share of its limit */
} bench_part;
enum { BENCH_MOST_PARTS = 2 * BC_KIND_COUNT + 1 };
/* Stores the parts that are not zero, memory last, and returns their number. */
size_t bench_parts(const bench_work *work, const bench_limits *limits, double us, bench_part parts[BENCH_MOST_PARTS]);
/* The share of the limit, 0 to 1; 0: not known. */
double bench_part_share(const bench_part *part);

/* Opens a subject for the bed: "" for the job's own kernel; FILE, or hints:NAME=N,...; either with @X,Y,Z behind it for
   a grid of its own. The caller frees it in any case. */
bool bench_subject_open(bench_bed *bed, const char *name, bench_subject *out, io_error *error);
/* Makes the kernel with these hints, for a device of that capability, as bytecode. */
bool bench_hints_apply(const run_job *job, const bench_hints *hints, unsigned sm, bc_text *out, io_error *error);
/* The same for given bytecode, which the subject owns from now on; name is its name in reports. */
bool bench_subject_take(bench_bed *bed, const char *name, bc_text *made, const uint32_t grid[3], bench_subject *out,
                        io_error *error);
void bench_subject_free(bench_subject *subject);

/* ---- measuring ---- */

/* Takes samples of all subjects, in turns whose order changes from round to round, and summarizes them together with
   the earlier ones. */
bool bench_measure(bench_bed *bed, bench_subject *subjects, size_t count, io_error *error);

/* ---- results ---- */

/* The results of an earlier run. */
typedef struct bench_saved_subject {
    const char *name;
    const double *samples; /* at least one */
    size_t count;
} bench_saved_subject;
typedef struct bench_saved {
    const char *path, *where;
    bool cold;
    bench_saved_subject *subjects; /* all of it in the arena */
    size_t count;
} bench_saved;
/* Reads a document of `tilevm bench --json`. The file is untrusted: sizes and counts are bounded. */
bool bench_saved_read(const char *path, bc_arena *arena, bench_saved *out, io_error *error);

/* One subject, compared with its earlier result. */
typedef struct bench_change {
    bench_ratio ratio;
    bool compared, slower, faster; /* the whole interval lies beyond the threshold */
} bench_change;

typedef struct bench_result {
    const bench_bed *bed;
    const bench_subject *subjects; /* the first is the kernel itself */
    size_t count;
    const bench_ratio *ratios; /* to the first; [0] is unused */
    bench_work work;           /* of the first */
    const bench_saved *saved;  /* NULL: none */
    const bench_change *changes;
    double threshold;
    const char *printed; /* what the kernel printed, in words; NULL: nothing */
} bench_result;

/* Compares with the saved run, subject by subject; subjects that it does not have stay uncompared. changes: one for
   each. */
bool bench_compare_saved(const bench_result *result, bench_change *changes, io_error *error);
/* Is any subject slower than in the saved run? */
bool bench_is_slower(const bench_result *result);

/* False: out of memory. */
bool bench_report_text(const bench_result *result, bc_text *out);
bool bench_report_csv(const bench_result *result, bc_text *out);
/* The document, with a zero byte behind it, for --json and --save. */
bool bench_report_json(const bench_result *result, bc_text *out);

#endif
