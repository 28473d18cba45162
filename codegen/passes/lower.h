/* Parts of the lower pass. */
#ifndef TILEVM_CODEGEN_PASSES_LOWER_H
#define TILEVM_CODEGEN_PASSES_LOWER_H

#include "codegen/kernel/kernel.h"

/* ---- the text around the ops (codegen/passes/kernel_text.c) ---- */

/* The PTX type of a parameter: a byte for i1 and i4, whose upper bits are ignored. */
const char *cg_param_type(bc_kind kind);
/* Reports the kernel's figures, and its largest tile. */
void cg_remark_kernel(cg_func *c);

#endif
