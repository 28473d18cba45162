/* Lowering of products by tcgen05, for the files that emit what is around them. */
#ifndef TILEVM_CODEGEN_OPS_TCGEN05_H
#define TILEVM_CODEGEN_OPS_TCGEN05_H

#include "codegen/kernel/kernel.h"

/* Loads the sum whose end the op is. False: it is the end of none. */
bool cg_take_sum(cg_func *c, const ct_op *op);

#endif
