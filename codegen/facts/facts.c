/* Computes facts in one walk over the ops. Nothing is known about loop-carried values; an induction variable has the
   divisor that its start and step have in common. Sources: assume (operation reference, section 7), arithmetic. */
#include "codegen/facts/facts.h"

static uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static cg_fact of_constant(const ct_op *op)
{
    cg_fact fact = {0};
    int64_t value;
    if (ct_constant_value(op, &value))
        cg_set_constant(&fact, value);
    return fact;
}

static cg_fact of_assume(const ct_op *op, cg_fact f)
{
    const bc_tagged *predicate = ct_attr_of(op, F_assume_predicate)->tagged;
    if (predicate->tag == BC_TAG_DIV_BY && !predicate->has_a) {
        uint8_t divisor = cg_divisor_of(predicate->u.bits);
        f.divisor = divisor > f.divisor ? divisor : f.divisor;
    }
    return f;
}

static cg_fact of_op(const ct_op *op)
{
    ct_value **operands = ct_operands(op);
    cg_fact a = op->operand_count > 0 ? *operands[0]->fact : (cg_fact){0};
    cg_fact b = op->operand_count > 1 ? *operands[1]->fact : (cg_fact){0};
    switch ((int)op->opcode) {
    case OP_constant: return of_constant(op);
    case OP_assume: return of_assume(op, a);
    case OP_alloca: return (cg_fact){.divisor = cg_divisor_of(ct_attr_u(op, F_alloca_alignment))};
    case OP_muli: /* wrapping keeps powers of two */
        return (cg_fact){.divisor = least((uint8_t)(a.divisor + b.divisor), CG_DIVISOR_OF_ZERO)};
    case OP_addi:
    case OP_subi: return (cg_fact){.divisor = least(a.divisor, b.divisor)};
    case OP_shli:
        if (b.constant && b.value >= 0 && b.value < 63)
            return (cg_fact){.divisor = least((uint8_t)(a.divisor + b.value), CG_DIVISOR_OF_ZERO)};
        return (cg_fact){.divisor = a.divisor};
    case OP_offset: {
        int bytes = b.divisor + cg_pointee_shift(operands[0]->type);
        return (cg_fact){.divisor = bytes < 0 ? 0 : least(a.divisor, (uint8_t)bytes)};
    }
    case CT_within:
    case OP_exti:
    case OP_trunci: return (cg_fact){.divisor = a.divisor};
    case OP_maxi:
    case OP_mini: return (cg_fact){.divisor = least(a.divisor, b.divisor)};
    default: break;
    }
    if (!bc_op_in(op->opcode, BC_OPS(CAST) | BC_OPS(RESHAPE) | BC_OPS(MOVE)))
        return (cg_fact){0};
    return a.constant ? a : (cg_fact){.divisor = a.divisor};
}

bool cg_begin_facts(ct_func *f)
{
    cg_fact *facts = bc_new(f->arena, cg_fact, f->value_count + 1u);
    for (uint32_t i = 0; facts && i < f->body->arg_count; i++)
        f->body->args[i].fact = &facts[f->body->args[i].id];
    for (ct_op *op = f->body->first; facts && op; op = ct_next_op(op, f->body)) {
        for (uint32_t i = 0; i < op->result_count; i++)
            op->results[i].fact = &facts[op->results[i].id];
        for (uint32_t r = 0; r < op->region_count; r++)
            for (uint32_t i = 0; op->regions[r] && i < op->regions[r]->arg_count; i++)
                op->regions[r]->args[i].fact = &facts[op->regions[r]->args[i].id];
    }
    return facts;
}

/* The divisor of a counter is the common one of start and step. */
static void learn_counter(const ct_op *loop)
{
    cg_fact *counter = ct_regions(loop)[0]->args[0].fact;
    uint8_t low = ct_operand(loop, F_for_lower_bound)->fact->divisor;
    counter->divisor = least(low, ct_operand(loop, F_for_step)->fact->divisor);
    cg_find_counter_range(loop);
}

void cg_learn(const ct_op *op, bc_arena *arena)
{
    int64_t value;
    for (uint32_t i = 0; i < op->operand_count; i++)
        ct_operands(op)[i]->fact->used = true;
    if (op->result_count) {
        cg_fact *fact = ct_results(op)[0].fact;
        *fact = of_op(op);
        if (cg_evaluate(op, &value))
            cg_set_constant(fact, value);
        else
            cg_find_ranges(op);
        fact->axes = cg_find_axes(op, arena);
    }
    if (op->opcode == OP_for)
        learn_counter(op);
}

bool cg_find_facts(ct_func *f)
{
    if (!cg_begin_facts(f))
        return false;
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        cg_learn(op, f->arena);
    return !f->arena->failed;
}
