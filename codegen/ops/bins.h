/* Atomic additions of integers to few addresses, as in a histogram: the elements of a tile are summed in shared
   memory, and then one thread per address adds the sum to global memory. Additions have no order among themselves,
   so the result is the same as if elements were added one by one. */
#ifndef TILEVM_CODEGEN_OPS_BINS_H
#define TILEVM_CODEGEN_OPS_BINS_H

#include "codegen/access/bins.h"

/* Records that elements are read in layout l. */
void cg_want_bins(cg_func *c, const cg_bins *b, const cg_layout *l);
/* The first takes the op's effect on scratch, adds the values there, and returns the address. The second takes the
   access: it adds the sums to global memory, relaxed in that scope. */
cg_val cg_fill_bins(cg_func *c, const ct_op *op, const cg_bins *b, const cg_layout *l);
void cg_empty_bins(cg_func *c, const cg_bins *b, cg_val memory, uint64_t scope);

#endif
