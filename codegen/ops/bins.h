/* Atomic additions of integers to few addresses, as of a histogram: the elements of a tile come together in shared
   memory, and one thread for each address adds what came there to global memory. Additions have no order among
   themselves, so nobody can tell that from elements that are added one by one. */
#ifndef TILEVM_CODEGEN_OPS_BINS_H
#define TILEVM_CODEGEN_OPS_BINS_H

#include "codegen/access/bins.h"

/* Elements are read in l. */
void cg_want_bins(cg_func *c, const cg_bins *b, const cg_layout *l);
/* Takes the op's effect on scratch: adds the values up there, at the address that comes back. Then, the access: from
   there to global memory, relaxed in that scope. */
cg_val cg_fill_bins(cg_func *c, const ct_op *op, const cg_bins *b, const cg_layout *l);
void cg_empty_bins(cg_func *c, const cg_bins *b, cg_val memory, uint64_t scope);

#endif
