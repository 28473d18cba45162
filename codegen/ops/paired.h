/* Neighbours of 1 or 2 bytes that threads load one by one. */
#ifndef TILEVM_CODEGEN_OPS_PAIRED_H
#define TILEVM_CODEGEN_OPS_PAIRED_H

#include "codegen/kernel/kernel.h"

/* Are the elements that a load gives, one by one, better put into words, since only products read the tile, as it is?
   l: its layout; fast: the dimension along which elements lie side by side in memory. */
bool cg_are_paired(const ct_value *tile, const cg_layout *l, uint32_t fast);
/* Puts `count` of them, each in a register of 32 bits or known, into words of two or four. */
void cg_pair_elements(cg_func *c, bc_kind kind, cg_val *regs, uint32_t count);

#endif
