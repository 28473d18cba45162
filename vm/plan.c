/* The look ahead: positions, uses, and which loads can leave their tile in memory. */
#include "vm/plan.h"

vm_op_class vm_class_of(bc_opcode opcode)
{
    switch (opcode) {
    case OP_absf:
    case OP_absi:
    case OP_addf:
    case OP_addi:
    case OP_andi:
    case OP_atan2:
    case OP_ceil:
    case OP_cmpf:
    case OP_cmpi:
    case OP_cos:
    case OP_cosh:
    case OP_divf:
    case OP_divi:
    case OP_exp:
    case OP_exp2:
    case OP_exti:
    case OP_floor:
    case OP_fma:
    case OP_fpowf:
    case OP_fpowi:
    case OP_ftof:
    case OP_ftoi:
    case OP_itof:
    case OP_log:
    case OP_log2:
    case OP_maxf:
    case OP_maxi:
    case OP_minf:
    case OP_mini:
    case OP_mulf:
    case OP_mulhii:
    case OP_muli:
    case OP_negf:
    case OP_negi:
    case OP_offset:
    case OP_ori:
    case OP_remf:
    case OP_remi:
    case OP_rsqrt:
    case OP_select:
    case OP_shli:
    case OP_shri:
    case OP_sin:
    case OP_sinh:
    case OP_sqrt:
    case OP_subf:
    case OP_subi:
    case OP_tan:
    case OP_tanh:
    case OP_trunci:
    case OP_xori: return VM_CLASS_MAP;
    case OP_reshape:
    case OP_assume:
    case OP_bitcast:
    case OP_int_to_ptr:
    case OP_ptr_to_int:
    case OP_ptr_to_ptr: return VM_CLASS_RESHAPE;
    case OP_broadcast:
    case OP_permute: return VM_CLASS_LAYOUT;
    case OP_atomic_cas_tko:
    case OP_atomic_rmw_tko:
    case OP_atomic_red_view_tko:
    case OP_store_ptr_tko:
    case OP_store_view_tko:
    case OP_memory_fence_alias_tko:
    case OP_gdc_wait_tko:
    case OP_gdc_launch_dependents_tko:
    case OP_multimem_load_reduce_view_tko:
    case OP_multimem_reduce_view_tko:
    case OP_multimem_store_view_tko: return VM_CLASS_WRITES;
    case OP_load_ptr_tko:
    case OP_load_view_tko: return VM_CLASS_READS;
    case OP_alloca:
    case OP_assert:
    case OP_print_tko:
    case OP_extract:
    case OP_insert:
    case OP_get_tile_block_id: return VM_CLASS_FIXED;
    default: return VM_CLASS_OTHER;
    }
}

bool vm_is_pure(const bc_op *op)
{
    switch (vm_class_of((bc_opcode)op->opcode)) {
    case VM_CLASS_MAP:
    case VM_CLASS_RESHAPE:
    case VM_CLASS_LAYOUT: return true;
    case VM_CLASS_OTHER: return op->region_count == 0 && !(bc_info(op)->traits & (BC_TERMINATOR | BC_EFFECTS));
    case VM_CLASS_WRITES:
    case VM_CLASS_READS:
    case VM_CLASS_FIXED: return false;
    }
    return false;
}

bool vm_is_removable(const bc_op *op)
{
    if (vm_is_pure(op))
        return true;
    switch (op->opcode) {
    case OP_extract:
    case OP_insert:
    case OP_get_tile_block_id:
    case OP_reduce:
    case OP_scan: return true;
    default: return false;
    }
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
    return op->opcode == OP_mmaf || op->opcode == OP_mmai || op->opcode == OP_mmaf_scaled;
}

/* Whether a load's result could reach operand i of op as rows in memory. */
static bool takes_rows(vm_emit *e, const bc_op *op, unsigned i)
{
    switch (vm_class_of((bc_opcode)op->opcode)) {
    case VM_CLASS_MAP: return true;
    case VM_CLASS_RESHAPE: return vm_value_of(e, vm_result(op, 0))->rows_ok;
    default: break;
    }
    if (op->opcode == OP_store_view_tko) /* the tile, if a group can store it */
        return i == 0 && bc_operand(op, F_store_view_tko_view)->type->kind != BC_GATHER_SCATTER_VIEW
               && bc_attr_u(op, F_store_view_tko_memory_ordering_semantics) == BC_MemoryOrderingSemantics_weak;
    return i < 2 && is_mma(op);
}

static void use_operands(vm_emit *e, const bc_op *op, uint32_t position)
{
    bc_value **operands = bc_operands(op);
    bool reshapes = vm_class_of((bc_opcode)op->opcode) == VM_CLASS_RESHAPE;
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
        writes[p] = vm_class_of((bc_opcode)op->opcode) == VM_CLASS_WRITES;
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
        vm_op_class class_ = vm_class_of((bc_opcode)op->opcode);
        if (class_ != VM_CLASS_MAP && class_ != VM_CLASS_RESHAPE && op->opcode != OP_constant && op->opcode != OP_yield
            && op->opcode != OP_get_tile_block_id && op->opcode != OP_get_num_tile_blocks)
            return false;
    }
    return true;
}
