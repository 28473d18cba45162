/* Loads of what nobody reads again: data that L2 need not keep in place of what others may want. */
#ifndef TILEVM_CODEGEN_ANALYSIS_ONCE_H
#define TILEVM_CODEGEN_ANALYSIS_ONCE_H

#include "codegen/kernel/kernel.h"

/* A load through a view, which comes to each of its tiles once in a block, and along which of the block's numbers
   others come to the same tiles: bit 0 is x. */
typedef struct cg_once {
    const bc_op *load;
    uint32_t along;
} cg_once;

typedef struct cg_once_list {
    cg_once *items;
    uint32_t count;
} cg_once_list;

/* Which loads of the function are such; views must be known. False: out of memory. What is found is a guess by the ops
   that indices are made by, good enough for what decides about speed alone. */
bool cg_find_once(const ct_func *f, bc_arena *arena, cg_once_list *out);

/* Of a load, or an op that was made for one. NULL: it is none such. */
const cg_once *cg_once_of(const cg_func *c, const ct_op *op);

#endif
