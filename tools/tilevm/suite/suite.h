/* Suites of tests: every NAME.args.json and its kernel, each in a process of its own, many at a time. */
#ifndef TILEVM_TOOLS_SUITE_SUITE_H
#define TILEVM_TOOLS_SUITE_SUITE_H

#include "tools/tilevm/report/config.h"
#include "tools/tilevm/report/coverage.h"
#include "tools/tilevm/report/report.h"

#define SUITE_ENDING ".args.json"

typedef struct suite_options {
    bool cpu, cuda;       /* devices */
    bool update;          /* expected files that do not match are rewritten */
    unsigned jobs;        /* 0: one per processor */
    bool quiet;           /* no progress */
    double timeout;       /* seconds after which a test is stopped and fails; 0: never */
    unsigned retries;     /* how often a failed test runs again */
    const char *checks;   /* checks for tests on the CPU, as in `tilevm run --check`; or NULL */
    const char *config;   /* with checks: the file of suppressions; or NULL */
    const char *coverage; /* the file of coverage; tests on the CPU write their own next to it; or NULL */
} suite_options;

/* A test on a device. */
typedef struct suite_case {
    const char *args_path; /* borrowed */
    const char *device;    /* "cpu" or "cuda" */
    report_file report;    /* path: the name of the test */
    bool updated;
    unsigned attempts;   /* how often it ran */
    double seconds;      /* all of them together */
    cli_file covered;    /* with coverage: the output of the last run; size 0: none; owned */
    cli_file used;       /* with config: the same for uses of suppressions */
    bool lost;           /* used could not be read */
    uint64_t suppressed; /* findings */
} suite_case;

void suite_case_release(suite_case *one);

/* Runs the cases on many threads; calls done for each as soon as it and all before it have ended. False: out of
   memory. */
bool suite_run(suite_case *cases, size_t count, const suite_options *options, void (*done)(void *user, suite_case *one),
               void *user);

/* The report as a document: the cases, the suppressions if there are any, and the coverage if that was asked for (or
   NULL). False: out of memory. */
bool suite_json(const suite_case *cases, size_t count, const suppress_config *config, const coverage *covered,
                cli_out *out);

/* ---- parts ---- */

/* The kernel of NAME.args.json or NAME.WHAT.args.json, NAME.tbc or another ending of bytecode, owned (free); NULL:
   there is none. False: out of memory. */
bool suite_find_kernel(const char *args_path, char **out_kernel);

/* Makes out the argument file without the expectations that are .npy files, which are saved instead. False: there are
   none, or the file cannot be read (problem has why), or memory ran out. */
bool suite_update_text(const char *args_path, bc_text *out, bc_text *problem);

#endif
