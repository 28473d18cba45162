/* Registers that a loop's wgmma instructions read as their left operand, and that the loop does not write.

   ptxas before CUDA 13.1, and so the compiler of drivers up to 580, may give such registers to other values of the loop
   as soon as the product has read them; the next iteration then multiplies those. Registers that the loop writes are
   safe. So behind such a loop stands a branch back into it that zeroes them and is never taken, which costs nothing in
   the loop; ptxas does not know that it is never taken. */
#ifndef TILEVM_CODEGEN_OPS_HELD_H
#define TILEVM_CODEGEN_OPS_HELD_H

#include "codegen/kernel/kernel.h"

typedef struct cg_held {
    struct cg_held *outer;           /* of the loop around */
    uint32_t before[CG_CLASS_COUNT]; /* the newest registers from before the loop, by class */
    cg_val *regs;
    size_t count, capacity;
} cg_held;

/* The loop begins; registers that are made from now on are its own. */
void cg_held_begin(cg_func *c, cg_held *held);
/* A wgmma instruction reads its left operand from that register, or from one that is computed from it alone. */
void cg_hold(cg_func *c, cg_val reg);
/* What is emitted next runs when the loop has ended, which begins at the label `head`. */
void cg_held_end(cg_func *c, const cg_held *held, uint32_t head);

#endif
