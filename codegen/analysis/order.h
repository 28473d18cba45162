/* Decides which memory ops may access the same memory, and which are ordered. */
#ifndef TILEVM_CODEGEN_ANALYSIS_ORDER_H
#define TILEVM_CODEGEN_ANALYSIS_ORDER_H

#include "codegen/kernel/kernel.h"
#include "codegen/tile/tokens.h"

/* The value from which an address is derived: a parameter, or the result of the op that loaded or created the
   pointer. */
const ct_value *cg_origin_of(const ct_value *v);
/* The number of the memory to which a view or pointer refers; 0: not known. Memories with different numbers do not
   overlap. */
uint32_t cg_root_of(const cg_func *c, const ct_value *memory);
/* The operand that gives the address of a memory op. NULL: the op is none. A prefetched load counts at the op that
   uses its tile. */
const ct_value *cg_memory_of(const ct_op *op, bool *out_write);
/* An access to memory, and the accesses that precede it. */
typedef struct cg_ordered_op {
    const ct_op *op;
    const ct_value *origin;
    uint32_t root;
    ct_sources before;
} cg_ordered_op;
cg_ordered_op cg_ordered_op_of(const cg_func *c, const ct_op *op);
/* Does the kernel order the two, or may they access the same memory? */
bool cg_are_ordered(const cg_ordered_op *a, const cg_ordered_op *b);
/* Is it a weak access, which is not ordered between threads? */
bool cg_is_weak_access(const ct_op *op);
/* Is the op a wait for the previous grid at the kernel's top level, which all threads execute? Each thread waits for
   itself, so prefetched copies need no other order. */
bool cg_is_grid_wait(const ct_op *op);
/* Must the load stay after ops of the block, because a write or an op that orders accesses may precede it, by its
   tokens or through the same memory, in this iteration or an earlier one? */
bool cg_order_holds_back(const cg_func *c, const ct_block *block, const ct_op *load);
/* The same for a load that is moved to an earlier iteration of the loop with that body. Stores of tiles that no
   other iteration accesses do not matter. */
bool cg_iterations_hold_back(const cg_func *c, const ct_block *body, const ct_op *load);
/* Is there no op between an earlier load of the same block and this one that writes what this one may have to read,
   or that orders accesses? */
bool cg_nothing_between(const cg_func *c, const ct_op *first, const ct_op *load);

#endif
