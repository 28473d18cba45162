/* Constants seen as MLIR's dense elements: how many there are, whether they are all the same, each one's pattern. */
#ifndef TILEVM_BYTECODE_NUMBER_DENSE_H
#define TILEVM_BYTECODE_NUMBER_DENSE_H

#include "bytecode/module.h"

typedef struct bc_dense {
    const bc_blob *blob;
    uint64_t count; /* elements of the tile */
    bc_kind kind;
    bool valid; /* a tile of numbers, and the size of the blob fits it; else nothing below applies */
    bool full;  /* one entry an element, not one for all */
    bool splat; /* all elements have the same bytes */
} bc_dense;

/* What was found out about each constant of a module, so that a large one is looked through once. */
typedef struct bc_dense_cache {
    bc_dense *of;         /* by index in the constant table; NULL: remembers nothing */
    const bc_type **type; /* that it was looked at as */
} bc_dense_cache;

/* Memory comes from scratch; false: out of memory. */
bool bc_dense_cache_init(bc_dense_cache *cache, bc_arena *scratch, const bc_module *m);

bc_dense bc_dense_of(bc_dense_cache *cache, const bc_type *type, const bc_blob *blob);
/* Pattern of an element; index below count. */
uint64_t bc_dense_get(const bc_dense *dense, uint64_t index);

#endif
