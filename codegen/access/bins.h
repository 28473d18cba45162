/* Which atomic additions of integers go to few addresses, as those of a histogram: codegen/ops/bins.h sums them up in
   shared memory. */
#ifndef TILEVM_CODEGEN_ACCESS_BINS_H
#define TILEVM_CODEGEN_ACCESS_BINS_H

#include "codegen/kernel/kernel.h"

enum { CG_BIN_BYTES = 4 };

typedef struct cg_bins {
    const ct_value *base, *index; /* an element is added to base[index] */
    int64_t low;                  /* the smallest index */
    uint32_t count;               /* of possible indices */
} cg_bins;

/* False: the op is something else, or there are too many addresses for its elements. */
bool cg_find_bins(const cg_func *c, const ct_op *op, cg_bins *out);
/* Bytes of shared memory. */
uint32_t cg_bins_bytes(const cg_bins *b);

#endif
