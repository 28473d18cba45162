/* The look ahead: positions, uses, and which loads can leave their tile in memory. */
#include "vm/compile/plan.h"

bool vm_is_pure(const bc_op *op)
{
    return !bc_info(op)->effects && !bc_info(op)->region_rows && !bc_op_in(op->opcode, BC_OPS(EXIT));
}

bool vm_is_removable(const bc_op *op)
{
    return !(bc_info(op)->effects & ~(BC_PARTIAL | BC_OF_BLOCK))
           && !bc_op_in(op->opcode, BC_OPS(LOOP) | BC_OPS(BRANCH) | BC_OPS(EXIT));
}

static bool any_result_used(vm_emit *e, const bc_op *op)
{
    for (unsigned i = 0; i < op->result_count; i++)
        if (vm_used(e, vm_result(op, i)))
            return true;
    return false;
}

static bool is_mma(const bc_op *op)
{
    return bc_op_in(op->opcode, BC_OPS(PRODUCT));
}

/* Whether a load's result could reach operand i of op as rows in memory. */
static bool takes_rows(vm_emit *e, const bc_op *op, unsigned i)
{
    if (bc_op_in(op->opcode, BC_OPS(MAP)))
        return true;
    if (bc_op_in(op->opcode, VM_OPS_IN_PLACE))
        return vm_value_of(e, vm_result(op, 0))->rows_ok;
    if (op->opcode == OP_store_view_tko) /* the tile, if a group can store it */
        return i == 0 && bc_operand(op, F_store_view_tko_view)->type->kind != BC_GATHER_SCATTER_VIEW
               && bc_attr_u(op, F_store_view_tko_memory_ordering_semantics) == BC_MemoryOrderingSemantics_weak;
    return i < 2 && is_mma(op);
}

static void use_operands(vm_emit *e, const bc_op *op, uint32_t position)
{
    bc_value **operands = bc_operands(op);
    bool reshapes = bc_op_in(op->opcode, VM_OPS_IN_PLACE);
    for (unsigned i = 0; i < op->operand_count; i++) {
        vm_value *v = vm_value_of(e, operands[i]);
        uint32_t last = reshapes ? vm_value_of(e, vm_result(op, 0))->last_use : 0;
        if (last < position)
            last = position;
        v->uses++;
        if (v->last_use < last)
            v->last_use = last;
        if (!takes_rows(e, op, i))
            v->rows_ok = false;
        v->mma_only &= is_mma(op) && i < 2;
    }
}

static void plan_writes(vm_plan *plan, uint8_t *writes)
{
    for (uint32_t p = plan->count; p-- > 0;) {
        const bc_op *op = plan->ops[p];
        uint32_t next = plan->end[p];
        writes[p] = bc_info(op)->effects & (BC_WRITES | BC_ORDERS) ? 1 : 0;
        plan->next_write[p] = UINT32_MAX;
        if (op->next)
            plan->next_write[p] = writes[next] ? next : plan->next_write[next];
        for (unsigned r = 0; r < op->region_count && !writes[p]; r++) {
            const bc_block *block = bc_regions(op)[r];
            if (!block || !block->first)
                continue;
            uint32_t first = p + 1; /* of region 0; later regions start where the one before ends */
            if (r == 1 && bc_regions(op)[0])
                for (const bc_op *o = bc_regions(op)[0]->first; o; o = o->next)
                    first = plan->end[first];
            writes[p] = writes[first] || plan->next_write[first] != UINT32_MAX;
        }
    }
}

/* Positions and ends of the ops of a block; recursion is bounded by BC_MAX_DEPTH. */
static void number_block(vm_plan *plan, const bc_block *block)
{
    for (const bc_op *op = block->first; op; op = op->next) {
        uint32_t p = plan->count++;
        plan->ops[p] = op;
        for (unsigned r = 0; r < op->region_count; r++)
            if (bc_regions(op)[r])
                number_block(plan, bc_regions(op)[r]);
        plan->end[p] = plan->count;
    }
}

bool vm_make_plan(vm_emit *e)
{
    vm_plan *plan = bc_new(&e->temp, vm_plan, 1);
    if (!plan)
        return false;
    uint32_t count = e->f->op_count;
    plan->ops = bc_new(&e->temp, const bc_op *, count);
    plan->end = bc_new(&e->temp, uint32_t, count);
    plan->next_write = bc_new(&e->temp, uint32_t, count);
    uint8_t *writes = bc_new(&e->temp, uint8_t, count);
    if (e->temp.failed)
        return false;
    e->plan = plan;
    number_block(plan, e->f->body);
    plan_writes(plan, writes);
    for (uint32_t i = 0; i < e->f->value_count; i++) /* a trace shows unused values too */
        e->values[i] = (vm_value){.rows_ok = !e->plain, .mma_only = !e->plain, .uses = e->plain};
    for (uint32_t p = plan->count; p-- > 0;) {
        const bc_op *op = plan->ops[p];
        if (!e->plain && vm_is_removable(op) && !any_result_used(e, op))
            continue;
        use_operands(e, op, p);
    }
    return true;
}

bool vm_body_is_lanes(const bc_block *body)
{
    for (const bc_op *op = body->first; op; op = op->next) {
        for (unsigned i = 0; i < op->result_count; i++)
            if (!bc_is_tile(vm_result(op, i)->type) || vm_result(op, i)->type->rank)
                return false;
        if (!bc_op_in(op->opcode, BC_OPS(MAP) | VM_OPS_IN_PLACE) && op->opcode != OP_constant && op->opcode != OP_yield
            && op->opcode != OP_get_tile_block_id && op->opcode != OP_get_num_tile_blocks)
            return false;
    }
    return true;
}
