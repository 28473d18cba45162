/* Which memory ops may meet in memory, and which have an order. */
#ifndef TILEVM_CODEGEN_ANALYSIS_ORDER_H
#define TILEVM_CODEGEN_ANALYSIS_ORDER_H

#include "codegen/kernel/kernel.h"
#include "codegen/tile/tokens.h"

/* The value that an address comes from: a parameter, or what loaded or made the pointer. */
const ct_value *cg_origin_of(const ct_value *v);
/* The memory that a view or pointer reaches: 0 unknown, else one of those that do not overlap. */
uint32_t cg_root_of(const cg_func *c, const ct_value *memory);
/* The operand that says where a memory op goes; NULL: not one. What was copied ahead counts where it is used. */
const ct_value *cg_memory_of(const ct_op *op, bool *out_write);
/* An access to memory, and what it is ordered behind. */
typedef struct cg_ordered_op {
    const ct_op *op;
    ct_sources before;
} cg_ordered_op;
cg_ordered_op cg_ordered_op_of(const ct_op *op);
/* Does the kernel say that one comes before the other, or may they meet in memory? */
bool cg_are_ordered(const cg_func *c, const cg_ordered_op *a, const cg_ordered_op *b);
/* Is it an access without an order of its own among threads? */
bool cg_is_weak_access(const ct_op *op);
/* A wait for the grid before this one where all threads come by, at the kernel's top level. Each waits by itself, so
   what copies ahead needs no other order. */
bool cg_is_grid_wait(const ct_op *op);
/* May the load not be done before ops of the block are, because a write or an op that orders accesses may come before
   it, by its tokens or by way of the same memory, in this iteration or an earlier one? */
bool cg_order_holds_back(const cg_func *c, const ct_block *block, const ct_op *load);
/* The same of the body of a loop for a load that is done some iterations earlier: stores of tiles that are each
   iteration's own do not matter. */
bool cg_iterations_hold_back(const cg_func *c, const ct_block *body, const ct_op *load);
/* Is there no write between an earlier load of the same block and this one that this one may have to come after, nor an
   op that orders accesses? */
bool cg_nothing_between(const cg_func *c, const ct_op *first, const ct_op *load);

#endif
