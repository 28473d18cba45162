/* See the header. */
#include "codegen/facts/recurrence.h"

ct_value *cg_uniform_of(ct_value *v)
{
    while (v->type->rank && v->op && (v->op->opcode == OP_reshape || v->op->opcode == OP_broadcast))
        v = v->op->operands[0];
    return v->type->rank ? NULL : v;
}

static bool is_step(ct_value *v, const ct_block *body)
{
    int64_t value;
    const ct_value *uniform = cg_uniform_of(v);
    return uniform ? !ct_is_inside(uniform->block, body) : ct_is_constant(v, &value);
}

/* Adds the step in an addition, and returns its other operand. NULL: no operand is a step, or both are. */
static ct_value *step_taken(const ct_op *op, const ct_block *body, cg_recurrence *r)
{
    ct_value *a = op->operands[0], *b = op->operands[1];
    bool swapped = op->opcode == OP_addi && is_step(a, body);
    if ((!swapped && !is_step(b, body)) || r->count == CG_MOST_STEPS)
        return NULL;
    r->steps[r->count].value = swapped ? a : b;
    r->steps[r->count++].subtracted = op->opcode == OP_subi;
    return swapped ? b : a;
}

bool cg_find_recurrence(const ct_op *loop, uint32_t index, cg_recurrence *out)
{
    const ct_block *body = loop->regions[0];
    const ct_value *arg = &body->args[index + 1];
    ct_value *v = body->last->operands[index];
    *out = (cg_recurrence){.start = loop->operands[ct_first_carried(loop) + index]};
    while (v && v != arg) {
        const ct_op *op = v->block == body ? v->op : NULL;
        if (!op)
            return false;
        switch ((int)op->opcode) {
        case OP_assume: v = op->operands[0]; break;
        case OP_addi:
        case OP_subi:
        case OP_offset: v = step_taken(op, body, out); break;
        default: return false;
        }
    }
    return v;
}
