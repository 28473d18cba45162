/* What views are made of. */
#include "tools/tilevm/args/study.h"

const bc_op *arg_view_tensor(const bc_value *view)
{
    const bc_op *op = view->op;
    while (op && op->opcode != OP_make_tensor_view)
        op = bc_is_tile_view(bc_results(op)->type) && op->operand_count ? bc_operands(op)[0]->op : NULL;
    return op;
}

static const bc_value *dynamic_operand(const bc_op *tensor, const int64_t *fixed, bc_range operands, uint32_t i)
{
    uint32_t place = 0;
    for (uint32_t k = 0; k < i; k++)
        place += fixed[k] == BC_DYNAMIC;
    return fixed[i] == BC_DYNAMIC && place < operands.count ? bc_operands(tensor)[operands.first + place] : NULL;
}

const bc_value *arg_tensor_extent(const bc_op *tensor, uint32_t i)
{
    return dynamic_operand(tensor, bc_results(tensor)->type->shape,
                           bc_operand_range(tensor, F_make_tensor_view_dynamic_shape), i);
}

const bc_value *arg_tensor_stride(const bc_op *tensor, uint32_t i)
{
    return dynamic_operand(tensor, bc_results(tensor)->type->strides,
                           bc_operand_range(tensor, F_make_tensor_view_dynamic_strides), i);
}

bool arg_shape_axis(const bc_op *op, uint32_t i, uint32_t *out_dim, int64_t *out_tile)
{
    const bc_type *view = bc_operands(op)[0]->type;
    bool tiles = op->opcode == OP_get_index_space_shape;
    const bc_type *tensor = tiles ? view->elem : view;
    if ((tiles && (view->kind != BC_PARTITION_VIEW || i >= view->rank)) || (!tiles && i >= view->rank))
        return false;
    int64_t dim = tiles ? view->dim_map[i] : (int64_t)i;
    *out_dim = (uint32_t)dim;
    *out_tile = tiles ? view->shape[i] : 1;
    return dim >= 0 && dim < (int64_t)tensor->rank;
}
