/* What the passes on loops share: which loads can run ahead, and putting the ops of rings in their places. */
#ifndef TILEVM_CODEGEN_PASSES_RING_H
#define TILEVM_CODEGEN_PASSES_RING_H

#include "codegen/access/pointers.h"
#include "codegen/analysis/ring.h"
#include "codegen/passes/budget.h"

/* Why the threads cannot copy the load's tile to a slot, for products to read it there, all of them in the body unless
   that is NULL; a text for users. NULL: they can, and *out is how. */
const char *cg_load_obstacle(cg_func *c, ct_op *op, const ct_block *body, cg_ring_load *out);
/* For loops with a product that is turned, if it was made out that it cannot be: how their loads run ahead without
   (codegen/passes/loads.c). */
void cg_loads_straight(cg_func *c);

/* Why the operands of a load in the loop with that body are not made only from its counter and values from outside: a
   text for users. NULL: they are; what makes them is marked as in the slice. Indices of views are made by scalar
   arithmetic, pointers and masks by tiles as well. */
const char *cg_ring_takes_view(cg_ring *ring, const ct_block *body, const ct_op *op);
const char *cg_ring_takes_pointers(cg_ring *ring, const ct_block *body, const ct_op *op);

/* Are pointers and mask computed from constants, scalars and indices alone? */
bool cg_are_of_indices(cg_func *c, const cg_ptr_op *p);

/* The load of the ring that the operand of a product shows, if it is one of a view; NULL: none. Words that a thread has
   of a tile. */
const cg_ring_load *cg_ring_load_for(const cg_ring *ring, const ct_value *operand);
uint32_t cg_words_of_thread(const cg_func *c, const bc_type *tile);
/* How many slots a loop with that body gets that has both kinds of rings (codegen/passes/loads_budget.c). */
cg_slot_budget cg_budget_with_own(const cg_func *c, const ct_block *body, const cg_ring *ring, const cg_ring *own,
                                  const cg_slot_work *work);

/* A loop without products: which of its loads run ahead (codegen/passes/streams.c). products: the kernel has some
 * elsewhere.
 */
void cg_find_streams(cg_func *c, ct_op *loop, bool products);

/* Why a load of the loop with that body cannot run ahead in slots of which each thread reads what it has copied itself,
   beside those that the ring has; a text for users. NULL: it can, and *out is how (codegen/passes/streams.c). */
const char *cg_stream_obstacle(cg_func *c, const ct_block *body, cg_ring *ring, ct_op *op, cg_ring_load *out);

/* In kernels with products: no loop has rings of which each thread reads what it has copied itself any more; their
   loads go into registers where they can (codegen/passes/loads.c). */
void cg_drop_streams(cg_func *c);

/* In kernels without products: tiles that a loop loads and others behind it load again stay in their slots for those,
   if there are no more of them than slots (codegen/passes/keep.c). */
void cg_keep_tiles(cg_func *c);

/* Where the tile of a load lies in a slot of which each thread reads what it has copied itself, in its layout, or, home
   NULL, in one that suits; else why that cannot be, a text for users (codegen/passes/streams.c). */
const char *cg_slot_of_threads(cg_func *c, ct_op *op, const cg_layout *home, cg_ring_load *out);

/* ---- what is told about loads ---- */

/* A load of a loop stays where it is. */
void cg_remark_stays(const cg_func *c, const ct_op *load, const char *why);
/* The ring's loads run ahead; loop: whose iterations they run ahead of, NULL: they stand before it. */
void cg_remark_ring(const cg_func *c, const ct_op *loop, const cg_ring *ring);

/* ---- loads ahead into registers (codegen/passes/early_find.c, early.c) ---- */

/* Can the op be made again for another iteration, from operands that can? tiles: also if it makes a tile. */
bool cg_is_slice_op(const ct_op *op, bool tiles);
/* A load of the loop that cannot go by a ring, as the text for users says, is to be loaded an iteration ahead into
   registers; a remark tells if it cannot. no_room: it could, but there is no room for its slots. */
void cg_plan_early(cg_func *c, const ct_op *loop, ct_op *load, const char *why, bool no_room);
/* A load of the loop goes so, two iterations ahead, as another one takes it as where to load from; false: it need not,
   or cannot. */
bool cg_plan_source(cg_func *c, const ct_op *loop, ct_op *load);
/* Loads those of the loop so. Gives the loop, which carries them. */
ct_op *cg_load_early(cg_func *c, ct_op *loop);

/* ---- putting its ops in their places (codegen/passes/ring.c, turn.c) ---- */

/* A `ring` in front of `place`, for the sake of the loop. NULL: no memory, as c says. */
ct_value *cg_ring_new(cg_func *c, cg_ring *ring, const ct_op *loop, ct_op *place);
/* An op on the ring alone, in no block; NULL: no memory. And one in front of or behind `place`. */
ct_op *cg_ring_op(cg_func *c, ct_opcode opcode, const ct_op *from, ct_value *ring);
void cg_ring_put(cg_func *c, ct_opcode opcode, ct_value *ring, ct_op *place);
void cg_ring_put_behind(cg_func *c, ct_opcode opcode, ct_value *ring, ct_op *place);
/* Do their slots hold the same, in the same places? */
bool cg_ring_is_like(const cg_ring *a, const cg_ring *b);
/* A load becomes a copy into the ring, or a fetch for it. */
void cg_ring_copy_load(cg_func *c, ct_op *op, const cg_ring_load *load, ct_value *ring);
/* The loads become what lies in the ring. */
void cg_ring_stage_loads(cg_func *c, cg_ring *ring, ct_value *value);
/* A cursor for the copy or fetch, which every iteration of the loop comes by, in front of the loop, where the index
   along one dimension is `counter`, or that and an outer value, and all else is made before the loop. `first`: the
   counter of the first iteration. */
void cg_ring_put_cursor(cg_func *c, ct_op *copy, ct_op *loop, const ct_value *counter, ct_value *first);
/* What is the same in all iterations of what a copy through pointers needs is computed in front of the loop
   (codegen/passes/addresses.c). */
void cg_ring_put_addresses(cg_func *c, ct_op *copy, ct_op *loop);
/* Does every iteration come by what stands in the body itself? */
bool cg_is_straight(const ct_block *body);
/* A release wherever an iteration of the loop ends. */
void cg_ring_put_releases(cg_func *c, ct_op *loop, ct_value *ring);
/* The counter of the loop n iterations after the one of `start`, and whether there is one; in no block. NULL: no
 * memory. */
ct_op *cg_later_new(cg_func *c, const ct_op *loop, ct_value *start, uint32_t n);
/* All uses of a product's result wait for it, behind the op. Gives the op that waits. */
ct_op *cg_put_mma_await(cg_func *c, ct_value *product, ct_op *behind);

/* ---- products that are computed transposed (codegen/passes/turn.c) ---- */

/* The product is to be turned, with the roundings of f32 to tf32 in front of it, or not. */
void cg_set_turned(ct_op *product, bool turned);
/* One that stands in the block; NULL: none. */
ct_op *cg_turned_product(const ct_block *body);
/* It takes what those roundings have taken, and they go. */
void cg_take_roundings(ct_op *product);
/* Which of the ring's tiles are rounded on their way to the product, and how: tensor maps do so for both operands, and
   what wgmma reads from the ring goes through registers otherwise. A product may be turned or not for that. */
void cg_set_roundings(const cg_func *c, ct_op *product, cg_ring *ring, bool maps);

#endif
