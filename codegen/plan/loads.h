/* Plans of loads that are prefetched: the rings or registers that receive them. */
#ifndef TILEVM_CODEGEN_PLAN_LOADS_H
#define TILEVM_CODEGEN_PLAN_LOADS_H

#include "codegen/plan/budget.h"
#include "codegen/plan/obstacle.h"

/* The load of the ring to which a product's operand refers; NULL: it is none of them.
   cg_words_of_thread gives the number of words that a thread has of a tile. */
const cg_ring_load *cg_ring_load_for(const cg_ring *ring, const ct_value *operand);
uint32_t cg_words_of_thread(const cg_func *c, const bc_type *tile);
/* The kind of a loop with that body, which has products. */
cg_slot_kind cg_kind_of_products(const cg_func *c, const ct_block *body);
/* The number of slots for a loop with that body: if products read all that is prefetched, and if it has both kinds of
   rings (codegen/plan/loads_budget.c). */
cg_slot_budget cg_budget_of_products(cg_func *c, const ct_block *body, const cg_ring *ring, const cg_slot_work *work);
/* Does an asynchronous instruction multiply tiles of few rows or columns, with copies as long as possible? A kernel
   with such tiles probably has fewer blocks than there are multiprocessors. Shorter copies pass through the L1
   cache, which gets the shared memory that stages leave. */
bool cg_is_narrow_ring(const ct_block *body, const cg_ring *ring);
/* Has the body several products? */
bool cg_has_chain(const ct_block *body);
cg_slot_budget cg_budget_with_own(cg_func *c, const ct_block *body, const cg_ring *ring, const cg_ring *own,
                                  const cg_slot_work *work);

/* Can threads copy the load's tile by pieces of at least 4 bytes? If so, *fast is the dimension along which they lie,
   and *piece is log2 of the elements of each; of a load through pointers, pieces of at least 2^least elements
   (codegen/plan/rows.c). Otherwise a text for users. */
const char *cg_pieces_fit(cg_func *c, ct_op *load, uint32_t *fast, uint32_t *piece);
const char *cg_pointer_pieces_fit(cg_func *c, ct_op *load, uint32_t least, uint32_t *fast, uint32_t *piece);

/* Why threads cannot copy the load's tile to a slot from which products read it (if body is not NULL, all of these must
   be in it): a text for users. NULL: they can, and *out says how. */
const char *cg_load_obstacle(cg_func *c, ct_op *op, const ct_block *body, cg_ring_load *out);
/* Can wgmma read an operand of a product of 8-bit floats as bytes, where copies put it, if threads compute the other
   one, `computed`, in the same loop? It is the right operand, or becomes it by swapping both. */
bool cg_reads_bytes(cg_func *c, const ct_op *product, uint32_t computed);
/* Is it the first product of a chain of 8-bit floats, which wgmma is to multiply as bytes? What its loop loads has
   neighbours along K in memory, so that copies or threads put whole words in rows along K. */
bool cg_begins_with_bytes(cg_func *c, const ct_op *product);
/* Can producers copy the load's tile to a slot, from which consumers read it into registers to compute an operand of
   this product, in the same block? *out says how. */
bool cg_load_to_compute(cg_func *c, ct_op *op, const ct_op *product, cg_ring_load *out);
/* A condition: can threads copy the load's tile to a slot from which all its products read it? */
cg_condition cg_fits_products;

/* Products by mma.sync whose fragments are made from tiles of the ring (codegen/plan/fragments.c). The condition: does
   one take what threads compute from the load's tile, which may precede all writes of the loop? The first function
   marks all that might, and tells whether there are some. The second takes marks back for what the rings do not have;
   true: then, other loads may fit. The third ends the choice when it is known whether the loop has got its rings. */
cg_condition cg_fits_fragments;
bool cg_begin_fragments(cg_func *c, const ct_block *body);
bool cg_drop_fragments(const ct_block *body, const cg_ring *ring, const cg_ring *own);
void cg_end_fragments(const ct_block *body, bool has_ring);

/* Does the body have products without an instruction, which leave few registers? */
bool cg_has_blocked(const cg_func *c, const ct_block *body);
/* For 4-bit elements: the bit of the tile's index that distinguishes the two elements of a byte. */
uint32_t cg_half_bit(const cg_shape *s, uint32_t fast, const bc_type *tile);

/* May threads read the load's tile from a slot to which others have copied it? The first condition: is it a row of at
   least 128 bytes in whole pieces of 16 bytes, for producers? The second: is it a small tile, for all threads of a
   block? */
cg_condition cg_row_fits_threads;
cg_condition cg_is_small_tile;
/* Are small tiles in the ring worth the barrier of its iterations? own: the ring of the loop from which each thread
   reads its own copies. */
bool cg_rows_suit_ring(const cg_func *c, const cg_ring *ring);
/* Gives up the slots of small tiles, which are prefetched into registers where possible; `why` is for users. */
void cg_drop_rows(cg_func *c, const ct_op *loop, cg_ring *ring, const char *why);

/* Chooses the prefetched loads of a loop without products (codegen/plan/streams.c). products: the kernel has products
   elsewhere. */
void cg_find_streams(cg_func *c, ct_op *loop, bool products);

/* In kernels without products: unrolls loops whose threads load little in an iteration (codegen/plan/unroll.c). */
void cg_unroll_loops(cg_func *c);
/* Has a loop over K take several steps together if they are short. False: it is unchanged. */
bool cg_lengthen_steps(cg_func *c, ct_op *loop);

/* May the load be prefetched into slots from which each thread reads its own copies (codegen/plan/streams.c)? */
cg_condition cg_stream_obstacle;

/* In kernels without products: keeps the tiles of a loop in their slots for later loops that load them again, if there
   are no more tiles than slots (codegen/plan/keep.c). */
void cg_keep_tiles(cg_func *c);
/* The same for tiles that come in accesses too short for copies (codegen/plan/stow.c). It comes before all other plans;
   the second function, behind them, gives the rings of these loops the place that is left. */
void cg_stow_tiles(cg_func *c);
void cg_place_behind_stowed(cg_func *c);

/* Why a slot from which each thread reads its own copies cannot hold the load's tile in the layout `home` (NULL: in a
   suitable layout): a text for users. NULL: it can, and *out says how (codegen/plan/streams.c). */
const char *cg_slot_of_threads(cg_func *c, ct_op *op, const cg_layout *home, cg_ring_load *out);
/* The offsets of all threads' registers in a slot of which each thread has a part of its own: vectors of 2^bits
   elements, which the register bits in `vector` number, and those of a warp are adjacent. All strips use the same
   place. */
cg_layout cg_places_of_threads(const cg_layout *l, const uint8_t *vector, uint32_t bits, uint32_t warp_bits);

/* ---- loads that are prefetched into registers (codegen/plan/early_find.c, early.c) ---- */

/* Plans to prefetch a load of the loop, which cannot use a ring for the reason `why`, one iteration ahead into
   registers; a remark says if that is impossible. no_room: it could use a ring, but there is no room for its slots. */
void cg_plan_early(cg_func *c, const ct_op *loop, ct_op *load, const char *why, bool no_room);
/* Plans to prefetch a load of the loop two iterations ahead, because the address of another load depends on it; false:
   that is not necessary, or not possible. of_ring: it is known to be necessary, for a load of a ring. */
bool cg_plan_source(cg_func *c, const ct_op *loop, ct_op *load, bool of_ring);

/* The loads of a loop, except those of loops in it: first those on which no other load's address depends, then, from
   number `others` on, those that others need. */
typedef struct cg_listed_load {
    ct_op *op;
    const char *why; /* why it has no slot: a text for users; NULL: it has one, or needs none */
} cg_listed_load;
typedef struct cg_load_list {
    cg_listed_load *of;
    uint32_t count, others;
} cg_load_list;
/* An empty list: out of memory, which c records, or there are none. */
cg_load_list cg_loads_of(cg_func *c, const ct_op *loop);
/* Has the loop, with those in it, so many loads that none of its own is prefetched? A remark tells that of each. */
bool cg_has_too_many_loads(cg_func *c, const ct_op *loop);
/* Plans to prefetch those into registers that have no slot. */
void cg_plan_listed(cg_func *c, const ct_op *loop, const cg_load_list *all);

#endif
