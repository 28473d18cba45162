/* Selects the instruction that computes the exact elements of each op. */
#include "vm/precision/precision.h"

/* An op that reads the bits of floats: its results count as exact. */
typedef struct drop_inst {
    vm_inst head;
    uint32_t op;
} drop_inst;

static const vm_inst *drop_run(vm_frame *f, const vm_inst *inst)
{
    vm_loss *loss = &vm_precision_of(f)->ops[((const drop_inst *)inst)->op];
    loss->op = inst->op;
    loss->drops = true;
    return inst->next;
}

static void emit_drop(vm_emit *e, const bc_op *op)
{
    const bc_value *from = bc_operands(op)[0];
    if (!vm_has_floats(from) || !vm_exact_storage(e, from))
        return;
    drop_inst *inst = vm_new_inst(e, op, drop_run, drop_inst);
    inst->op = e->position;
    vm_append(e, &inst->head);
}

static void emit_same(vm_emit *e, const bc_op *op)
{
    const bc_value *from = bc_operands(op)[0];
    if (vm_has_floats(from))
        vm_set_exact(e, vm_result(op, 0), vm_exact_storage(e, from));
}

void vm_emit_exact(vm_emit *e, const bc_op *op)
{
    const vm_exact_op what = vm_exact_op_of(op);
    e->at = e->cur;
    if (what.fn)
        vm_emit_exact_map(e, op, &what);
    else if (op->opcode == OP_select)
        vm_emit_exact_select(e, op);
    else if (bc_op_in(op->opcode, BC_OPS(SAME) | BC_OPS(RESHAPE)))
        emit_same(e, op);
    else if (op->opcode == OP_bitcast || op->opcode == OP_pack || op->opcode == OP_unpack)
        emit_drop(e, op);
    else if (bc_op_in(op->opcode, BC_OPS(MOVE) | BC_OPS(PART)))
        vm_emit_exact_move(e, op);
    else if (bc_op_in(op->opcode, BC_OPS(PRODUCT)))
        vm_emit_exact_product(e, op);
    else if (bc_op_in(op->opcode, BC_OPS(ACCESS)))
        vm_emit_exact_access(e, op);
}
