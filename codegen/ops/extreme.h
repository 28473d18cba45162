/* The smallest or largest of many registers, as tests of several elements at once want it (quotients.c, powers.c). */
#ifndef TILEVM_CODEGEN_OPS_EXTREME_H
#define TILEVM_CODEGEN_OPS_EXTREME_H

#include "codegen/kernel/kernel.h"

enum { CG_EXTREME_LANES = 4 /* so that instructions need not wait for each other */ };

/* A minimum or maximum so far; begins with the instruction alone, as in {.ins = "max.u32"}. */
typedef struct cg_extreme {
    const char *ins;
    cg_val lanes[CG_EXTREME_LANES];
    uint32_t count; /* of values that were taken */
} cg_extreme;

/* One more value, a register of 32 bits. */
void cg_extreme_take(cg_func *c, cg_extreme *x, cg_val value);
/* Of all that were taken: one at least. */
cg_val cg_extreme_of(cg_func *c, const cg_extreme *x);

#endif
