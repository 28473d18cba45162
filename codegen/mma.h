/* What other parts ask about products. */
#ifndef TILEVM_CODEGEN_MMA_H
#define TILEVM_CODEGEN_MMA_H

#include "codegen/lower.h"

/* Is operand `index` of the op one that it reads by ldmatrix from a stage of the operand's own rows and columns? */
bool cg_mma_takes_stage(const cg_func *c, const bc_op *op, uint32_t index);

#endif
