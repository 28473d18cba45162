/* The text of a kernel around the instructions of its ops, and what is reported of it as a whole. */
#ifndef TILEVM_CODEGEN_TEXT_KERNEL_H
#define TILEVM_CODEGEN_TEXT_KERNEL_H

#include "codegen/kernel/kernel.h"

/* Loads the parameters into registers. */
void cg_load_params(cg_func *c);
/* The comment in front of the op's instructions, and with line_info the places in the program that it comes from. */
void cg_put_source(cg_func *c, const ct_op *op);
/* Appends the kernel's PTX, preceded by the declarations of the module that it needs. */
void cg_put_kernel(cg_func *c, bc_text *out);
/* Reports the kernel's figures, and its largest tile. */
void cg_remark_kernel(cg_func *c);

#endif
