/* Findings that are intended: the [[suppress]] entries of tilevm.toml. The Python package reads the same file with
   the same meaning (tools/python/tilevm/cutile/_findings.py). */
#ifndef TILEVM_TOOLS_REPORT_SUPPRESS_H
#define TILEVM_TOOLS_REPORT_SUPPRESS_H

#include "bytecode/base/arena.h"
#include "tilevm/tilevm.h"

#define SUPPRESS_CONFIG "tilevm.toml"

enum { SUPPRESS_MOST_ENTRIES = 1000, SUPPRESS_MOST_CHARACTERS = 1000, SUPPRESS_MOST_BYTES = 1 << 20 };

/* A member that is NULL or 0 matches everything. */
typedef struct suppression {
    const char *rule, *reason;
    const char *kernel; /* a pattern for the name of the entry */
    const char *file;   /* a pattern for the end of a source path */
    int64_t line;       /* of the op, or of the other access of the finding */
    uint64_t uses;
} suppression;

typedef struct suppressions {
    const char *path; /* borrowed */
    bc_arena arena;
    suppression *entries;
    size_t count, capacity;
} suppressions;

/* Reads the text of a file. False: `error` says what is wrong, and where. */
bool suppress_parse(suppressions *s, const char *path, const char *text, size_t size, char *error, size_t error_size);
void suppress_release(suppressions *s);

/* The first entry that matches a finding; its uses are counted. NULL: there is none. */
suppression *suppress_find(suppressions *s, const tv_diag *diag);
/* "rule = 'X-RAC-01', kernel = 'k*'" */
void suppress_describe(const suppression *s, char *out, size_t size);

#endif
