/* Loops over K that take several of their steps together. */
#ifndef TILEVM_CODEGEN_REWRITE_LENGTHEN_H
#define TILEVM_CODEGEN_REWRITE_LENGTHEN_H

#include "codegen/analysis/k_loop.h"

/* A loop over K whose tiles lie beside each other, from the first one of their tensor on, or from another one. */
typedef struct cg_k_steps {
    cg_k_loop of;
    int64_t by;      /* what the loop counts in an iteration */
    bool falls;      /* it takes the last tile first */
    ct_value *start; /* the index of the first tile; NULL: 0, or, if it falls, that of the last one */
} cg_k_steps;

bool cg_may_lengthen(const cg_func *c, ct_op *loop, cg_k_steps *out);
/* Is a tile outside of the tensors if its index, the sum of the first one and the steps behind that, wraps around? */
bool cg_is_start_near(const cg_k_steps *x);
/* Has an iteration take so many steps, a power of two. The facts must be known, and have to be found again. False: out
   of memory, which c records. */
bool cg_lengthen(cg_func *c, cg_k_steps *is, uint32_t steps);

#endif
