/* The lowered state of rings, and the ring ops between groups of warps (codegen/ops/groups.c, slots.c). */
#ifndef TILEVM_CODEGEN_OPS_SLOTS_H
#define TILEVM_CODEGEN_OPS_SLOTS_H

#include "codegen/access/pointers.h"
#include "codegen/analysis/ring.h"

/* The state of a ring during lowering: registers, unless the field says otherwise. */
typedef struct cg_ring_state {
    cg_val read, write;             /* addresses, or between groups numbers, of the slots that are read and written
                                       next */
    cg_val tiles[CG_RING_LOADS];    /* by load: its tile in the slot that is read */
    cg_val base, full;              /* the first slot and its barrier */
    cg_val read_phase, write_phase; /* the phases that are awaited */
    cg_val freed;                   /* the barrier of the slot that is released next, 0: none */
    cg_val empty, arrives;          /* the barriers at which consumers release slots, and the predicate of the
                                       threads that arrive there */
    uint32_t filled;                /* in rings of threads: slots filled in front of the loop so far */
    uint32_t behind_copies;         /* in rings of threads: the label behind copies for iterations that do not exist;
                                       0: no such copies */
    cg_val *ahead;                  /* the first fragments of the slot that is read, for a transposed product */
    cg_val put, put_count;          /* the first of the slots that are still to be written back, and their number */
    cg_val left, takes;             /* the number of slots that threads still have to fill at the start; whether
                                       there are none */
    cg_val leads;                   /* in a pair that shares its barriers `full`: whether the block is the leader */
} cg_ring_state;

/* The address of a `staged` op's tile in the slot that is read; no value before rings are lowered. */
cg_val cg_tile_in_slot(const ct_op *staged);

/* The thread waits until the phase of the barrier with that parity is complete. */
void cg_await_phase(cg_func *c, cg_val barrier, cg_val phase);

/* The end of a ring behind its loop, after which no copy is in flight. */
void cg_add_ring_end(cg_func *c, ct_op *loop, const cg_ring *ring);
void cg_ring_end(cg_func *c, const ct_op *loop);

/* Zeroes what products read behind tiles, and between scales, in all slots. Threads must meet before they copy to
   these. False: there is nothing to zero. */
bool cg_ring_zero_gaps(cg_func *c, const cg_ring *ring);

void cg_groups_ring(cg_func *c, cg_ring *ring);
/* Releases the slot of the previous iteration. It has been read once the product of this iteration is the only one
   in flight. */
void cg_groups_free_last(cg_func *c, const cg_ring *ring);
/* Awaits the next slot if `more` is true. */
void cg_groups_await(cg_func *c, const ct_op *op, cg_val more);
void cg_groups_release(cg_func *c, const ct_op *op, cg_val more);
/* Advances to the next slot to be written back. */
void cg_groups_put_next(cg_func *c, const cg_ring *ring);
void cg_groups_commit(cg_func *c, const ct_op *op);
/* Begins the program that fills slots while maps are built (codegen/ops/start.c): no slot is filled yet. */
void cg_starts_begin(cg_func *c);
/* Jumps to the returned label if all of these slots of the ring are filled. */
uint32_t cg_starts_unless_done(cg_func *c, const cg_ring *ring);
/* In producers: waits until all slots are free. */
void cg_groups_empty(cg_func *c, cg_ring *ring);
void cg_groups_drain(cg_func *c, cg_ring *ring);
/* The address of the slot that copies go to, or that is read. */
cg_val cg_groups_slot(cg_func *c, const cg_ring *ring, cg_val number);
/* The barrier of a slot: `full`, or the one `offset` bytes after it. */
cg_val cg_groups_barrier(cg_func *c, const cg_ring *ring, cg_val number, uint32_t offset);
/* Signals that consumers have read a slot. */
void cg_groups_arrive(cg_func *c, const cg_ring *ring, cg_val arrives, cg_val barrier);

/* Do the op and the load that it was made from go through pointers? */
static inline bool cg_copies_by_pointers(const ct_op *op)
{
    return op->from->opcode == OP_load_ptr_tko;
}
/* The pointers of such an op, in accesses that are no longer than a copy. */
cg_ptr_op cg_copied_pointers(const ct_op *op);

#endif
