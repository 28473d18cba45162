/* Creates the types, ops and values of a wide function. */
#include "vm/compile/widen_build.h"

#include <string.h>

const bc_type *vm_wide_tile(vm_widener *w, const bc_type *elem, uint32_t first, const int64_t *shape, uint32_t rank)
{
    uint32_t more = first != 0;
    bc_type *type = bc_new(w->arena, bc_type, 1);
    int64_t *extents = bc_new(w->arena, int64_t, rank + 1u);
    if (!type || !extents || rank + more > BC_MAX_RANK)
        return NULL;
    extents[0] = first;
    if (rank)
        memcpy(extents + more, shape, rank * sizeof *shape);
    *type = (bc_type){.kind = BC_TILE, .elem = elem, .shape = extents, .rank = rank + more};
    return type;
}

const bc_type *vm_wide_type(vm_widener *w, const bc_type *type)
{
    return vm_wide_tile(w, type->elem, w->count, type->shape, type->rank);
}

bc_op *vm_wide_op(vm_widener *w, const bc_op *like, bc_opcode opcode, uint32_t results, uint32_t operands)
{
    bc_op *op = bc_op_new_in(w->arena, opcode, results, operands);
    if (!op)
        return NULL;
    op->offset = like->offset;
    op->loc = like->loc;
    bc_op_defaults(op);
    if (opcode == like->opcode && op->attr_slots)
        memcpy(bc_attrs(op), bc_attrs(like), op->attr_slots * sizeof(bc_attr));
    return op;
}

bc_value *vm_wide_unary(vm_widener *w, const bc_op *like, bc_opcode opcode, const bc_type *type, bc_value *operand)
{
    bc_op *op = operand && type ? vm_wide_op(w, like, opcode, 1, 1) : NULL;
    if (!op)
        return NULL;
    bc_results(op)[0].type = type;
    bc_operands(op)[0] = operand;
    bc_block_append(w->to, op);
    return bc_results(op);
}

bc_value *vm_wide_repeat(vm_widener *w, const bc_op *like, bc_value *v)
{
    const bc_type *t = v->type, *one = vm_wide_tile(w, t->elem, 1, t->shape, t->rank);
    bc_value *outer = vm_wide_unary(w, like, OP_reshape, one, v);
    return vm_wide_unary(w, like, OP_broadcast, vm_wide_type(w, t), outer);
}

bc_value *vm_same_of(const vm_widener *w, const bc_value *v)
{
    const vm_wide_value *x = vm_wide_value_of(w, v);
    return x->varies ? NULL : x->base;
}

bc_value *vm_wide_of(vm_widener *w, const bc_op *like, const bc_value *v)
{
    const vm_wide_value *x = vm_wide_value_of(w, v);
    if (x->varies)
        return x->wide;
    return x->base && bc_is_tile(v->type) ? vm_wide_repeat(w, like, x->base) : NULL;
}
