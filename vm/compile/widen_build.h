/* Functions that the parts of widening have in common. */
#ifndef TILEVM_VM_COMPILE_WIDEN_BUILD_H
#define TILEVM_VM_COMPILE_WIDEN_BUILD_H

#include "vm/compile/widen.h"

/* The wide form of a value of the entry. */
typedef struct vm_wide_value {
    bool varies;    /* differs between the blocks of a batch */
    bool is_linear; /* varies as base + step * number of the block in the batch, modulo 2^bits of its type */
    int64_t step;
    bool is_bounded; /* low <= value <= high in every block, as signed numbers */
    int64_t low, high;
    bc_value *base; /* the value, if all blocks have the same; of a linear one, that of the first block */
    bc_value *wide; /* if it varies: the tiles of all blocks, along a new first dimension */
} vm_wide_value;

typedef struct vm_widener {
    const bc_function *f;
    bc_arena *arena;
    vm_widened *out;
    unsigned axis;
    uint32_t count;
    vm_wide_value *values; /* by id of the entry's values */
    bc_block *to;          /* the block to which ops are added */
    bc_op *stores, *last_store;
    uint32_t depth, accesses;
    bool changed; /* while varying values are searched */
} vm_widener;

static inline vm_wide_value *vm_wide_value_of(const vm_widener *w, const bc_value *v)
{
    return &w->values[v->id];
}

/* Creates a tile type in the arena; such types are not interned. shape has rank extents, after `first` if that is
   not 0. */
const bc_type *vm_wide_tile(vm_widener *w, const bc_type *elem, uint32_t first, const int64_t *shape, uint32_t rank);
/* The type of the wide form of such a value. */
const bc_type *vm_wide_type(vm_widener *w, const bc_type *type);

/* Creates an op that stands for `like` in messages, with its attributes if the opcode is the same. NULL: out of
   memory. */
bc_op *vm_wide_op(vm_widener *w, const bc_op *like, bc_opcode opcode, uint32_t results, uint32_t operands);
/* Adds an op with one operand at the end of the block, and returns its result. NULL: out of memory. */
bc_value *vm_wide_unary(vm_widener *w, const bc_op *like, bc_opcode opcode, const bc_type *type, bc_value *operand);

/* The same tile for each block: layouts only, no element is copied. NULL: out of memory. */
bc_value *vm_wide_repeat(vm_widener *w, const bc_op *like, bc_value *v);
/* The value in its wide form, created on demand if all blocks have the same. NULL: out of memory. */
bc_value *vm_wide_of(vm_widener *w, const bc_op *like, const bc_value *v);
/* The value, if all blocks have the same. NULL: they do not. */
bc_value *vm_same_of(const vm_widener *w, const bc_value *v);

#endif
