/* Arithmetic by op. */
#include "bytecode/flops.h"

static bool is_float_tile(const bc_type *type)
{
    return bc_is_tile(type) && bc_kinds[type->elem->kind].kind_class == BC_CLASS_FLOAT;
}

static uint64_t elements(const bc_type *type)
{
    return (uint64_t)bc_shape_elems(type->shape, type->rank);
}

static uint64_t map_flops(const bc_op *op)
{
    if (op->opcode == OP_select || op->opcode == OP_cmpf || !is_float_tile(bc_results(op)->type))
        return 0;
    return op->opcode == OP_fma ? 2 : 1;
}

uint64_t bc_product_ops(const bc_op *op, bc_kind *out_kind)
{
    if (op->opcode != OP_mmaf && op->opcode != OP_mmaf_scaled && op->opcode != OP_mmai)
        return 0;
    const bc_type *lhs = bc_operands(op)[0]->type;
    *out_kind = bc_elem_kind(lhs);
    return 2 * elements(bc_results(op)->type) * (uint64_t)lhs->shape[lhs->rank - 1];
}

uint64_t bc_flops(const bc_op *op)
{
    uint64_t each = 0;
    bc_kind kind;
    if (op->result_count == 0 || !bc_is_tile(bc_results(op)->type))
        return 0;
    switch ((int)op->opcode) {
    case OP_mmaf:
    case OP_mmaf_scaled: return bc_product_ops(op, &kind);
    case OP_reduce:
    case OP_scan:
        for (const bc_op *o = bc_regions(op)[0]->first; o; o = o->next)
            if (bc_op_in(o->opcode, BC_OPS(MAP)))
                each += map_flops(o);
        return each * elements(bc_operands(op)[0]->type);
    default: return bc_op_in(op->opcode, BC_OPS(MAP)) ? elements(bc_results(op)->type) * map_flops(op) : 0;
    }
}
