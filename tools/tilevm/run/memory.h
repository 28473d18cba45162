/* The memory behind the arrays of a run, guard zones included: each piece once, however many arrays share it. */
#ifndef TILEVM_TOOLS_RUN_MEMORY_H
#define TILEVM_TOOLS_RUN_MEMORY_H

#include "tools/tilevm/args/args.h"

typedef struct run_memory {
    arg_storage **pieces; /* in the arena it was collected into */
    size_t count;
} run_memory;

/* A copy of what all pieces held at some time; a block for each. */
typedef struct run_copy {
    unsigned char **blocks;
    size_t count;
} run_copy;

/* False: out of memory. */
bool run_memory_collect(bc_arena *arena, const arg_set *set, run_memory *out);
/* The piece that the array lies in. */
size_t run_memory_place(const run_memory *memory, const arg_array *array);

/* False: out of memory. The caller frees the copy in any case. */
bool run_memory_save(const run_memory *memory, run_copy *out);
void run_memory_restore(const run_memory *memory, const run_copy *copy);
void run_copy_free(run_copy *copy);
/* The array as it was then; borrows the copy, and is not to be freed. */
arg_array run_copy_array(const run_memory *memory, const run_copy *copy, const arg_array *array);

#endif
