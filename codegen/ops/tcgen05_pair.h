/* Thread blocks that multiply as a pair (codegen/ops/tcgen05_pair.c). */
#ifndef TILEVM_CODEGEN_OPS_TCGEN05_PAIR_H
#define TILEVM_CODEGEN_OPS_TCGEN05_PAIR_H

#include "codegen/analysis/ring.h"
#include "codegen/analysis/tcgen05.h"

/* Initialises the barriers of tensor memory, in one thread, before the blocks of the pair meet for the first time. */
void cg_pair_init(cg_func *c, cg_val barriers);
/* All threads of both blocks, including producers, meet. */
void cg_pair_meet(cg_func *c);
/* Begins the state of the block. barriers: their address. Returns the predicate of the thread that issues products. */
cg_val cg_pair_begin(cg_func *c, cg_val barriers);
/* The issuer waits until the first thread of the other block has come here. That thread does not wait, so it must wait
   for a commit before it comes here again: the issuer would miss a phase. ahead: of products that run ahead, which have
   commits and a barrier of their own. */
void cg_pair_ready(cg_func *c, bool ahead);
/* The first warps of both blocks, which alone execute this, wait for each other. */
void cg_pair_end(cg_func *c);

/* One thread of each warp arrives at the leader's barrier at the place of this block's; the leader waits for it. */
void cg_pair_arrive(cg_func *c, cg_val barrier);
void cg_pair_await(cg_func *c, cg_val barrier, cg_val phase);

/* Do the copies for both blocks arrive at the leader's barriers of the ring, because one thread multiplies for both?
   Why it is right: that thread is the only one that reads `full`; a block copies to a slot again only when the product
   that has read it is complete, and then the leader's barrier is in its next phase. */
bool cg_pair_shares(const cg_func *c, const cg_ring *ring);
/* The leader's barrier at the place of this block's. */
cg_val cg_pair_leader(cg_func *c, cg_val barrier);

/* Do threads copy some tiles of such a ring, scales, beside the copy engine? They arrive at the barrier of their own
   block, where the first thread of each block awaits them; that of the other block then arrives at the leader's barrier
   for them. It misses no phase: threads copy to a slot again behind the commit of the product that has read it, and the
   leader has waited for this arrival before it. */
bool cg_pair_passes_on(const cg_func *c, const cg_ring *ring);
/* The first thread of each block executes what follows, up to the label. */
uint32_t cg_pair_begin_first(cg_func *c);
void cg_pair_pass_on(cg_func *c, cg_val barrier);

#endif
