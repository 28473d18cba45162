/* Views, and loads through them, that passes create; see codegen/tile/ir.h. */
#include <string.h>

#include "codegen/tile/ir.h"

enum { MOST_DIMS = 8, MOST_OPERANDS = 2 * MOST_DIMS + 2 };

/* An op whose operands come in segments, with default attributes. */
static ct_op *segmented_new(ct_func *f, bc_opcode opcode, const ct_op *like, const bc_type *const *types,
                            uint32_t results, ct_value *const *operands, uint32_t count, const bc_segments *segments)
{
    bc_op *from = bc_op_new_in(f->arena, opcode, results, count);
    bc_value *values = bc_new(f->arena, bc_value, count + 1u);
    ct_op *op = from && values ? ct_op_like(f, opcode, like, count, results, 0) : NULL;
    if (!op)
        return NULL;
    bc_op_defaults(from);
    from->offset = like->from->offset;
    from->loc = like->from->loc;
    from->block = like->from->block;
    memcpy(&bc_attrs(from)[from->attr_slots - 1], segments, sizeof *segments);
    for (uint32_t i = 0; i < results; i++) {
        bc_results(from)[i].type = types[i];
        op->results[i].type = types[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        values[i].type = operands[i]->type;
        bc_operands(from)[i] = &values[i];
        ct_set_operand(op, i, operands[i]);
    }
    op->from = from;
    return op;
}

static int64_t *copied(ct_func *f, const int64_t *from, uint32_t count)
{
    int64_t *to = bc_new(f->arena, int64_t, count + 1u);
    if (to && count)
        memcpy(to, from, count * sizeof *to);
    return to;
}

/* Separates numbers of extents or strides from values, which are added to the operands. */
static int64_t *numbers_of(ct_func *f, const ct_extent *all, uint32_t rank, ct_value **operands, uint32_t *count)
{
    int64_t *numbers = bc_new(f->arena, int64_t, rank + 1u);
    for (uint32_t d = 0; numbers && d < rank; d++) {
        numbers[d] = all[d].number;
        if (all[d].number == BC_DYNAMIC)
            operands[(*count)++] = all[d].value;
    }
    return numbers;
}

ct_op *ct_tensor_view_new(ct_func *f, const ct_op *like, ct_value *base, uint32_t rank, const ct_extent *extents,
                          const ct_extent *strides)
{
    ct_value *operands[MOST_OPERANDS] = {base};
    uint32_t count = 1;
    bc_type *type = rank <= MOST_DIMS ? bc_new(f->arena, bc_type, 1) : NULL;
    if (!type)
        return NULL;
    int64_t *shape = numbers_of(f, extents, rank, operands, &count);
    uint16_t dynamic = (uint16_t)(count - 1);
    int64_t *steps = numbers_of(f, strides, rank, operands, &count);
    if (!shape || !steps)
        return NULL;
    *type =
        (bc_type){.kind = BC_TENSOR_VIEW, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR, .depth = 1, .parts = 2};
    type->rank = type->result_count = rank;
    type->elem = base->type->elem->elem;
    type->shape = shape;
    type->strides = steps;
    const bc_segments segments = {.present = 0, .count = {dynamic, (uint16_t)(count - 1 - dynamic)}};
    return segmented_new(f, OP_make_tensor_view, like, (const bc_type *[]){type}, 1, operands, count, &segments);
}

/* Reads the extents or strides that a type states, or for which there are operands in that row. */
static void sizes_of(const ct_op *tensor, int row, const int64_t *numbers, ct_extent *out)
{
    uint32_t next = ct_operand_range(tensor, row).first;
    for (uint32_t d = 0; d < tensor->results[0].type->rank; d++)
        out[d] = (ct_extent){numbers[d], numbers[d] == BC_DYNAMIC ? tensor->operands[next++] : NULL};
}

ct_extent ct_extent_of(const ct_op *tensor, uint32_t dim)
{
    const bc_type *type = tensor->results[0].type;
    ct_extent extents[MOST_DIMS];
    if (type->rank > MOST_DIMS)
        return (ct_extent){BC_DYNAMIC, NULL};
    sizes_of(tensor, F_make_tensor_view_dynamic_shape, type->shape, extents);
    return extents[dim];
}

ct_op *ct_tensor_view_like(ct_func *f, const ct_op *tensor, uint32_t dim, ct_extent extent)
{
    const bc_type *type = tensor->results[0].type;
    ct_extent extents[MOST_DIMS], strides[MOST_DIMS];
    if (type->rank > MOST_DIMS)
        return NULL;
    sizes_of(tensor, F_make_tensor_view_dynamic_shape, type->shape, extents);
    sizes_of(tensor, F_make_tensor_view_dynamic_strides, type->strides, strides);
    extents[dim] = extent;
    return ct_tensor_view_new(f, tensor, tensor->operands[0], type->rank, extents, strides);
}

ct_op *ct_tile_view_new(ct_func *f, const ct_op *like, ct_value *tensor, const int64_t *shape, const int64_t *steps,
                        uint8_t padding)
{
    uint32_t rank = tensor->type->rank;
    bc_type *type = bc_new(f->arena, bc_type, 1);
    int64_t *dims = bc_new(f->arena, int64_t, rank + 1u);
    if (!type || !dims)
        return NULL;
    *type =
        (bc_type){.kind = BC_PARTITION_VIEW, .padding = padding, .ptr_attr = BC_NO_PTR_ATTR, .depth = 2, .parts = 3};
    type->rank = type->result_count = rank;
    type->elem = tensor->type;
    type->dim_map = dims;
    type->shape = copied(f, shape, rank);
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = d;
        if (shape[d] != steps[d])
            type->kind = BC_STRIDED_VIEW;
    }
    if (type->kind == BC_STRIDED_VIEW) {
        type->strides = copied(f, steps, rank);
        type->stride_count = rank;
    }
    if (!type->shape || (type->kind == BC_STRIDED_VIEW && !type->strides))
        return NULL;
    return ct_made_new(f, type->kind == BC_STRIDED_VIEW ? OP_make_strided_view : OP_make_partition_view, like, type,
                       &tensor, 1);
}

/* The type of a view's tiles. */
static const bc_type *tile_of(ct_func *f, const bc_type *view)
{
    bc_type *type = bc_new(f->arena, bc_type, 1);
    if (!type)
        return NULL;
    *type = (bc_type){.kind = BC_TILE, .padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR, .depth = 1, .parts = 2};
    type->rank = view->rank;
    type->elem = view->elem->elem;
    type->shape = view->shape;
    return type;
}

ct_op *ct_load_view_new(ct_func *f, const ct_op *like, ct_value *view, ct_value *const *index, const int64_t *inside,
                        ct_value *token, const bc_type *token_type)
{
    uint32_t rank = view->type->rank, count = 1 + rank;
    ct_value *operands[MOST_OPERANDS] = {view};
    const bc_type *types[] = {tile_of(f, view->type), token_type};
    bc_ints *promises = bc_new(f->arena, bc_ints, 1);
    int64_t *flags = copied(f, inside, rank);
    enum { TOKEN_ROW = 2 /* among the operands */ };
    const bc_segments segments = {.present = token ? 1 << TOKEN_ROW : 0, .count = {(uint16_t)rank}};
    if (rank > MOST_DIMS || !types[0] || !promises || !flags)
        return NULL;
    memcpy(operands + 1, index, rank * sizeof *index);
    operands[count] = token;
    count += token != NULL;
    ct_op *op = segmented_new(f, OP_load_view_tko, like, types, 2, operands, count, &segments);
    if (!op)
        return NULL;
    *promises = (bc_ints){flags, rank};
    bc_attr_of(op->from, F_load_view_tko_inbounds)->ints = promises;
    bc_attr_of(op->from, F_load_view_tko_memory_ordering_semantics)->u = BC_MemoryOrderingSemantics_weak;
    return op;
}
