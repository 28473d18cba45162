/* What lowering has around the op at hand: for the ops that open and leave it. */
#ifndef TILEVM_CODEGEN_OPS_LOWERING_H
#define TILEVM_CODEGEN_OPS_LOWERING_H

#include "codegen/kernel/kernel.h"

typedef struct cg_lowering {
    cg_hook *visit;            /* what the pass does with the ops of a region (codegen/ops/regions.c) */
    struct cg_loop *loop;      /* the innermost one (codegen/ops/control.c) */
    struct cg_alloca *allocas; /* storage that open blocks have (codegen/ops/alloca.c) */
    struct cg_tables *tables;  /* of constants, that the kernel has so far (codegen/ops/constant.c) */
} cg_lowering;

#endif
