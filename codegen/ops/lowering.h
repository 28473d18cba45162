/* The state of lowering around the current op, for ops that open or leave it. */
#ifndef TILEVM_CODEGEN_OPS_LOWERING_H
#define TILEVM_CODEGEN_OPS_LOWERING_H

#include "codegen/kernel/kernel.h"

typedef struct cg_lowering {
    cg_hook *visit;            /* for the ops of a region (codegen/ops/regions.c) */
    struct cg_loop *loop;      /* the innermost one (codegen/ops/control.c) */
    struct cg_held *held;      /* its registers that seem to be written (codegen/ops/held.h); NULL: no loop */
    struct cg_alloca *allocas; /* storage of open blocks (codegen/ops/alloca.c) */
    struct cg_tables *tables;  /* of the kernel's constants so far (codegen/ops/constant.c) */
    size_t stretch;            /* where the text of ops begins that are executed store by store (codegen/plan/late.h) */
} cg_lowering;

#endif
