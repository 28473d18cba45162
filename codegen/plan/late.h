/* Ops at the end of a kernel that are executed for a few elements of a thread at a time. */
#ifndef TILEVM_CODEGEN_PLAN_LATE_H
#define TILEVM_CODEGEN_PLAN_LATE_H

#include "codegen/kernel/kernel.h"

/* Sets ct_op.stretch: where such ops begin and end. */
void cg_find_late(cg_func *c);

#endif
