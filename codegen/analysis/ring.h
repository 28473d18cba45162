/* Rings: prefetched tiles of loops are in slots of shared memory, whose number is the prefetch distance. The loads pass
   (codegen/passes/loads.c, streams.c) chooses the rings of each loop, the expand pass (codegen/passes/expand.c) inserts
   the ops of codegen/tile/ops.def into the loop, and codegen/ops/ring.c lowers them. */
#ifndef TILEVM_CODEGEN_ANALYSIS_RING_H
#define TILEVM_CODEGEN_ANALYSIS_RING_H

#include "codegen/analysis/encoding.h"
#include "codegen/analysis/view.h"

enum { CG_BLOCK_BITS = 2 }; /* log2 of the elements along memory that a thread transposes at a time */
enum { CG_RING_LOADS = 6, CG_RING_PART_BITS = 3, CG_RING_BARRIER_BYTES = 16 /* of a slot, between groups */ };

/* A prefetched load. */
typedef struct cg_ring_load {
    ct_op *op;
    uint32_t fast; /* dimension of the tile that is contiguous in memory */
    cg_feed feed;
    cg_layout layout;                     /* of the copies over threads */
    uint32_t part_bit[CG_RING_PART_BITS]; /* bits of the tile's index that number the parts */
    cg_encoding encoding;
    cg_layout places;     /* by_threads or is_put: the registers of all threads in a slot, */
    uint32_t own_bytes;   /* which take so many bytes, */
    uint32_t vector_bits; /* in pieces of so many elements, as a logarithm */
    uint32_t offset;      /* in a slot, bytes */
    bool to_all;          /* by maps: each block of the cluster brings its share to all of them */
    bool is_rounded;      /* between groups: f32 comes as tf32, by maps or */
    bool is_put;          /* by the producers' threads, which */
    bool is_transposed;   /* may transpose it */
} cg_ring_load;

/* The detail of a loop with a ring, of its `ring` op and of the ops with the ring as an operand. */
typedef struct cg_ring {
    cg_ring_load loads[CG_RING_LOADS];
    uint32_t load_count, slots, slot_bytes;
    const char *why;        /* so many slots: a text for users */
    struct cg_ring *beside; /* of a loop's ring: another one that the loop has, by_threads: of loads whose tiles stay
                               for loops behind it, or may be there from a loop before (codegen/passes/keep.c); or
                               that products do not take as they are (codegen/passes/loads.c); NULL: there is none */
    struct cg_ring *again;  /* of such a ring behind the first loop: the first loop's, whose slots it has */
    bool last;              /* of a ring beside another one: no loop behind this one reads its slots */
    ct_value *value;        /* of such a ring: its op's, by expand */
    bool joined;            /* its copies are awaited with those of the loop's other ring */
    bool *in_slice;         /* by value id: made by an op of the body that the indices of loads need */
    uint32_t known;         /* ids below it are in in_slice; later ones are not in the slice */
    uint32_t parts;         /* log2 of the parts of K in which tiles come: a slot has one part */
    ct_op *product;         /* that takes them, where there are parts, or it is turned */
    bool async;             /* wgmma reads it */
    ct_op *behind;  /* a product that every iteration comes by and behind which copies are started; NULL: at its head */
    bool in_flight; /* the product of an iteration runs on into the next one: a slot is free one iteration later */
    bool rounds;    /* one of the loads is to be rounded to tf32, */
    bool puts;      /* and put for that */
    bool by_groups; /* one group of warps copies, the others read; barriers in shared memory are between them */
    bool by_maps;   /* so that one thread has the copy engine bring the tiles, by tensor maps */
    uint32_t at_start; /* by_maps: so many slots are filled by threads first, while the maps are made */
    bool to_all;       /* some of them come to all blocks of the cluster: a slot is free when it is in all */
    bool by_threads;   /* every thread reads what it has copied itself: no barriers (codegen/passes/streams.c) */
    bool refills;      /* by_threads: the slot of an iteration is filled anew as soon as its tiles are in registers */
    cg_layout
        threads; /* by_threads: the part of a thread, in bytes, of all places that the loads do not have themselves */
    uint32_t offset, barriers;   /* where slots and, by_groups, barriers lie in the memory of all rings */
    struct cg_ring_state *state; /* as lowered: codegen/ops/slots.h; NULL until then */
} cg_ring;

/* How many iterations copies run ahead. */
static inline uint32_t cg_ring_distance(const cg_ring *ring)
{
    return ring->refills ? ring->slots : ring->slots - 1;
}

/* Is the op repeated for each iteration for which copies are started? */
static inline bool cg_is_in_slice(const cg_ring *ring, const ct_op *op)
{
    return op->result_count && op->results[0].id < ring->known && ring->in_slice[op->results[0].id];
}

/* The detail of a `cursor`: of a load whose index along tile dimension `dim` is a loop's counter. */
typedef struct cg_ring_cursor {
    const cg_ring_load *load;
    uint32_t dim;
    cg_cursor *at; /* as lowered; NULL until then */
} cg_ring_cursor;

/* The detail of a `copy`. */
typedef struct cg_ring_copy {
    const cg_ring_load *load;
    uint32_t part;
    uint32_t trips;            /* in a loop over strips: what it copies is of a strip so many trips later, */
    bool wraps;                /* where that is behind the last one; else where it is not */
    cg_ring_cursor *cursor;    /* that says where to copy from; NULL: the index does */
    struct cg_tensor_map *map; /* by which the copy engine brings it; NULL: threads do (codegen/analysis/boxes.h) */
    bool at_start;             /* only to the ring's slots at_start */
} cg_ring_copy;

/* The detail of a `later`: so many iterations. */
typedef struct cg_distance {
    uint32_t iterations;
    cg_ring *ring; /* whose copies, up to the commit, are left out where there is no such iteration; NULL: none are */
} cg_distance;

/* log2 of the elements in 16 bytes of memory. */
uint32_t cg_chunk_bits(const bc_type *tile);
/* The ring of an op that has one as its operand `index`. */
static inline cg_ring *cg_ring_of(const ct_op *op, uint32_t index)
{
    return op->operands[index]->op->detail;
}

/* The ring load whose slot holds v, or the value that v reinterprets; NULL: v is in registers. */
const cg_encoding *cg_encoding_of(const ct_value *v);
/* Converts a layout of v, which is in an encoding, to a layout of positions there. */
cg_layout cg_encoding_layout_of(const ct_value *v, const cg_layout *l);

/* Bytes of a load in a slot. */
uint32_t cg_ring_load_bytes(const cg_ring_load *load);
/* Assigns the loads consecutive offsets in a slot, and returns its size in bytes. */
uint32_t cg_ring_place_loads(cg_ring *ring);
/* by_threads: takes the part of the thread out of all loads' places, where it is the same number of bytes in all. */
void cg_ring_share_threads(cg_ring *ring);

#endif
