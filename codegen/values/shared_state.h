/* What is known of the block's shared memory while ops are lowered: for the files that are about it. */
#ifndef TILEVM_CODEGEN_VALUES_SHARED_STATE_H
#define TILEVM_CODEGEN_VALUES_SHARED_STATE_H

#include "codegen/values/order.h"

typedef struct cg_shared {
    cg_order order;
    cg_val scratch, rings; /* their addresses, once needed */
    uint32_t scratch_bytes;
    uint32_t kept_bytes; /* scratch that is used within loops with a ring: rings lie behind it */
    uint32_t ring_bytes;
    bool in_ring;      /* such a loop is being lowered */
    uint32_t barriers; /* that were emitted */
} cg_shared;

#endif
