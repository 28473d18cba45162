/* Rings as lowered: between groups of warps (codegen/ops/groups.c, slots.c), the same ops. */
#ifndef TILEVM_CODEGEN_OPS_SLOTS_H
#define TILEVM_CODEGEN_OPS_SLOTS_H

#include "codegen/analysis/ring.h"

/* Behind a loop with a ring: nothing is on its way any more. */
void cg_add_ring_end(cg_func *c, ct_op *loop, const cg_ring *ring);
void cg_ring_end(cg_func *c, const ct_op *loop);

void cg_groups_ring(cg_func *c, cg_ring *ring);
/* The slot of the iteration before, which was read when the product of this one is the only one in flight. */
void cg_groups_free_last(cg_func *c, const cg_ring *ring);
/* There is only something to await where `more` is true. */
void cg_groups_await(cg_func *c, const ct_op *op, cg_val more);
void cg_groups_release(cg_func *c, const ct_op *op, cg_val more);
/* A slot has been put. */
void cg_groups_put_next(cg_func *c, const cg_ring *ring);
void cg_groups_commit(cg_func *c, cg_ring *ring);
/* The slots that are filled while maps are made (codegen/ops/start.c): none is yet. */
void cg_starts_begin(cg_func *c);
/* On to the label that comes back where the ring has got all of those. */
uint32_t cg_starts_unless_done(cg_func *c, const cg_ring *ring);
/* Of producers: waits until all slots are free. */
void cg_groups_empty(cg_func *c, cg_ring *ring);
void cg_groups_drain(cg_func *c, cg_ring *ring);
/* The address of the slot that copies go to, or that is read. */
cg_val cg_groups_slot(cg_func *c, const cg_ring *ring, cg_val number);
/* The barrier of a slot: `full`, or the one that lies `offset` behind it. */
cg_val cg_groups_barrier(cg_func *c, const cg_ring *ring, cg_val number, uint32_t offset);
/* Consumers have read a slot. */
void cg_groups_arrive(cg_func *c, const cg_ring *ring, cg_val arrives, cg_val barrier);

#endif
