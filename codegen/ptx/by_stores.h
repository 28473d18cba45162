/* The order of instructions that load, compute and store many elements of a thread. */
#ifndef TILEVM_CODEGEN_PTX_BY_STORES_H
#define TILEVM_CODEGEN_PTX_BY_STORES_H

#include "codegen/kernel/kernel.h"

/* Orders the body's instructions from byte `from` on, behind the last branch or barrier, by their stores: each follows
   only what it needs and the loads of the next few; or, if `loads` is not 0, loads are as many ahead of stores. The
   caller knows that no load there reads what a store there writes. */
void cg_order_by_stores(cg_func *c, size_t from, uint32_t loads);
/* Was anything ordered so in this kernel? */
bool cg_is_by_stores(const cg_func *c);

#endif
