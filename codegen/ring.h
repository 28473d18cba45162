/* Rings: tiles that loops load ahead of their iteration lie in slots of shared memory, whose number says how far ahead.
   The loads pass (codegen/loads.c, streams.c) decides what each loop has of it, the expand pass (codegen/expand.c) puts
   the ops of codegen/tile/ops.def into the loop, and codegen/op_ring.c says what they become. */
#ifndef TILEVM_CODEGEN_RING_H
#define TILEVM_CODEGEN_RING_H

#include "codegen/stage.h"
#include "codegen/view.h"

enum { CG_RING_LOADS = 4, CG_RING_PART_BITS = 3, CG_RING_BARRIER_BYTES = 16 /* of a slot, between groups */ };

/* A load that runs ahead. */
typedef struct cg_ring_load {
    ct_op *op;
    uint32_t fast; /* dimension of the tile that is contiguous in memory */
    cg_feed feed;
    cg_layout layout;                     /* of the copies over threads */
    uint32_t part_bit[CG_RING_PART_BITS]; /* bits of the tile's index that number the parts */
    cg_stage stage;                       /* as lowered: base is of the slot that is read */
    cg_layout places;                     /* by_threads: the registers of all threads in a slot, */
    uint32_t own_bytes;                   /* which take so many bytes */
    uint32_t offset;                      /* in a slot, bytes */
} cg_ring_load;

/* The detail of a loop that has one, of its `ring` and of the ops that have it as an operand. */
typedef struct cg_ring {
    cg_ring_load loads[CG_RING_LOADS];
    uint32_t load_count, slots, slot_bytes;
    bool *in_slice; /* by value id: made by an op of the body that the indices of loads need */
    uint32_t known; /* ids below it are in in_slice; later ones are not in the slice */
    uint32_t parts; /* log2 of the parts of K in which tiles come: a slot has one part */
    ct_op *product; /* that takes them, where there are parts, or it is turned */
    bool async;     /* wgmma reads it */
    ct_op *behind;  /* a product that every iteration comes by and behind which copies are started; NULL: at its head */
    bool in_flight; /* the product of an iteration runs on into the next one: a slot is free one iteration later */
    bool puts;      /* some tiles come from registers, not by copies */
    bool by_groups; /* one group of warps copies, the others read; barriers in shared memory are between them */
    bool by_threads; /* every thread reads what it has copied itself: no barriers (codegen/streams.c) */
    /* As lowered: addresses of the slots that are read and written next; by_groups, their numbers, */
    cg_val read, write;
    cg_val base, full, read_phase, write_phase; /* the first slot, its barrier, which phases are awaited, */
    uint32_t offset, barriers; /* by_groups: where slots and barriers lie in the memory of all rings, */
    cg_val freed;              /* the barrier of a slot that will be free, 0: none, */
    cg_val first_lane;         /* whether the thread is the first of its warp, */
    cg_val *ahead;             /* and of a turned product the first fragments of the slot that is read */
} cg_ring;

/* Is the op made again for each iteration that copies are started for? */
static inline bool cg_is_in_slice(const cg_ring *ring, const ct_op *op)
{
    return op->result_count && op->results[0].id < ring->known && ring->in_slice[op->results[0].id];
}

/* The detail of a `cursor`: of a load whose index along tile dimension `dim` is a loop's counter. */
typedef struct cg_ring_cursor {
    const cg_ring_load *load;
    uint32_t dim;
    cg_cursor at; /* as lowered */
} cg_ring_cursor;

/* The detail of a `copy`. */
typedef struct cg_ring_copy {
    const cg_ring_load *load;
    uint32_t part;
    cg_ring_cursor *cursor; /* that says where to copy from; NULL: the index does */
} cg_ring_copy;

/* The detail of a `later`: so many iterations. */
typedef struct cg_distance {
    uint32_t iterations;
} cg_distance;

/* log2 of the elements in 16 bytes of memory. */
uint32_t cg_chunk_bits(const bc_type *tile);
/* The ring of an op that has one as its operand `index`. */
static inline cg_ring *cg_ring_of(const ct_op *op, uint32_t index)
{
    return op->operands[index]->op->detail;
}

/* Why the threads cannot copy the load's tile to a slot, for products to read it there, all of them in the body unless
   that is NULL; a text for users. NULL: they can, and *out is how. */
const char *cg_load_obstacle(cg_func *c, ct_op *op, const ct_block *body, cg_ring_load *out);
/* For loops with a product that is turned, if it was made out that it cannot be: how their loads run ahead without
   (codegen/loads.c). */
void cg_loads_straight(cg_func *c);

/* Why the operands of a load in the loop with that body are not made only from its counter and values from outside: a
   text for users. NULL: they are; what makes them is marked as in the slice. Indices of views are made by scalar
   arithmetic, pointers and masks by tiles as well. */
const char *cg_ring_takes_view(cg_ring *ring, const ct_block *body, const ct_op *op);
const char *cg_ring_takes_pointers(cg_ring *ring, const ct_block *body, const ct_op *op);

/* A loop without products: which of its loads run ahead (codegen/streams.c). products: the kernel has some elsewhere.
 */
void cg_find_streams(cg_func *c, ct_op *loop, bool products);

/* Bytes of scratch that the ops of a block can do with, whatever layouts their tiles get; tiles that the ring's loads
   bring, or those of loops around, are with their products already. ring: may be NULL. */
uint32_t cg_scratch_least(cg_func *c, const ct_block *block, const cg_ring *ring);
/* Bytes of shared memory that the ring of a loop with that body may take, when what else is there gets as many as
   it can do with, and at least `rest`. 0: none, as with TV_OPT_NONE. */
uint32_t cg_shared_for_ring(cg_func *c, const ct_block *body, const cg_ring *ring, uint32_t rest);
/* What each block gets at least. */
uint32_t cg_shared_for_the_rest(const cg_func *c);
/* Bytes of all rings, behind expand: they share memory where their loops follow each other. */
uint32_t cg_ring_bytes(const cg_func *c);

/* Bytes of a load in a slot. */
uint32_t cg_ring_load_bytes(const cg_ring_load *load);
/* Puts the loads behind each other in a slot, whose bytes come back. */
uint32_t cg_ring_place_loads(cg_ring *ring);

/* ---- putting its ops in their places (codegen/ring.c, turn.c) ---- */

/* A `ring` in front of `place`, for the sake of the loop. NULL: no memory, as c says. */
ct_value *cg_ring_new(cg_func *c, cg_ring *ring, const ct_op *loop, ct_op *place);
/* An op on the ring alone, in no block; NULL: no memory. And one in front of or behind `place`. */
ct_op *cg_ring_op(cg_func *c, ct_opcode opcode, const ct_op *from, ct_value *ring);
void cg_ring_put(cg_func *c, ct_opcode opcode, ct_value *ring, ct_op *place);
void cg_ring_put_behind(cg_func *c, ct_opcode opcode, ct_value *ring, ct_op *place);
/* Behind `place`: the tile that the load has brought into registers goes into the ring. */
void cg_ring_put_load(cg_func *c, ct_op *load, const cg_ring_load *what, ct_value *ring, ct_op *place);
/* Do their slots hold the same, in the same places? */
bool cg_ring_is_like(const cg_ring *a, const cg_ring *b);
/* A load becomes a copy into the ring. */
void cg_ring_copy_load(cg_func *c, ct_op *op, const cg_ring_load *load, ct_value *ring);
/* The loads become what lies in the ring. */
void cg_ring_stage_loads(cg_func *c, cg_ring *ring, ct_value *value);
/* A cursor for the copy, which every iteration of the loop comes by, in front of the loop, where the index along one
   dimension is `counter` and all else is made before the loop. It is `first` in the first iteration. */
void cg_ring_put_cursor(cg_func *c, ct_op *copy, ct_op *loop, const ct_value *counter, ct_value *first);
/* Does every iteration come by what stands in the body itself? */
bool cg_is_straight(const ct_block *body);
/* A release wherever an iteration of the loop ends. */
void cg_ring_put_releases(cg_func *c, ct_op *loop, ct_value *ring);
/* The counter of the loop n iterations after the one of `start`, and whether there is one; in no block. NULL: no
 * memory. */
ct_op *cg_later_new(cg_func *c, const ct_op *loop, ct_value *start, uint32_t n);
/* All uses of a product's result wait for it, behind the op. Gives the op that waits. */
ct_op *cg_put_mma_await(cg_func *c, ct_value *product, ct_op *behind);

/* Behind a loop whose detail is a ring: nothing is on its way any more. */
void cg_ring_end(cg_func *c);

/* ---- rings between groups of warps (codegen/op_groups.c): the same ops ---- */

void cg_groups_ring(cg_func *c, cg_ring *ring);
/* The slot of the iteration before, which was read when the product of this one is the only one in flight. */
void cg_groups_free_last(cg_func *c, const cg_ring *ring);
/* There is only something to await where `more` is true. */
void cg_groups_await(cg_func *c, cg_ring *ring, cg_val more);
void cg_groups_release(cg_func *c, cg_ring *ring, cg_val more);
void cg_groups_commit(cg_func *c, cg_ring *ring);
void cg_groups_drain(cg_func *c, cg_ring *ring);
/* The address of the slot that copies go to, or that is read. */
cg_val cg_groups_slot(cg_func *c, const cg_ring *ring, cg_val number);

#endif
