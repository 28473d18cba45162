/* How much work an op is, in units of what it costs to begin one. */
#include "bytecode/flops.h"
#include "vm/compile/compile.h"
#include "vm/compile/plan.h"

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
    return 1 + most / VM_UNIT_ELEMENTS + bc_flops(op) / VM_UNIT_FLOPS;
}
