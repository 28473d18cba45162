/* Tiles of rows that stay in shared memory for later loops. */
#ifndef TILEVM_CODEGEN_PLAN_KEEP_H
#define TILEVM_CODEGEN_PLAN_KEEP_H

#include "codegen/analysis/ring.h"

typedef struct cg_kept_slots {
    uint32_t kept, room; /* 0: none; the bytes that a block may use without reducing the number of resident blocks */
    const char *why;     /* a text for users */
} cg_kept_slots;

/* The slots of a ring for the tiles that the loop and later ones load. ring: what else is in shared memory then (NULL:
   nothing); others: the largest slot of the loops' other loads; scratch: what their conversions need, in bytes. */
cg_kept_slots cg_slots_to_keep(cg_func *c, ct_op *loop, const cg_ring *ring, const cg_ring *kept, uint32_t others,
                               uint32_t scratch);

#endif
