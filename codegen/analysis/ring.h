/* Rings: prefetched tiles of loops are in slots of shared memory, whose number is the prefetch distance. The loads pass
   (codegen/passes/loads.c, streams.c) chooses the rings of each loop, the expand pass (codegen/passes/expand.c) inserts
   the ops of codegen/tile/ops.def into the loop, and codegen/ops/ring.c lowers them. */
#ifndef TILEVM_CODEGEN_ANALYSIS_RING_H
#define TILEVM_CODEGEN_ANALYSIS_RING_H

#include "codegen/analysis/encoding.h"
#include "codegen/analysis/view.h"

enum { CG_BLOCK_BITS = 2 }; /* log2 of the elements along memory that a thread transposes at a time */
enum { CG_RING_LOADS = 6, CG_RING_PART_BITS = 3, CG_RING_BARRIER_BYTES = 16 /* of a slot, between groups */ };

/* How a tile gets from memory to products. */
typedef enum cg_passage {
    CG_UNCHANGED,
    CG_ROUNDED_BY_PRODUCT,    /* the slot holds f32; the product rounds its fragments to tf32 */
    CG_ROUNDED_BY_MAP,        /* the copy engine rounds f32 to tf32 */
    CG_TRANSPOSED_BY_THREADS, /* through registers of the producers, which transpose it */
    CG_ROUNDED_BY_THREADS,    /* through their registers, which round f32 to tf32, and may transpose it */
} cg_passage;

/* A prefetched load. */
typedef struct cg_ring_load {
    ct_op *op;
    uint32_t fast; /* dimension of the tile that is contiguous in memory */
    cg_feed feed;
    cg_passage passage;
    bool to_all;      /* by maps: each block of the cluster copies its part to all of them */
    bool by_threads;  /* in a ring by maps: the copy engine cannot copy it (codegen/groups/maps.c) */
    cg_layout layout; /* of the copies over threads */
    uint32_t part_bit[CG_RING_PART_BITS]; /* bits of the tile's index that number the parts */
    cg_encoding encoding;
    cg_layout places;      /* in rings of threads, or if the tile passes through registers: the offsets of all
                             threads' registers in a slot */
    uint32_t own_bytes;    /* the bytes of these registers */
    const ct_op *computed; /* consumers read the tile into registers, from which they compute the left operand of this
                              product; NULL: products read it in the slot, or the threads that copied it do */
    uint32_t vector_bits;  /* log2 of the elements in a piece */
    uint32_t offset;       /* in a slot, bytes */
    uint32_t beyond;       /* the bytes behind it that its product reads, too (cg_tcgen05_beyond) */
    uint32_t zero_at, zero_bytes; /* what it reads there and in the tile that nobody copies, which is zero from the
                                     start: in a slot */
} cg_ring_load;

/* Who copies the tiles of a ring, and who reads them. */
typedef enum cg_ring_role {
    CG_RING_OF_BLOCK,   /* all threads, with barriers of the block between copies and products */
    CG_RING_OF_THREADS, /* each thread reads what it has copied itself: no barriers (codegen/plan/streams.c) */
    CG_RING_OF_GROUPS,  /* one group of warps copies, the others read, with barriers in shared memory between them */
    CG_RING_OF_MAPS,    /* the same, but one thread has the copy engine bring the tiles, by tensor maps */
} cg_ring_role;

/* When a slot may be refilled. */
typedef enum cg_slot_end {
    CG_FREE_BEHIND_ITERATION,
    CG_FREE_ONCE_READ,       /* in rings of threads: as soon as its tiles are in registers, so that one slot is
                                enough */
    CG_FREE_ITERATION_LATER, /* between groups: the product of an iteration is still in flight in the next one */
    CG_FREE_WHEN_MULTIPLIED, /* between groups: one thread awaits slots and issues products, whose completion frees
                                the slots (tcgen05) */
} cg_slot_end;

/* A load of which addresses of a ring's loads depend, such as that of an entry of a page table. It runs further ahead
   than they do, into registers. */
typedef struct cg_source {
    ct_op *load;
    uint32_t level; /* 1, or one more than the level of the sources that its own address depends on */
} cg_source;

/* Ops of a loop's body that the operands of its loads need: they are repeated for the iterations whose tiles are
   copied. */
typedef struct cg_slice {
    bool *has;      /* by value id; sources and what only they need are not in it */
    uint32_t known; /* ids below it are in the table; later values are not in the slice */
    bool of_loads;  /* a load of the loop may be one of these: */
    cg_source *sources;
    uint32_t source_count, levels; /* levels: the highest one */
} cg_slice;

/* A ring of a loop's plan, and the detail of its `ring` op. */
typedef struct cg_ring {
    cg_ring_load loads[CG_RING_LOADS];
    uint32_t load_count, slots, slot_bytes;
    const char *why; /* why it has this number of slots: a text for users */
    cg_ring_role role;
    cg_slot_end end;
    cg_slice slice;
    uint32_t parts;        /* log2 of the K slices of a tile: a slot holds one slice */
    ct_op *product;        /* that reads the tiles, if they come in K slices or it is transposed; otherwise NULL */
    bool async;            /* an asynchronous product reads it */
    ct_op *behind;         /* a product that every iteration executes and after which copies are started; NULL: they are
                       started at its head */
    uint32_t at_start;     /* by maps: the number of slots that threads fill first, while the maps are built */
    cg_layout threads;     /* in rings of threads: the offset in bytes by thread, which is common to all loads and not
                          part of their places */
    bool joined;           /* a second ring of the loop, whose copies are awaited with those of the first one */
    bool last;             /* no later loop reads its slots */
    uint32_t room;         /* of tiles that are stowed (codegen/plan/stow.c): the bytes that all rings may take which
                              are live with it */
    struct cg_ring *again; /* in a later loop that loads kept tiles: the ring of the first loop, whose slots it reads */
    ct_value *value;       /* the result of its op, set by expand */
    uint32_t offset, barriers;   /* offsets of slots and, between groups, of barriers in the memory of all rings */
    struct cg_ring_state *state; /* as lowered: codegen/ops/slots.h; NULL until then */
} cg_ring;

/* The plan of a loop. It is the loop's detail until the ops of its rings are inserted, and as long as the rings
   live. */
typedef struct cg_plan {
    cg_ring *ring;    /* the ring of tiles that products, or the threads that copied them, read; NULL: none */
    cg_ring *beside;  /* a ring of threads for loads whose tiles are kept for later loops or by an earlier one
                        (codegen/plan/keep.c), or that products cannot read unchanged (codegen/passes/loads.c);
                        NULL: none */
    bool not_for_one; /* a loop that turns out to have a single iteration runs without the ring */
} cg_plan;

/* The plan of an op, if it is a loop with one. */
static inline cg_plan *cg_plan_of(const ct_op *op)
{
    return op->opcode == OP_for ? op->detail : NULL;
}

/* Does a loop around the op have a plan? The second function: does a loop in the block have one? */
bool cg_is_in_plan(const ct_op *op);
bool cg_has_plan(const ct_block *block);

static inline bool cg_is_between_groups(const cg_ring *ring)
{
    return ring->role >= CG_RING_OF_GROUPS;
}
static inline bool cg_is_transposed(const cg_ring_load *load)
{
    return load->feed == CG_FEED_ACROSS;
}
/* Do threads, not products, read the tile from a slot that others have filled? */
static inline bool cg_is_read_by_threads(const cg_ring_load *load)
{
    return load->feed == CG_FEED_THREADS;
}
static inline bool cg_is_put(const cg_ring_load *load)
{
    return load->passage >= CG_TRANSPOSED_BY_THREADS;
}
/* Do threads copy the tile, not the copy engine? */
static inline bool cg_is_copied_by_threads(const cg_ring *ring, const cg_ring_load *load)
{
    return ring->role != CG_RING_OF_MAPS || load->by_threads;
}
/* The same for any tile of the ring. */
bool cg_ring_is_of_threads(const cg_ring *ring);
/* Is the tile tf32 in its slot, although it is f32 in memory? */
static inline bool cg_is_rounded(const cg_ring_load *load)
{
    return load->passage == CG_ROUNDED_BY_MAP || load->passage == CG_ROUNDED_BY_THREADS;
}
/* Do products read some of its tiles in their slots? Do threads? */
bool cg_ring_has_tiles(const cg_ring *ring);
bool cg_ring_has_rows(const cg_ring *ring);
/* The first function: do some of its tiles pass through producers' registers (`put`)? The second: are some rounded,
   possibly by the product? The third: are some multicast to all blocks of the cluster, so that a slot is free when
   all blocks have released it? */
bool cg_ring_puts(const cg_ring *ring);
bool cg_ring_rounds(const cg_ring *ring);
bool cg_ring_to_all(const cg_ring *ring);

/* Creates a ring without loads and with an empty slice. NULL: out of memory, which c records. */
cg_ring *cg_ring_plan(cg_func *c, cg_ring_role role);

/* How many iterations copies run ahead. */
static inline uint32_t cg_ring_distance(const cg_ring *ring)
{
    return ring->end == CG_FREE_ONCE_READ ? ring->slots : ring->slots - 1;
}

/* The iterations for which an iteration starts copies, counted from itself: if a slot holds a K slice, there are two of
   them. */
static inline uint32_t cg_ring_nearest(const cg_ring *ring)
{
    return cg_ring_distance(ring) >> ring->parts;
}
static inline uint32_t cg_ring_farthest(const cg_ring *ring)
{
    return (cg_ring_distance(ring) + (1u << ring->parts) - 1) >> ring->parts;
}

/* Is the op repeated for each iteration for which copies are started? */
static inline bool cg_is_in_slice(const cg_ring *ring, const ct_op *op)
{
    const cg_slice *slice = &ring->slice;
    return op->result_count && op->results[0].id < slice->known && slice->has[op->results[0].id];
}

/* The detail of a `cursor` for a load whose index along tile dimension `dim` grows by the loop's step, multiplied by
   `times` and divided by `by`, in each iteration. */
typedef struct cg_ring_cursor {
    const cg_ring_load *load;
    bool lines; /* each thread reaches the lines that it prefetches, not the pieces that it copies */
    uint32_t dim;
    bool starts_before; /* the first tiles may be in front of the tensor */
    int64_t times, by;
    cg_cursor *at; /* as lowered; NULL until then */
} cg_ring_cursor;

/* The detail of a `copy`. */
typedef struct cg_ring_copy {
    const cg_ring_load *load;
    uint32_t part;
    uint32_t trips;            /* in a loop over strips: it copies for the strip that is so many trips later, */
    bool wraps;                /* executed if that is past the last trip; otherwise, if it is not */
    cg_ring_cursor *cursor;    /* that gives the source address; NULL: the index does */
    struct cg_tensor_map *map; /* with which the copy engine copies; NULL: threads copy (codegen/analysis/boxes.h) */
    bool at_start;             /* it fills only the first `at_start` slots of the ring */
} cg_ring_copy;

/* The detail of a `later`: the number of iterations. */
typedef struct cg_distance {
    uint32_t iterations;
    cg_ring *ring; /* whose copies, up to the commit, are skipped if there is no such iteration; NULL: none are
                      skipped */
} cg_distance;

/* log2 of the elements in 16 bytes of memory. */
uint32_t cg_chunk_bits(const bc_type *tile);
/* Bytes of memory that a stage is of, in pieces shorter than that, or in others. */
uint64_t cg_ring_memory_bytes(const cg_ring *ring, bool is_short);
/* The first elements of the tile's lines, over threads: of 128 bytes along the contiguous dimension, or whole rows of
   the tile if these are shorter. */
cg_layout cg_ring_lines(const cg_ring_load *load, uint32_t warp_bits);
/* The ring of an op that has one as its operand `index`. */
static inline cg_ring *cg_ring_of(const ct_op *op, uint32_t index)
{
    return op->operands[index]->op->detail;
}

/* The ring load whose slot holds v, or the value that v reinterprets; NULL: v is in registers. */
const cg_encoding *cg_encoding_of(const ct_value *v);
/* The op that gives the tile of a ring that v is or shows, and that threads do not load; NULL: there is none. */
ct_op *cg_staged_behind(const ct_value *v);
/* Is the result such a tile? */
static inline bool cg_shows_slot(const ct_op *op)
{
    return op->result_count && cg_staged_behind(&op->results[0]);
}
/* Converts a layout of v, which is in an encoding, to a layout of positions there. */
cg_layout cg_encoding_layout_of(const ct_value *v, const cg_layout *l);

/* Bytes of a load in a slot. */
uint32_t cg_ring_load_bytes(const cg_ring_load *load);
/* Assigns the loads consecutive offsets in a slot, and returns its size in bytes. */
uint32_t cg_ring_place_loads(cg_ring *ring);
/* In rings of threads: moves the offset by thread out of the loads' places if it is the same number of bytes in all
   of them. */
void cg_ring_share_threads(cg_ring *ring);

#endif
