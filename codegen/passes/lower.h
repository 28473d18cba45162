/* The lower pass: its parts. */
#ifndef TILEVM_CODEGEN_PASSES_LOWER_H
#define TILEVM_CODEGEN_PASSES_LOWER_H

#include "codegen/kernel/kernel.h"

/* ---- text around the ops (codegen/passes/kernel_text.c) ---- */

/* The PTX type of a parameter: a byte for i1 and i4, whose upper bits mean nothing. */
const char *cg_param_type(bc_kind kind);
/* Figures of the kernel, and its tile of most elements. */
void cg_remark_kernel(cg_func *c);

#endif
