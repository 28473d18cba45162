/* How much arithmetic an op is. */
#include "vm/compile/compile.h"
#include "vm/compile/plan.h"

static bool is_float_tile(const bc_type *type)
{
    return bc_is_tile(type) && bc_kinds[type->elem->kind].kind_class == BC_CLASS_FLOAT;
}

static uint64_t map_flops(const bc_op *op)
{
    if (op->opcode == OP_select || op->opcode == OP_cmpf || !is_float_tile(vm_result(op, 0)->type))
        return 0;
    return op->opcode == OP_fma ? 2 : 1;
}

uint64_t vm_flops(const bc_op *op)
{
    if (op->result_count == 0 || !bc_is_tile(vm_result(op, 0)->type))
        return 0;
    const bc_type *type = vm_result(op, 0)->type;
    uint64_t count = (uint64_t)1 << vm_type_bits(type), each = 0;
    switch (op->opcode) {
    case OP_mmaf:
    case OP_mmaf_scaled: {
        const bc_type *lhs = bc_operands(op)[0]->type;
        return 2 * count * (uint64_t)lhs->shape[lhs->rank - 1];
    }
    case OP_reduce:
    case OP_scan:
        for (const bc_op *o = bc_regions(op)[0]->first; o; o = o->next)
            if (bc_op_in(o->opcode, BC_OPS(MAP)))
                each += map_flops(o);
        return each << vm_type_bits(bc_operands(op)[0]->type);
    default: return bc_op_in(op->opcode, BC_OPS(MAP)) ? count * map_flops(op) : 0;
    }
}

static uint64_t elements(const bc_type *type)
{
    return bc_is_tile(type) ? (uint64_t)1 << vm_type_bits(type) : 0;
}

uint64_t vm_work_of(const bc_op *op)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < op->operand_count; i++)
        most = elements(bc_operands(op)[i]->type) > most ? elements(bc_operands(op)[i]->type) : most;
    for (unsigned i = 0; i < op->result_count; i++)
        most = elements(vm_result(op, i)->type) > most ? elements(vm_result(op, i)->type) : most;
    return 1 + most / VM_UNIT_ELEMENTS + vm_flops(op) / VM_UNIT_FLOPS;
}
