/* Ops of the bytecode that passes create, so that they need no special treatment. Each has a bc_op that is in no
   function, at the source location of the op that it serves. */
#include <string.h>

#include "codegen/tile/ir.h"

/* ---- types ---- */

const bc_type *ct_tile_type(ct_func *f, const bc_type *elem, uint32_t rank, int64_t size)
{
    bc_type *type = bc_new(f->arena, bc_type, 1);
    int64_t *shape = bc_new(f->arena, int64_t, 1);
    if (!type || !shape)
        return NULL;
    *shape = size;
    *type = (bc_type){.kind = BC_TILE, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR, .depth = 1};
    type->parts = 2;
    type->rank = rank;
    type->elem = elem;
    type->shape = shape;
    return type;
}

const bc_type *ct_scalar_type(ct_func *f, bc_kind kind)
{
    bc_type *elem = bc_new(f->arena, bc_type, 1);
    if (!elem)
        return NULL;
    *elem = (bc_type){.kind = (uint8_t)kind, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR, .parts = 1};
    return ct_tile_type(f, elem, 0, 1);
}

static bc_type *shaped(ct_func *f, const bc_type *tile, bc_kind kind)
{
    const bc_type *scalar = ct_scalar_type(f, kind);
    bc_type *type = bc_new(f->arena, bc_type, 1);
    if (!scalar || !type)
        return NULL;
    *type = *tile;
    type->elem = scalar->elem;
    type->depth = scalar->depth;
    type->parts = scalar->parts;
    return type;
}

const bc_type *ct_shaped_type(ct_func *f, const bc_type *tile, bc_kind kind)
{
    return tile->kind == BC_TILE && bc_elem_kind(tile) == kind ? tile : shaped(f, tile, kind);
}

const bc_type *ct_ones_type(ct_func *f, const bc_type *tile, bc_kind kind)
{
    bc_type *type = shaped(f, tile, kind);
    int64_t *shape = bc_new(f->arena, int64_t, tile->rank + 1u);
    for (uint32_t d = 0; shape && d < tile->rank; d++)
        shape[d] = 1;
    if (type)
        type->shape = shape;
    return shape ? type : NULL;
}

const bc_type *ct_sized_type(ct_func *f, const bc_type *like, uint32_t axis, int64_t size)
{
    bc_type *type = bc_new(f->arena, bc_type, 1);
    int64_t *shape = bc_new(f->arena, int64_t, like->rank + 1u);
    if (!type || !shape)
        return NULL;
    memcpy(shape, like->shape, like->rank * sizeof *shape);
    shape[axis] = size;
    *type = *like;
    type->shape = shape;
    return type;
}

const bc_type *ct_part_type(ct_func *f, const bc_type *whole, uint32_t axis, uint32_t parts)
{
    return ct_sized_type(f, whole, axis, whole->shape[axis] / parts);
}

const bc_type *ct_transposed_type(ct_func *f, const bc_type *tile)
{
    bc_type *type = bc_new(f->arena, bc_type, 1);
    int64_t *shape = bc_new(f->arena, int64_t, 2);
    if (!type || !shape)
        return NULL;
    shape[0] = tile->shape[1];
    shape[1] = tile->shape[0];
    *type = *tile;
    type->shape = shape;
    return type;
}

/* ---- ops ---- */

bool ct_renew_from(ct_func *f, ct_op *op)
{
    const bc_op *old = op->from;
    bc_op *from = bc_op_new_in(f->arena, (bc_opcode)old->opcode, old->result_count, old->operand_count);
    if (!from)
        return false;
    from->block = old->block;
    from->offset = old->offset;
    from->loc = old->loc;
    memcpy(bc_results(from), bc_results(old), old->result_count * sizeof(bc_value));
    memcpy(bc_attrs(from), bc_attrs(old), old->attr_slots * sizeof(bc_attr));
    memcpy(bc_operands(from), bc_operands(old), old->operand_count * sizeof(bc_value *));
    bc_results(from)[0].type = op->results[0].type;
    op->from = from;
    return true;
}

/* type: of the result. NULL: there is none. */
static bc_op *new_from(ct_func *f, bc_opcode opcode, const bc_op *like, const bc_type *type, ct_value *const *operands,
                       uint32_t count)
{
    bc_op *from = bc_op_new_in(f->arena, opcode, type != NULL, count);
    bc_value *values = bc_new(f->arena, bc_value, count + 1u);
    if (!from || !values)
        return NULL;
    bc_op_defaults(from);
    from->offset = like->offset;
    from->loc = like->loc;
    from->block = like->block;
    if (type)
        bc_results(from)[0] = (bc_value){.type = type, .op = from};
    for (uint32_t i = 0; i < count; i++) {
        values[i].type = operands[i]->type;
        bc_operands(from)[i] = &values[i];
    }
    return from;
}

ct_op *ct_made_new(ct_func *f, bc_opcode opcode, const ct_op *like, const bc_type *type, ct_value *const *operands,
                   uint32_t count)
{
    bc_op *from = new_from(f, opcode, like->from, type, operands, count);
    ct_op *op = from ? ct_op_like(f, opcode, like, count, 1, 0) : NULL;
    if (!op)
        return NULL;
    op->from = from;
    op->results[0].type = type;
    for (uint32_t i = 0; i < count; i++)
        ct_set_operand(op, i, operands[i]);
    return op;
}

/* The value as the bytes of a constant record for all elements. For i1, all bits are set. */
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
    ct_op *op = ct_made_new(f, OP_constant, like, type, NULL, 0);
    const bc_blob *blob = splat(f->arena, bc_elem_kind(type), value);
    if (!op || !blob)
        return NULL;
    bc_attr_of(op->from, F_constant_value)->blob = blob;
    return op;
}

ct_op *ct_transpose_new(ct_func *f, const ct_op *like, ct_value *v)
{
    static const int64_t order[] = {1, 0};
    static const bc_ints permutation = {order, 2};
    const bc_type *type = ct_transposed_type(f, v->type);
    ct_op *op = type ? ct_made_new(f, OP_permute, like, type, &v, 1) : NULL;
    if (op)
        bc_attr_of(op->from, F_permute_permutation)->ints = &permutation;
    return op;
}

ct_op *ct_if_new(ct_func *f, const ct_op *from, ct_value *condition, uint32_t result_count)
{
    ct_op *op = ct_op_like(f, OP_if, from, 1, result_count, 2);
    for (uint32_t i = 0; op && i < 2; i++) {
        if (!(op->regions[i] = ct_block_new(f, 0)))
            return NULL;
        op->regions[i]->parent = op;
    }
    if (op)
        ct_set_operand(op, 0, condition);
    return op;
}

ct_op *ct_yield_new(ct_func *f, ct_block *block, const ct_op *from, ct_value *const *values, uint32_t count)
{
    ct_op *op = ct_op_like(f, OP_yield, from, count, 0, 0);
    if (!op)
        return NULL;
    ct_append(block, op);
    for (uint32_t i = 0; i < count; i++)
        ct_set_operand(op, i, values[i]);
    return op;
}

/* A record like that of a loop in a file, because printers check whether its short form is possible. */
static bc_op *for_from(ct_func *f, const bc_op *like, ct_value *const bounds[3])
{
    bc_op *from = new_from(f, OP_for, like, NULL, bounds, 3);
    bc_block *body = bc_new(f->arena, bc_block, 1);
    bc_value *counter = bc_new(f->arena, bc_value, 1);
    if (!from || !body || !counter || !(body->last = bc_op_new_in(f->arena, OP_continue, 0, 0)))
        return NULL;
    counter->type = bounds[0]->type;
    body->args = counter;
    body->arg_count = 1;
    bc_regions(from)[0] = body;
    return from;
}

ct_op *ct_carrying_for_new(ct_func *f, const ct_op *like, ct_value *const bounds[3], ct_value *const *first,
                           uint32_t count)
{
    bc_op *from = for_from(f, like->from, bounds);
    ct_op *op = ct_op_like(f, OP_for, like, 3 + count, count, 1);
    ct_block *body = ct_block_new(f, 1 + count);
    if (!from || !op || !body)
        return NULL;
    op->from = from;
    op->regions[0] = body;
    body->parent = op;
    body->args[0].type = bounds[0]->type;
    for (uint32_t i = 0; i < 3; i++)
        ct_set_operand(op, i, bounds[i]);
    for (uint32_t i = 0; i < count; i++) {
        ct_set_operand(op, 3 + i, first[i]);
        body->args[1 + i].type = op->results[i].type = first[i]->type;
    }
    return op;
}

void ct_be_like(ct_value *to, const ct_value *from)
{
    to->type = from->type;
    to->fact = from->fact;
    to->view = from->view;
    to->apart = from->apart;
    to->in_word = from->in_word;
}

ct_op *ct_for_like(ct_func *f, const ct_op *loop, uint32_t more)
{
    const ct_block *body = loop->regions[0];
    uint32_t first = ct_for_inits(loop).first, had = body->arg_count - 1, carried = had + more;
    ct_op *op = ct_op_like(f, OP_for, loop, first + carried, carried, 1);
    ct_block *block = ct_block_new(f, carried + 1);
    if (!op || !block)
        return NULL;
    op->regions[0] = block;
    block->parent = op;
    for (uint32_t i = 0; i < first + had; i++)
        ct_set_operand(op, i, loop->operands[i]);
    ct_be_like(&block->args[0], &body->args[0]);
    for (uint32_t i = 0; i < had; i++) {
        ct_be_like(&block->args[i + 1], &body->args[i + 1]);
        ct_be_like(&op->results[i], &loop->results[i]);
    }
    return op;
}

ct_op *ct_for_new(ct_func *f, const ct_op *like, ct_value *const bounds[3])
{
    return ct_carrying_for_new(f, like, bounds, NULL, 0);
}

ct_op *ct_token_new(ct_func *f, const ct_op *like, const bc_type *type)
{
    return ct_made_new(f, OP_make_token, like, type, NULL, 0);
}
