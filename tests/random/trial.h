/* One kernel on both sides of a comparison: on the virtual machine, and compiled, on the PTX simulator or a GPU.
   Running out of memory ends the program. */
#ifndef TILEVM_TESTS_RANDOM_TRIAL_H
#define TILEVM_TESTS_RANDOM_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytecode/base/text.h"
#include "bytecode/module.h"

enum { TRIAL_PARAMS = 1200 };

typedef enum trial_device { TRIAL_PTXSIM, TRIAL_GPU } trial_device;

/* An array that the kernel is given. Whole pages, so that a GPU can be shown them. */
typedef struct trial_array {
    unsigned char *bytes; /* NULL: the parameter is a number, or points into another array */
    size_t size;          /* bytes */
    size_t start;         /* where the parameter points */
    bc_kind kind;
} trial_array;

/* What one side has: parameters and arrays. */
typedef struct trial_memory {
    trial_array arrays[TRIAL_PARAMS];
    uint64_t values[TRIAL_PARAMS];
    size_t count;
    uint32_t grid; /* tile blocks */
} trial_memory;

/* Memory that each side has of its own behind the parameters; bytes NULL: none. */
typedef struct trial_log {
    unsigned char *bytes;
    size_t size;
} trial_log;

/* The first finding of the machine. */
typedef struct trial_finding {
    bool found;
    bool has_op;
    uint32_t op_index;
    char text[300];
} trial_finding;

void *trial_alloc(size_t bytes); /* zeroed whole pages; free() */
void trial_add_array(trial_memory *mem, bc_kind kind, size_t size, size_t start);
void trial_add_value(trial_memory *mem, uint64_t value);
/* A parameter that points into the array of an earlier one. */
void trial_add_alias(trial_memory *mem, size_t param, size_t start);
/* Arrays with the same contents, and the same values: addresses lead into the arrays of `from`. trial_free(out). */
void trial_clone(const trial_memory *from, trial_memory *out);
void trial_free(trial_memory *mem);
/* Small numbers of the arrays' kinds; and now and then any, unless all are to be small. */
void trial_fill(trial_memory *mem, bool all_small);

/* A tv_sink of a trial_finding. */
void trial_note(void *finding, const tv_diag *diag);

/* What remarks say of a kernel's products. */
typedef struct trial_pairs {
    bool pair;   /* two thread blocks multiply as a pair */
    bool issuer; /* a warp of its own starts the products of a chain */
} trial_pairs;

/* Where a tv_remark_sink reports, for a trial_pairs. */
void trial_note_pairs(void *pairs, const tv_remark *remark);

/* checks: of TV_CHECK_*. */
tv_status trial_run_machine(const tv_module *m, trial_memory *mem, trial_log log, uint64_t step_limit, uint32_t checks,
                            trial_finding *out);

/* Runs PTX text on the memory `other`, at the addresses of the machine's memory, as results may be addresses: `vm` is
   what the machine left, and is the same afterwards. seed: of the simulator. False: what says why. */
bool trial_run_ptx(trial_device device, const bc_text *text, tv_str entry, trial_memory *vm, trial_memory *other,
                   const trial_log logs[2], uint64_t seed, char *what, size_t size);

/* The same bits, but for those of a NaN? */
bool trial_same_element(bc_kind kind, unsigned bits, uint64_t a, uint64_t b);
bool trial_same_memory(const trial_memory *vm, const trial_memory *other, char *what, size_t size);

#endif
