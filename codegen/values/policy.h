/* How L2 is to keep what is loaded. */
#ifndef TILEVM_CODEGEN_VALUES_POLICY_H
#define TILEVM_CODEGEN_VALUES_POLICY_H

#include "codegen/kernel/kernel.h"

/* The policy of a load, or of an op that was made for one, 64 bits that are made once, at the start of the kernel: what
   is read once (codegen/analysis/once.h) is evicted first. id 0: the usual one. Source: PTX ISA, "createpolicy". */
cg_val cg_policy_of(cg_func *c, const ct_op *op);

#endif
