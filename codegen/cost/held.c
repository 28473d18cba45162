/* How many registers of a thread hold tiles where most do: from the last op to the first, a tile is held from what
   makes it to its last use, in a loop from outside of it to its end. What ptxas keeps besides is not known. */
#include "codegen/cost/cost.h"

#include "codegen/kernel/groups.h"

typedef struct holding {
    cg_func *c;
    bool *held; /* by value id */
    bool *anew; /* the same: it is made where it is wanted; NULL: there are layouts, which say so */
    uint64_t bits, most;
} holding;

/* Of a thread; without layouts, of all threads. */
static uint64_t bits_of(const holding *x, const ct_value *v)
{
    if (!bc_is_tile(v->type) || !v->type->rank || cg_is_loaded_operand(v))
        return 0;
    uint64_t bits = cg_class_bits(cg_elem_class(v->type));
    if (x->anew)
        return x->anew[v->id] ? 0 : bits << cg_shape_of(v->type).tile_bits;
    const cg_value *value = cg_value_of(x->c, v);
    return value->form == CG_TILE ? bits << value->home->reg_bits : 0;
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

/* Pointers that a loop carries are made anew: `canonical` computes them from the counter. */
static void find_anew_pointers(const holding *x, const ct_op *loop)
{
    uint32_t first = ct_first_carried(loop);
    for (uint32_t i = first; i < loop->operand_count; i++) {
        const ct_value *start = loop->operands[i], *arg = &loop->regions[0]->args[i - first + 1];
        x->anew[arg->id] = x->anew[start->id] && bc_is_tile(start->type) && bc_elem_kind(start->type) == BC_PTR;
    }
}

/* What comes from the index and from scalars alone is not held: `layouts` makes it anew. */
static void find_anew(holding *x)
{
    for (const ct_op *op = x->c->ir->body->first; op; op = ct_next_op(op, x->c->ir->body)) {
        bool anew = bc_op_in(op->opcode, BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(RESHAPE)
                                             | BC_OPS(MOVE));
        for (uint32_t i = 0; i < op->operand_count; i++)
            anew = anew && (!op->operands[i]->type->rank || x->anew[op->operands[i]->id]);
        for (uint32_t i = 0; i < op->result_count; i++)
            x->anew[op->results[i].id] = anew;
        if (op->opcode == OP_for)
            find_anew_pointers(x, op);
    }
}

bool cg_bits_held(cg_func *c, uint64_t *out_bits)
{
    holding x = {.c = c,
                 .held = bc_new(&c->arena, bool, c->ir->value_count + 1u),
                 .anew = bc_new(&c->arena, bool, c->ir->value_count + 1u)};
    if (!x.held || !x.anew)
        return false;
    find_anew(&x);
    go_back(&x, c->ir->body);
    *out_bits = x.most;
    return true;
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

uint32_t cg_blocks_hinted(const cg_func *c, uint32_t held)
{
    int64_t hint = cg_hint_of(c, CG_HINT_OCCUPANCY), most = c->target->threads / cg_all_threads(c);
    const cg_machine *m = cg_machine_of(c->target);
    double room = m->registers / cg_all_threads(c) / (held + m->registers_few);
    int64_t blocks = hint < most ? hint : most;
    if (blocks > 1 && room < (double)blocks)
        blocks = room < 2 ? 0 : (int64_t)room;
    return (uint32_t)blocks;
}
