/* Chooses plans of chains of products by the cost model. */
#ifndef TILEVM_CODEGEN_CHOOSE_CHAINS_H
#define TILEVM_CODEGEN_CHOOSE_CHAINS_H

#include "codegen/passes/pass.h"

int64_t cg_rows_of_product(const ct_op *product);
/* The most rows of a product that multiplies what another one gives. 0: there is none. */
int64_t cg_rows_of_chain(const cg_func *c);
/* As cg_choose_warps, for whether chains of products multiply bytes. */
void cg_choose_bytes(cg_func *c, const cg_watch *watch, cg_choices *room);
/* As cg_choose_warps, of a kernel with such a product, for what is chosen once its warps are known. */
void cg_choose_for_chain(cg_func *c, const cg_watch *watch, cg_choices *room);

#endif
