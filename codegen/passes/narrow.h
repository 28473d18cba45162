/* Parts of the narrow pass. */
#ifndef TILEVM_CODEGEN_PASSES_NARROW_H
#define TILEVM_CODEGEN_PASSES_NARROW_H

#include "codegen/kernel/kernel.h"

/* Splits loads of which only single elements are used into loads of these elements (codegen/passes/narrow_loads.c). */
void cg_narrow_loads(cg_func *c);

#endif
