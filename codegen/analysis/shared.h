/* Shared memory: the amount that ops need, whatever layouts their tiles get, and the amount that is left for rings.
   This is an estimate, because the effects that the shared pass uses depend on layouts, and layouts depend on rings:
   a tile that products read in a ring has no layout, and groups change the number of warps. To use the effects, all
   passes up to that one would have to run for each number of slots. Rings that are created after layouts do use them
   (codegen/passes/ahead.c). */
#ifndef TILEVM_CODEGEN_ANALYSIS_SHARED_H
#define TILEVM_CODEGEN_ANALYSIS_SHARED_H

#include "codegen/analysis/ring.h"

/* The least number of bytes of scratch that the ops of a block need, whatever layouts their tiles get. Tiles in the
   ring, or in rings of enclosing loops, need none. ring may be NULL. */
uint32_t cg_scratch_least(cg_func *c, const ct_block *block, const cg_ring *ring);
/* The bytes of `all` that rings may take beside so much scratch (at most 1 << 30 bytes): the rings start at a multiple
   of CG_ENCODING_ALIGN behind it, and what they leave counts in whole multiples (cg_scratch_room). */
uint32_t cg_shared_beside(uint32_t all, uint32_t scratch);
/* The bytes of shared memory that the ring of a loop with that body may take if all other ops get the least that
   they need, and at least `rest`. 0: none, as with TV_OPT_NONE. */
uint32_t cg_shared_for_ring(cg_func *c, const ct_block *body, const cg_ring *ring, uint32_t rest);
/* The least amount that every kernel leaves for other ops. */
uint32_t cg_shared_for_the_rest(const cg_func *c);

#endif
