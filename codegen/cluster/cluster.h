/* Divides a tile block among the thread blocks of a cluster, or among the turns of one thread block
   (codegen/passes/cluster.c). */
#ifndef TILEVM_CODEGEN_CLUSTER_CLUSTER_H
#define TILEVM_CODEGEN_CLUSTER_CLUSTER_H

#include "codegen/plan/cluster.h"
#include "codegen/tile/build.h"

/* Divides the kernel. */
void cg_cluster_split(cg_spreading *x);

/* The type of a part of `whole`, the same one for the same arguments; types: those that were asked for. NULL: out of
   memory. */
typedef struct cg_parted cg_parted;
const bc_type *cg_parted_type(ct_func *f, cg_parted **types, const bc_type *whole, uint32_t axis, uint32_t parts);

/* The block's rank. blocks: their number, as a 64-bit value. NULL: out of memory. */
ct_value *cg_build_rank(ct_builder *b, ct_value *blocks);
/* Distributes the iterations of a persistent kernel's loop over that many blocks, each of which computes whole tiles.
   False: the kernel is not of this kind, the change would be observable, or memory has run out. */
bool cg_cluster_deal(cg_func *c, uint32_t blocks);

/* Adds an empty loop with the given bounds at the end of the kernel and returns its counter. NULL: out of memory. */
ct_value *cg_loop_begin(cg_func *c, ct_value *const bounds[3]);
/* The same for a loop over the parts, whose counter is the current turn. */
ct_value *cg_turns_begin(cg_func *c, uint32_t count);
/* Moves ops into the loop if they depend on the turn or have effects. */
void cg_turns_enclose(cg_func *c, const ct_value *turn);

#endif
