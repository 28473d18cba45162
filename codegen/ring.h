/* Rings: tiles that loops load ahead of their iteration lie in slots of shared memory, whose number says how far ahead.
   The loads pass (codegen/loads.c) decides what each loop has of it, the expand pass (codegen/expand.c) puts the ops of
   codegen/tile/ops.def into the loop, and codegen/op_ring.c says what they become. */
#ifndef TILEVM_CODEGEN_RING_H
#define TILEVM_CODEGEN_RING_H

#include "codegen/stage.h"
#include "codegen/view.h"

enum { CG_RING_LOADS = 4, CG_RING_PART_BITS = 3 };

/* A load that runs ahead. */
typedef struct cg_ring_load {
    ct_op *op;
    uint32_t fast; /* dimension of the tile that is contiguous in memory */
    cg_feed feed;
    cg_layout layout;                     /* of the copies over threads */
    uint32_t part_bit[CG_RING_PART_BITS]; /* bits of the tile's index that number the parts */
    cg_stage stage;                       /* as lowered: base is of the slot that is read */
    uint32_t offset;                      /* in a slot, bytes */
} cg_ring_load;

/* The detail of a loop that has one, of its `ring` and of the ops that have it as an operand. */
typedef struct cg_ring {
    cg_ring_load loads[CG_RING_LOADS];
    uint32_t load_count, slots, slot_bytes;
    bool *in_slice; /* by value id: made by an op of the body that the indices of loads need */
    uint32_t known; /* ids below it are in in_slice; later ones are not in the slice */
    uint32_t parts; /* log2 of the parts of K in which tiles come: a slot has one part */
    ct_op *product; /* that takes them, where there are parts */
    bool async;     /* wgmma reads it */
    ct_op *behind;  /* a product that every iteration comes by and behind which copies are started; NULL: at its head */
    cg_val read, write; /* as lowered: addresses of slots */
} cg_ring;

/* Is the op made again for each iteration that copies are started for? */
static inline bool cg_is_in_slice(const cg_ring *ring, const ct_op *op)
{
    return op->result_count && op->results[0].id < ring->known && ring->in_slice[op->results[0].id];
}

/* The detail of a `copy`. */
typedef struct cg_ring_copy {
    const cg_ring_load *load;
    uint32_t part;
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

#endif
