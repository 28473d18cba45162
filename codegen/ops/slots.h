/* Rings as lowered: between groups of warps (codegen/ops/groups.c, slots.c), the same ops. */
#ifndef TILEVM_CODEGEN_OPS_SLOTS_H
#define TILEVM_CODEGEN_OPS_SLOTS_H

#include "codegen/analysis/ring.h"

/* What lowering keeps of a ring: registers, unless it says otherwise. */
typedef struct cg_ring_state {
    cg_val read, write;             /* addresses of the slots that are read and written next; between groups, numbers */
    cg_val tiles[CG_RING_LOADS];    /* by load: its tile in the slot that is read */
    cg_val base, full;              /* the first slot, its barrier */
    cg_val read_phase, write_phase; /* which phases are awaited */
    cg_val freed;                   /* the barrier of a slot that will be free, 0: none */
    cg_val empty, arrives;          /* where consumers say that slots are free, and which threads do */
    uint32_t filled;                /* of threads' own: slots filled in front of the loop so far, */
    uint32_t behind_copies;         /* and the label behind copies that are not of any iteration; 0: no such copies */
    cg_val *ahead;                  /* of a turned product the first fragments of the slot that is read */
    cg_val put, put_count;          /* of the slots that are still to be put the first one, and how many they are */
    cg_val left, takes;             /* how many slots threads have left to fill at the start; whether none */
} cg_ring_state;

/* Where the tile of a `staged` op lies in the slot that is read; nothing before rings are lowered. */
cg_val cg_tile_in_slot(const ct_op *staged);

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
