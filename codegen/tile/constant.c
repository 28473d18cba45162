/* Constants that passes make, as ops of the bytecode's, so that all who know those know them. */
#include <string.h>

#include "codegen/tile/ir.h"

/* The value in the bytes of a constant record, as one for all elements: of i1, all bits. */
static const bc_blob *splat(bc_arena *arena, bc_kind kind, int64_t value)
{
    bc_blob *blob = bc_new(arena, bc_blob, 1);
    uint8_t *bytes = bc_new(arena, uint8_t, sizeof value);
    if (!blob || !bytes)
        return NULL;
    for (unsigned i = 0; i < sizeof value; i++)
        bytes[i] = (uint8_t)((uint64_t)value >> 8 * i);
    *blob = (bc_blob){.ptr = bytes, .len = kind == BC_I1 ? 1 : bc_kind_constant_bytes(kind)};
    return blob;
}

ct_op *ct_constant_new(ct_func *f, const ct_op *like, const bc_type *type, int64_t value)
{
    bc_op *from = bc_op_new_in(f->arena, OP_constant, 1, 0);
    const bc_blob *blob = splat(f->arena, bc_elem_kind(type), value);
    if (!from || !blob)
        return NULL;
    bc_op_defaults(from);
    from->offset = like->from->offset;
    from->loc = like->from->loc;
    from->block = like->from->block;
    bc_results(from)[0] = (bc_value){.type = type, .op = from};
    bc_attr_of(from, F_constant_value)->blob = blob;
    ct_op *op = ct_op_like(f, OP_constant, like, 0, 1, 0);
    if (!op)
        return NULL;
    op->from = from;
    op->results[0].type = type;
    return op;
}

bool ct_is_zero(const ct_op *constant)
{
    const bc_blob *blob = ct_attr_of(constant, F_constant_value)->blob;
    for (size_t i = 0; i < blob->len; i++)
        if (blob->ptr[i])
            return false;
    return true;
}
