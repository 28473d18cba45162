/* How many thread blocks of a kernel a multiprocessor must have registers for. */
#ifndef TILEVM_CODEGEN_PLAN_BLOCKS_TOLD_H
#define TILEVM_CODEGEN_PLAN_BLOCKS_TOLD_H

#include "codegen/kernel/kernel.h"

/* The blocks for which ptxas is to leave registers, once the kernel has layouts. 0: it is not told. */
uint32_t cg_blocks_told(cg_func *c);
/* The blocks that the occupancy hint asks for, as far as there are registers for the tiles of their threads.
   out_held: those of a thread for its tiles. */
uint32_t cg_blocks_beside_hint(cg_func *c, uint32_t *out_held);

/* Does a thread load the tile in several accesses, each shorter than 16 bytes? */
bool cg_is_loaded_in_parts(cg_func *c, const ct_op *load);

#endif
