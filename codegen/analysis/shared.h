/* Shared memory: what ops need of it, whatever layouts their tiles get, and what is left for rings. An estimate, as the
   effects that the shared pass asks follow from layouts, and layouts from which rings there are: a tile that products
   read in a ring chooses none, and groups change the warps. To ask them, all passes up to that one would run for each
   number of slots. Rings that are made behind layouts do ask (codegen/passes/ahead.c). */
#ifndef TILEVM_CODEGEN_ANALYSIS_SHARED_H
#define TILEVM_CODEGEN_ANALYSIS_SHARED_H

#include "codegen/analysis/ring.h"

/* Bytes of scratch that the ops of a block can do with, whatever layouts their tiles get; tiles that the ring's loads
   bring, or those of loops around, are with their products already. ring: may be NULL. */
uint32_t cg_scratch_least(cg_func *c, const ct_block *block, const cg_ring *ring);
/* Bytes of shared memory that the ring of a loop with that body may take, when what else is there gets as many as
   it can do with, and at least `rest`. 0: none, as with TV_OPT_NONE. */
uint32_t cg_shared_for_ring(cg_func *c, const ct_block *body, const cg_ring *ring, uint32_t rest);
/* What each block gets at least. */
uint32_t cg_shared_for_the_rest(const cg_func *c);

#endif
