/* Chooses rings and warps of single products by what their copies wait for (codegen/choose_products.h). */
#ifndef TILEVM_CODEGEN_CHOOSE_RINGS_H
#define TILEVM_CODEGEN_CHOOSE_RINGS_H

#include "codegen/passes/pass.h"

/* In all, *room keeps the choices, if they change. */
void cg_choose_rings(cg_func *c, const cg_watch *watch, cg_choices *room);
/* Gives products by mma.sync half of their warps if that is predicted to be clearly faster. */
void cg_halve_warps(cg_func *c, const cg_watch *watch, cg_choices *room);
/* Gives a product by mma.sync two stages if that brings many more blocks to a multiprocessor. */
void cg_prefer_blocks(cg_func *c, const cg_watch *watch, cg_choices *room);

#endif
