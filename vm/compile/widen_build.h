/* What the parts of widening share. */
#ifndef TILEVM_VM_COMPILE_WIDEN_BUILD_H
#define TILEVM_VM_COMPILE_WIDEN_BUILD_H

#include "vm/compile/widen.h"

/* What a value of the entry has become. */
typedef struct vm_wide_value {
    bool varies;    /* from block to block of a batch */
    bool is_linear; /* varies as base + step * number of the block in the batch, modulo 2^bits of its type */
    int64_t step;
    bool is_bounded; /* low <= value <= high in every block, as signed numbers */
    int64_t low, high;
    bc_value *base; /* the value, where all blocks have the same; of a linear one that of the first block */
    bc_value *wide; /* varies: one tile for each block, along a dimension before all others */
} vm_wide_value;

typedef struct vm_widener {
    const bc_function *f;
    bc_arena *arena;
    vm_widened *out;
    unsigned axis;
    uint32_t count;
    vm_wide_value *values; /* by id of the entry's values */
    bc_block *to;          /* where ops go */
    bc_op *stores, *last_store;
    uint32_t depth, accesses;
    bool changed; /* while it is found out what varies */
} vm_widener;

static inline vm_wide_value *vm_wide_value_of(const vm_widener *w, const bc_value *v)
{
    return &w->values[v->id];
}

/* A tile type of the arena: such types are not interned. shape: of rank extents, after `first` if that is not 0. */
const bc_type *vm_wide_tile(vm_widener *w, const bc_type *elem, uint32_t first, const int64_t *shape, uint32_t rank);
/* The type of one such value for each block. */
const bc_type *vm_wide_type(vm_widener *w, const bc_type *type);

/* A new op that stands for `like` in messages, with its attributes when it has the same opcode. NULL: out of memory. */
bc_op *vm_wide_op(vm_widener *w, const bc_op *like, bc_opcode opcode, uint32_t results, uint32_t operands);
/* A new op of one operand at the end of the block; its result, or NULL. */
bc_value *vm_wide_unary(vm_widener *w, const bc_op *like, bc_opcode opcode, const bc_type *type, bc_value *operand);

/* The same tile for each block: layouts only, no element is copied. NULL: out of memory. */
bc_value *vm_wide_repeat(vm_widener *w, const bc_op *like, bc_value *v);
/* The value in its wide form, made where it is asked for if all blocks have the same. NULL: out of memory. */
bc_value *vm_wide_of(vm_widener *w, const bc_op *like, const bc_value *v);
/* The value that all blocks have. NULL: they do not. */
bc_value *vm_same_of(const vm_widener *w, const bc_value *v);

#endif
