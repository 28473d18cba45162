/* Which ops share a loop over strips: around the lowering of each, the loop is opened or ended as the op needs it. */
#include "codegen/ops/hooks.h"
#include "codegen/passes/lower.h"
#include "codegen/values/effects.h"
#include "codegen/values/strip_state.h"
#include "codegen/values/values.h"

/* ---- how long values are needed ---- */

/* What was read for the last time lets its memory go, unless a loop around the op may read it again. */
static void free_slots(cg_func *c, const ct_op *reader, const ct_value *v)
{
    for (const cg_copy *copy = cg_value_of(c, v)->copies; copy; copy = copy->next)
        if (copy->local && v->op && v->op->block == reader->block && !v->op->region_count)
            cg_strip_forget(c, v, copy);
}

/* One read less of v to come; a lazy value is made of its operands until it is read no more. */
static void release(cg_func *c, const ct_op *reader, const ct_value *v)
{
    uint32_t *uses = &c->strips->uses[v->id];
    if (*uses)
        --*uses;
    if (*uses || !bc_is_tile(v->type))
        return;
    free_slots(c, reader, v);
    if (cg_value_of(c, v)->form == CG_LAZY)
        for (uint32_t i = 0; i < v->op->operand_count; i++)
            release(c, reader, ct_operands(v->op)[i]);
}

/* ---- ops ---- */

typedef enum place {
    STAYS,  /* needs no loop, and may stand in one */
    ENTERS, /* strip by strip, in the loop that is open, if any */
    OWNS,   /* strip by strip, in a loop of its own */
    LEAVES  /* stands outside of loops, or opens its own */
} place;

static bool result_varies(cg_func *c, const ct_op *op)
{
    return op->result_count && cg_strip_varies(c, cg_value_of(c, cg_result(op, 0))->home);
}

/* Weak accesses of different threads have no order: they may stand among others. */
static place place_of_access(cg_func *c, const ct_op *op)
{
    const bc_op_info *info = ct_info(op);
    bool weak = ct_attr_u(op, bc_order_row(info)) == BC_MemoryOrderingSemantics_weak;
    return !result_varies(c, op)                                               ? LEAVES
           : weak && (info->effects == BC_READS || info->effects == BC_WRITES) ? ENTERS
                                                                               : OWNS;
}

static place place_of(cg_func *c, const ct_op *op)
{
    const ct_value *result = op->result_count ? cg_result(op, 0) : NULL;
    if (result && cg_value_of(c, result)->form == CG_LAZY)
        return STAYS;
    switch ((bc_op_class)bc_op_class_of[op->opcode]) {
    case BC_OP_SAME:
    case BC_OP_VIEW:
    case BC_OP_QUERY: return STAYS;
    case BC_OP_TOKEN: return ct_info(op)->effects ? LEAVES : STAYS;
    case BC_OP_EXIT: return op->opcode == OP_return ? LEAVES : STAYS;
    case BC_OP_ACCESS: return place_of_access(c, op);
    case BC_OP_PART:
        return result_varies(c, op) && (op->opcode != OP_extract || cg_extract_in_registers(c, op)) ? ENTERS : LEAVES;
    case BC_OP_FOLD: return op->opcode == OP_reduce && cg_reduce_in_one_loop(c, op) ? ENTERS : LEAVES;
    case BC_OP_GIVEN:
    case BC_OP_MAP:
    case BC_OP_CAST: return result_varies(c, op) ? ENTERS : result->type->rank ? LEAVES : STAYS;
    default: return LEAVES;
    }
}

void cg_strip_begin_op(cg_func *c, const ct_op *op)
{
    if (c->strips->inlined)
        return;
    place where = place_of(c, op);
    bool conflict = (where == ENTERS || where == OWNS) && cg_effect_waits(op);
    if (where == LEAVES || where == OWNS || conflict)
        cg_strip_close(c);
    if (conflict)
        cg_barrier(c);
    if (where == ENTERS)
        cg_strip_enter(c);
    if (where == OWNS)
        cg_strip_open(c, cg_strip_mask(c, cg_value_of(c, cg_result(op, 0))->home), false);
    c->strips->own = where == OWNS;
    bool is_lazy = op->result_count && cg_value_of(c, cg_result(op, 0))->form == CG_LAZY;
    for (uint32_t i = 0; i < op->operand_count && (!is_lazy || !c->strips->uses[cg_result(op, 0)->id]); i++)
        release(c, op, ct_operands(op)[i]);
}

void cg_strip_end_op(cg_func *c)
{
    cg_strips *all = c->strips;
    if (all->inlined)
        return;
    if (all->own)
        cg_strip_close(c);
    all->own = false;
    if (!c->failed)
        cg_strip_flush(c);
    cg_strip_reuse(c);
}
