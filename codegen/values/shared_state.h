/* The state of the code for the block's shared memory, for the files that emit it. */
#ifndef TILEVM_CODEGEN_VALUES_SHARED_STATE_H
#define TILEVM_CODEGEN_VALUES_SHARED_STATE_H

#include "codegen/values/values.h"

typedef struct cg_shared {
    cg_val scratch, rings; /* their addresses, once needed */
    uint32_t barriers;     /* that were emitted so far */
    uint32_t group;        /* the group of warps whose program is being lowered */
} cg_shared;

#endif
