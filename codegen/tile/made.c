/* Ops of the bytecode's that passes make, so that all who know those know them: each is made from one that stands in no
   function, at the place in the source of the op that it is for. */
#include "codegen/tile/ir.h"

static ct_op *made(ct_func *f, bc_opcode opcode, const ct_op *like, const bc_type *type)
{
    bc_op *from = bc_op_new_in(f->arena, opcode, 1, 0);
    ct_op *op = from ? ct_op_like(f, opcode, like, 0, 1, 0) : NULL;
    if (!op)
        return NULL;
    bc_op_defaults(from);
    from->offset = like->from->offset;
    from->loc = like->from->loc;
    from->block = like->from->block;
    bc_results(from)[0] = (bc_value){.type = type, .op = from};
    op->from = from;
    op->results[0].type = type;
    return op;
}

/* The value in the bytes of a constant record, as one for all elements: of i1, all bits. */
static const bc_blob *splat(bc_arena *arena, bc_kind kind, int64_t value)
{
    bc_blob *blob = bc_new(arena, bc_blob, 1);
    uint8_t *bytes = bc_new(arena, uint8_t, sizeof value);
    if (!blob || !bytes)
        return NULL;
    for (unsigned i = 0; i < sizeof value; i++)
        bytes[i] = (uint8_t)((uint64_t)value >> 8 * i);
    *blob = (bc_blob){.ptr = bytes, .len = kind == BC_I1 ? 1 : bc_kind_constant_bytes(kind), .index = BC_IN_NO_TABLE};
    return blob;
}

ct_op *ct_constant_new(ct_func *f, const ct_op *like, const bc_type *type, int64_t value)
{
    ct_op *op = made(f, OP_constant, like, type);
    const bc_blob *blob = splat(f->arena, bc_elem_kind(type), value);
    if (!op || !blob)
        return NULL;
    bc_attr_of(op->from, F_constant_value)->blob = blob;
    return op;
}

ct_op *ct_token_new(ct_func *f, const ct_op *like, const bc_type *type)
{
    return made(f, OP_make_token, like, type);
}
