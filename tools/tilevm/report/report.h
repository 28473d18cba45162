/* The findings of `tilevm verify` and `tilevm check`, and the formats in which they are written. Each <format>.c
   writes one format. The same findings give the same bytes, in whatever order threads recorded them. */
#ifndef TILEVM_TOOLS_REPORT_REPORT_H
#define TILEVM_TOOLS_REPORT_REPORT_H

#include "bytecode/base/arena.h"
#include "tools/tilevm/cli/cli.h"
#include "tools/tilevm/cli/json.h"
#include "tools/tilevm/report/suppress.h"

typedef enum report_outcome { REPORT_VALID, REPORT_INVALID, REPORT_UNREADABLE } report_outcome;

/* One file. */
typedef struct report_file {
    const char *path; /* as given, or as found in a directory; borrowed */
    report_outcome outcome;
    char *problem;  /* why it is unreadable; owned (free); NULL: out of memory */
    size_t size;    /* bytes */
    unsigned minor; /* minor version; 0: the reader did not get that far */
    char *output; /* the output of a program, in place of diags; its first line is the summary; owned (free); or NULL */
    bc_arena arena; /* holds the strings of diags */
    tv_diag *diags; /* in the order they were reported */
    size_t count, capacity;
    unsigned errors, warnings;  /* without suppressed ones */
    suppressions *suppressions; /* that apply to the diagnostics; borrowed, or NULL */
    suppression **by;           /* by diagnostic: the entry that suppresses it, or NULL */
    size_t by_capacity;
    unsigned suppressed;
    tv_sink told; /* gets diagnostics that are not suppressed immediately; no function: none */
    bool lost;    /* memory ran out for a diagnostic */
    bool image;   /* it is an image inside a program */
} report_file;

typedef struct report_totals {
    size_t images; /* of files */
    size_t files, valid, invalid, unreadable, errors, warnings;
} report_totals;

typedef struct report_list {
    report_file *files;
    size_t count;
    report_totals totals;
} report_list;

void report_file_init(report_file *file, const char *path);
void report_file_release(report_file *file);
/* A sink that copies diagnostics into the file's list. */
tv_sink report_file_sink(report_file *file);

/* The reason why diagnostic i is suppressed. NULL: it is not. */
static inline const char *report_reason(const report_file *file, size_t i)
{
    return file->by[i] ? file->by[i]->reason : NULL;
}
/* Reports the last error although it is suppressed, because it has stopped the kernel. */
void report_unsuppress(report_file *file);

void report_count(const report_file *files, size_t count, report_totals *out);
/* The reason why the file is unreadable. NULL: it is readable. */
const char *report_problem(const report_file *file);
const char *report_severity(tv_severity severity);
const char *report_outcome_name(report_outcome outcome);

/* Text: the diagnostics of one file, with a note if the limit of errors was reached; and the last line. */
void report_text_file(const report_file *file, unsigned max_errors, bool color, cli_out *out);
void report_text_summary(const report_totals *totals, bool color, cli_out *out);

/* Adds the member "diagnostics", a list. */
void report_json_diags(json_doc *doc, cJSON *parent, const report_file *file);

/* Whole documents. command: "verify" or "check". False: out of memory. */
bool report_json(const report_file *files, size_t count, const char *command, cli_out *out);
bool report_sarif(const report_file *files, size_t count, cli_out *out);
bool report_junit(const report_file *files, size_t count, const char *command, cli_out *out);

#endif
