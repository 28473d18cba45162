/* Chooses the plan of a kernel with products by the cost model. */
#ifndef TILEVM_CODEGEN_CHOOSE_PRODUCTS_H
#define TILEVM_CODEGEN_CHOOSE_PRODUCTS_H

#include "codegen/passes/pass.h"

/* As cg_choose_warps, of a kernel that does not only reduce or scan. */
void cg_choose_for_products(cg_func *c, const cg_watch *watch, cg_choices *room);

#endif
