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

/* The kernel of that name, which is added with ops that are zero if it is not there. NULL: memory ran out, or it is
   there with another number of ops. path, entry: copied. */
coverage_kernel *coverage_kernel_of(coverage *all, tv_str path, tv_str entry, size_t op_count);

/* Adds a document that coverage_write wrote. False: it is not one, or it is about other files than before. */
bool coverage_add(coverage *all, const void *bytes, size_t size);

/* Adds the member "kernels". */
void coverage_json(json_doc *doc, cJSON *parent, const coverage *all);
/* A document of its own to a file: JSON, or the trace format of lcov if the name ends in .info. Gives the exit code. */
int coverage_write(const coverage *all, const char *path);
/* A line for each kernel: how many ops and lines ran, and which lines did not. */
void coverage_text(const coverage *all, bc_text *out);

#endif
