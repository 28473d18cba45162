/* Functions that the loop passes share: slices of loops, the loads of a ring, and the ops of rings. */
#ifndef TILEVM_CODEGEN_REWRITE_RING_H
#define TILEVM_CODEGEN_REWRITE_RING_H

#include "codegen/access/pointers.h"
#include "codegen/analysis/ring.h"

/* ---- slices of loops (codegen/rewrite/slice.c) ---- */

/* Can the op be repeated for another iteration, if its operands can? tiles: also if its result is a tile. */
bool cg_is_slice_op(const ct_op *op, bool tiles);
/* Why the operands of a load in the loop with that body do not depend only on its counter, values from outside, and
   loads that may run ahead: a text for users. NULL: they do; the ops that compute them are added to the slice. Only
   ops on scalars and tiles of one element may compute indices of views; other ops on tiles may also compute pointers
   and masks. */
const char *cg_ring_takes_view(cg_func *c, cg_ring *ring, const ct_block *body, const ct_op *op);
const char *cg_ring_takes_pointers(cg_func *c, cg_ring *ring, const ct_block *body, const ct_op *op);
/* Finds the slice of the ring's loads again, with its sources. */
void cg_ring_find_slice(cg_func *c, cg_ring *ring, const ct_block *body);
/* Is the load one of the slice's sources? */
bool cg_is_source_of(const cg_ring *ring, const ct_op *load);
/* Removes the ring's sources from the loop if their values only identify tiles that have been replaced by `staged`. */
void cg_drop_sources(cg_func *c, ct_op *loop, const cg_ring *ring);

/* Is the op a load of a few integers, such as the rows that a gather takes? On targets with tcgen05, each group of
   warps loads them for itself, in each layout in which it reads them, if they are in front of its loops. Why it is
   right: the load is weak, and no store or wait of the kernel may have to come before it, so that all read the same
   values. */
bool cg_is_list_of_rows(const cg_func *c, const ct_op *op);
/* Are pointers and mask computed from constants, scalars, indices and, in front of all loops, lists of rows alone? */
bool cg_are_of_indices(cg_func *c, const cg_ptr_op *p);

/* ---- remarks about loads ---- */

/* Reports that the loop gets fewer than two slots of so many bytes. why: NULL: because of the size of shared memory,
   or because the user asked for it. */
void cg_remark_few_slots(const cg_func *c, const ct_op *loop, const char *why, uint32_t bytes, uint32_t room);
/* Reports that a load of a loop is not prefetched. */
void cg_remark_stays(const cg_func *c, const ct_op *load, const char *why);
/* Reports that the ring's loads are prefetched, in earlier iterations of the loop; loop NULL: in front of all loops. */
void cg_remark_ring(const cg_func *c, const ct_op *loop, const cg_ring *ring);

/* ---- placing the ops of rings (codegen/rewrite/ring.c, turn.c) ---- */

/* Inserts a `ring` for the loop in front of `place`. NULL: out of memory, which c records. */
ct_value *cg_ring_new(cg_func *c, cg_ring *ring, const ct_op *loop, ct_op *place);
/* Creates an op whose only operand is the ring, in no block; NULL: out of memory. The next two functions also insert
   it, in front of or after `place`. */
ct_op *cg_ring_op(cg_func *c, ct_opcode opcode, const ct_op *from, ct_value *ring);
void cg_ring_put(cg_func *c, ct_opcode opcode, ct_value *ring, ct_op *place);
void cg_ring_put_behind(cg_func *c, ct_opcode opcode, ct_value *ring, ct_op *place);
/* Do their slots have the same contents, at the same offsets? */
bool cg_ring_is_like(const cg_ring *a, const cg_ring *b);
/* Makes a load a copy into the ring. */
void cg_ring_copy_load(cg_func *c, ct_op *op, const cg_ring_load *load, ct_value *ring);
/* Replaces the loads by reads of the ring. */
void cg_ring_stage_loads(cg_func *c, cg_ring *ring, ct_value *value);
/* Has the copies to the ring that the loop's iterations execute find their tiles by what is computed in front of the
   loop: by cursors if the index along one dimension is the counter of the copies, or the sum of that and an outer
   value, and all other operands are outer values; and by loop-invariant parts of pointers and masks. */
void cg_ring_find_sources(cg_func *c, ct_op *loop, const ct_value *ring);
/* The counter of the loop's first iteration n later, in front of the loop. NULL: out of memory, which c records. */
ct_value *cg_ring_first_counter(cg_func *c, ct_op *loop, uint32_t n);
/* Moves the loop-invariant parts of the operands of a copy through pointers in front of the loop
   (codegen/rewrite/addresses.c). */
void cg_ring_put_addresses(cg_func *c, ct_op *copy, ct_op *loop);
/* Does every iteration execute all ops that are directly in the body? */
bool cg_is_straight(const ct_block *body);
/* Inserts a release wherever an iteration of the loop ends. */
void cg_ring_put_releases(cg_func *c, ct_op *loop, ct_value *ring);
/* Creates the op for the counter of the loop n iterations after the one of `start`, and whether that iteration
   exists; the op is in no block. NULL: out of memory. */
ct_op *cg_later_new(cg_func *c, const ct_op *loop, ct_value *start, uint32_t n);
/* Makes all uses of a product's result wait for it, after the op. Returns the op that waits. */
ct_op *cg_put_mma_await(cg_func *c, ct_value *product, ct_op *behind);

/* ---- transposed products (codegen/rewrite/turn.c) ---- */

/* Has the product computed in this way. Unless that is as it is, it leaves the roundings of f32 to tf32 between loads
   and the product to the copies or to the product. */
void cg_set_way(ct_op *product, ct_way way);
/* Has the product, by mma.sync, round the fragments of these operands, if loads bring them as f32. */
void cg_round_fragments(ct_op *product, bool left, bool right);
/* Does it, or is it transposed? The second function: such a product directly in the block; NULL: none. */
bool cg_leaves_roundings(const ct_op *product);
ct_op *cg_rounding_product(const ct_block *body);
/* Replaces its operands by those of the roundings, which are removed. */
void cg_take_roundings(ct_op *product);
/* Chooses the tiles of the ring that are rounded while they are copied, and how: tensor maps round both operands;
   otherwise tiles that the product reads from the ring pass through registers. This may change whether the product is
   transposed. */
void cg_set_roundings(const cg_func *c, ct_op *product, cg_ring *ring, bool maps);

#endif
