/* Functions that the passes on loops share: they decide which loads can be prefetched, and place the ops of rings. */
#ifndef TILEVM_CODEGEN_PASSES_RING_H
#define TILEVM_CODEGEN_PASSES_RING_H

#include "codegen/access/pointers.h"
#include "codegen/analysis/ring.h"
#include "codegen/passes/budget.h"

/* Why threads cannot copy the load's tile to a slot from which products read it (if body is not NULL, all of these must
   be in it): a text for users. NULL: they can, and *out says how. */
const char *cg_load_obstacle(cg_func *c, ct_op *op, const ct_block *body, cg_ring_load *out);
/* Plans the loads of loops with a transposed product again, without transposing it, after it turned out that it cannot
   be transposed (codegen/passes/loads.c). */
void cg_loads_straight(cg_func *c);

/* Why the operands of a load in the loop with that body do not depend only on its counter and values from outside: a
   text for users. NULL: they do; the ops that compute them are marked as in the slice. Only scalar ops may compute
   indices of views; ops on tiles may also compute pointers and masks. */
const char *cg_ring_takes_view(cg_ring *ring, const ct_block *body, const ct_op *op);
const char *cg_ring_takes_pointers(cg_ring *ring, const ct_block *body, const ct_op *op);

/* Are pointers and mask computed from constants, scalars and indices alone? */
bool cg_are_of_indices(cg_func *c, const cg_ptr_op *p);

/* The load of the ring that the operand of a product shows, if it is one of a view; NULL: none. Words that a thread has
   of a tile. */
const cg_ring_load *cg_ring_load_for(const cg_ring *ring, const ct_value *operand);
uint32_t cg_words_of_thread(const cg_func *c, const bc_type *tile);
/* How many slots a loop with that body gets that has both kinds of rings (codegen/passes/loads_budget.c). */
cg_slot_budget cg_budget_with_own(cg_func *c, const ct_block *body, const cg_ring *ring, const cg_ring *own,
                                  const cg_slot_work *work);

/* Chooses the prefetched loads of a loop without products (codegen/passes/streams.c). products: the kernel has products
   elsewhere. */
void cg_find_streams(cg_func *c, ct_op *loop, bool products);

/* Why a load of the loop with that body cannot be prefetched, in addition to the ring's loads, into slots from which
   each thread reads its own copies: a text for users. NULL: it can, and *out says how (codegen/passes/streams.c). */
const char *cg_stream_obstacle(cg_func *c, const ct_block *body, cg_ring *ring, ct_op *op, cg_ring_load *out);

/* In kernels with products: removes the rings from which each thread reads its own copies; their loads are prefetched
   into registers where possible (codegen/passes/loads.c). */
void cg_drop_streams(cg_func *c);

/* In kernels without products: keeps the tiles of a loop in their slots for later loops that load them again, if there
   are no more tiles than slots (codegen/passes/keep.c). */
void cg_keep_tiles(cg_func *c);

/* Why a slot from which each thread reads its own copies cannot hold the load's tile in the layout `home` (NULL: in a
   suitable layout): a text for users. NULL: it can, and *out says how (codegen/passes/streams.c). */
const char *cg_slot_of_threads(cg_func *c, ct_op *op, const cg_layout *home, cg_ring_load *out);

/* ---- choosing the loads and slots of a ring ---- */

/* Why a load cannot be one of the ring: a text for users. NULL: it can, and *out says how. */
typedef const char *cg_obstacle_fn(const void *user, ct_op *load, cg_ring_load *out);
/* Adds the load to the ring. NULL: that was possible; else why not, as the function or the size of the ring says. */
const char *cg_ring_add(cg_ring *ring, cg_obstacle_fn *obstacle, const void *user, ct_op *load);
/* The loop gets fewer than two slots of so many bytes; why: NULL: by the size of shared memory, or as is wished. */
void cg_remark_few_slots(const cg_func *c, const ct_op *loop, const char *why, uint32_t bytes, uint32_t room);

/* ---- remarks about loads ---- */

/* A load of a loop is not prefetched. */
void cg_remark_stays(const cg_func *c, const ct_op *load, const char *why);
/* The ring's loads are prefetched, in earlier iterations of the loop; NULL: before it. */
void cg_remark_ring(const cg_func *c, const ct_op *loop, const cg_ring *ring);

/* ---- loads that are prefetched into registers (codegen/passes/early_find.c, early.c) ---- */

/* Can the op be repeated for another iteration, if its operands can? tiles: also if its result is a tile. */
bool cg_is_slice_op(const ct_op *op, bool tiles);
/* Plans to prefetch a load of the loop, which cannot use a ring for the reason `why`, one iteration ahead into
   registers; a remark says if that is impossible. no_room: it could use a ring, but there is no room for its slots. */
void cg_plan_early(cg_func *c, const ct_op *loop, ct_op *load, const char *why, bool no_room);
/* Plans to prefetch a load of the loop two iterations ahead, because the address of another load depends on it; false:
   that is not necessary, or not possible. */
bool cg_plan_source(cg_func *c, const ct_op *loop, ct_op *load);
/* Carries the plan for the loop out, and returns the loop that carries the tiles. */
ct_op *cg_load_early(cg_func *c, ct_op *loop);

/* ---- placing the ops of rings (codegen/passes/ring.c, turn.c) ---- */

/* Inserts a `ring` for the loop in front of `place`. NULL: no memory, as c says. */
ct_value *cg_ring_new(cg_func *c, cg_ring *ring, const ct_op *loop, ct_op *place);
/* Creates an op whose only operand is the ring, in no block; NULL: no memory. The others insert it in front of or after
   `place`. */
ct_op *cg_ring_op(cg_func *c, ct_opcode opcode, const ct_op *from, ct_value *ring);
void cg_ring_put(cg_func *c, ct_opcode opcode, ct_value *ring, ct_op *place);
void cg_ring_put_behind(cg_func *c, ct_opcode opcode, ct_value *ring, ct_op *place);
/* Do their slots have the same contents, at the same offsets? */
bool cg_ring_is_like(const cg_ring *a, const cg_ring *b);
/* Makes a load a copy into the ring. */
void cg_ring_copy_load(cg_func *c, ct_op *op, const cg_ring_load *load, ct_value *ring);
/* Replaces the loads by reads of the ring. */
void cg_ring_stage_loads(cg_func *c, cg_ring *ring, ct_value *value);
/* Inserts a cursor in front of the loop for a copy that every iteration executes, if the index along one
   dimension is `counter`, or the sum of that and an outer value, and all other operands are computed before the loop.
   `first`: the counter of the first iteration. */
void cg_ring_put_cursor(cg_func *c, ct_op *copy, ct_op *loop, const ct_value *counter, ct_value *first);
/* Moves the loop-invariant parts of the operands of a copy through pointers in front of the loop
   (codegen/passes/addresses.c). */
void cg_ring_put_addresses(cg_func *c, ct_op *copy, ct_op *loop);
/* Does every iteration execute all ops that are directly in the body? */
bool cg_is_straight(const ct_block *body);
/* Inserts a release wherever an iteration of the loop ends. */
void cg_ring_put_releases(cg_func *c, ct_op *loop, ct_value *ring);
/* Creates the op for the counter of the loop n iterations after the one of `start`, and whether that iteration exists;
   in no block. NULL: no memory. */
ct_op *cg_later_new(cg_func *c, const ct_op *loop, ct_value *start, uint32_t n);
/* Makes all uses of a product's result wait for it, after the op. Returns the op that waits. */
ct_op *cg_put_mma_await(cg_func *c, ct_value *product, ct_op *behind);

/* ---- transposed products (codegen/passes/turn.c) ---- */

/* Marks the product as transposed, with the roundings of f32 to tf32 in front of it, or not. */
void cg_set_turned(ct_op *product, bool turned);
/* A transposed product directly in the block; NULL: none. */
ct_op *cg_turned_product(const ct_block *body);
/* Replaces its operands by those of the roundings, which are removed. */
void cg_take_roundings(ct_op *product);
/* Chooses the tiles of the ring that are rounded while they are copied, and how: tensor maps round both operands;
   otherwise tiles that wgmma reads from the ring pass through registers. This may change whether the product is
   transposed. */
void cg_set_roundings(const cg_func *c, ct_op *product, cg_ring *ring, bool maps);

#endif
