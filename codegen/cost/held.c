/* How many registers of a thread hold tiles where most do: from the last op to the first, a tile is held from what
   makes it to its last use, in a loop from outside of it to its end. What ptxas keeps besides is not known. */
#include "codegen/cost/cost.h"

typedef struct holding {
    cg_func *c;
    bool *held; /* by value id */
    uint64_t bits, most;
} holding;

static uint64_t bits_of(const holding *x, const ct_value *v)
{
    const cg_value *value = cg_value_of(x->c, v);
    if (!bc_is_tile(v->type) || !v->type->rank || value->form != CG_TILE || cg_is_loaded_operand(v))
        return 0;
    return (uint64_t)cg_class_bits(cg_elem_class(v->type)) << value->home->reg_bits;
}

static void hold(holding *x, const ct_value *v)
{
    if (x->held[v->id])
        return;
    x->held[v->id] = true;
    x->bits += bits_of(x, v);
    x->most = x->bits > x->most ? x->bits : x->most;
}

static void drop(holding *x, const ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (x->held[values[i].id]) {
            x->held[values[i].id] = false;
            x->bits -= bits_of(x, &values[i]);
        }
}

/* What the loop needs from outside, in each iteration. */
static void hold_for(holding *x, const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        for (uint32_t i = 0; i < op->operand_count; i++)
            if (!ct_is_inside(op->operands[i]->block, body))
                hold(x, op->operands[i]);
}

static void go_back(holding *x, const ct_block *block)
{
    for (const ct_op *op = block->last; op; op = op->prev) {
        drop(x, op->results, op->result_count);
        if (ct_is_loop(op) && op->regions[0])
            hold_for(x, op);
        uint32_t regions = op->opcode == CT_groups ? 1 : op->region_count; /* producers hold next to nothing */
        for (uint32_t r = 0; r < regions; r++)
            if (op->regions[r]) {
                go_back(x, op->regions[r]);
                drop(x, op->regions[r]->args, op->regions[r]->arg_count);
            }
        for (uint32_t i = 0; i < op->operand_count; i++)
            hold(x, op->operands[i]);
    }
}

bool cg_registers_held(cg_func *c, uint32_t *out_registers)
{
    holding x = {.c = c, .held = bc_new(&c->arena, bool, c->ir->value_count + 1u)};
    if (!x.held)
        return false;
    go_back(&x, c->ir->body);
    *out_registers = (uint32_t)((x.most + 31) / 32);
    return true;
}
