/* Which ops and source lines of kernels ran: what `tilevm run --coverage` writes and `tilevm test --coverage` adds up.
 */
#ifndef TILEVM_TOOLS_REPORT_COVERAGE_H
#define TILEVM_TOOLS_REPORT_COVERAGE_H

#include "bytecode/base/arena.h"
#include "tools/tilevm/cli/json.h"

typedef struct coverage_op {
    tv_str name, file; /* file: empty when the source is not known */
    uint32_t line, column;
    uint64_t runs;
} coverage_op;

typedef struct coverage_kernel {
    tv_str path, entry;
    coverage_op *ops; /* by index, an op before those inside it */
    size_t op_count;
} coverage_kernel;

/* Strings and lists are in the arena. */
typedef struct coverage {
    bc_arena arena;
    coverage_kernel *kernels;
    size_t count, capacity;
} coverage;

void coverage_init(coverage *all);
void coverage_release(coverage *all);

/* The kernel with that name; if there is none, it is added with all ops at zero. NULL: out of memory, or it exists
   with another number of ops. path and entry are copied. */
coverage_kernel *coverage_kernel_of(coverage *all, tv_str path, tv_str entry, size_t op_count);

/* Adds a document that coverage_write wrote. False: the document is invalid, or describes other files. */
bool coverage_add(coverage *all, const void *bytes, size_t size);

/* Adds the member "kernels". */
void coverage_json(json_doc *doc, cJSON *parent, const coverage *all);
/* Writes a document to a file: JSON, or the trace format of lcov if the name ends in .info. Returns the exit code. */
int coverage_write(const coverage *all, const char *path);
/* Appends a line for each kernel: how many ops and lines ran, and which lines did not. */
void coverage_text(const coverage *all, bc_text *out);

#endif
