/* How the elements of a tile are spread over the threads that access it in memory. */
#ifndef TILEVM_CODEGEN_ANALYSIS_SPREAD_H
#define TILEVM_CODEGEN_ANALYSIS_SPREAD_H

#include "codegen/kernel/kernel.h"

typedef struct cg_reach {
    cg_shape shape;
    uint32_t fast;        /* the dimension that is contiguous in memory */
    uint32_t bytes;       /* of an element */
    uint32_t vector_bits; /* log2 of the elements of an access, as far as threads have as many */
    uint32_t least_bits;  /* log2 of those that it has in any case */
    const ct_op *load;    /* whose tile may be reduced; NULL: no matter */
} cg_reach;

/* The layout for these accesses. */
cg_layout cg_spread(const cg_func *c, const cg_reach *r);

#endif
