/* What is emitted for the block's shared memory: for the files that are about it. */
#ifndef TILEVM_CODEGEN_VALUES_SHARED_STATE_H
#define TILEVM_CODEGEN_VALUES_SHARED_STATE_H

#include "codegen/values/values.h"

typedef struct cg_shared {
    cg_val scratch, rings; /* their addresses, once needed */
    uint32_t barriers;     /* that were emitted */
    uint32_t group;        /* of warps, whose program is being lowered */
} cg_shared;

#endif
