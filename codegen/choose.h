/* Chooses the number of warps of a kernel by the cost model. */
#ifndef TILEVM_CODEGEN_CHOOSE_H
#define TILEVM_CODEGEN_CHOOSE_H

#include "codegen/passes/pass.h"

/* Replaces c->choices if the kernel cannot be compiled for a pair of thread blocks that its hint asks for, or if one
   block is predicted to multiply with scales in clearly less time. Which operands fit is known only when layouts and
   rings are, and half of an operand is of no use to a single block. As for cg_choose_warps. */
void cg_choose_pair(cg_func *c, const cg_watch *watch, cg_choices *room);
/* Replaces c->choices if the model predicts that the kernel is clearly faster with fewer warps than the passes give
   it. *c is ready for the first pass, before and after; *room holds the new choices, and has to live as long as *c. */
void cg_choose_warps(cg_func *c, const cg_watch *watch, cg_choices *room);

#endif
