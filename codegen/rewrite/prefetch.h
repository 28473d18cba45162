/* Has loops prefetch tiles to L2 for later copies, in grids with few blocks. */
#ifndef TILEVM_CODEGEN_REWRITE_PREFETCH_H
#define TILEVM_CODEGEN_REWRITE_PREFETCH_H

#include "codegen/analysis/ring.h"

/* Inserts prefetches at the head of the loop, whose copies to the ring are in place, of tiles that are copied `more`
   iterations later; none if their addresses cannot be computed there. */
void cg_put_prefetches(cg_func *c, ct_op *loop, const cg_ring *ring, ct_value *value, uint32_t more);

#endif
