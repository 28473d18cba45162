/* Loads of what nobody reads again; see the header. An index names a tile by the numbers of the block and the counters
   of loops. From the indices of a load back to these: a sum names its summands, a quotient and a remainder by the same
   divisor together what was divided. What is not named, along that all blocks read the same. */
#include "codegen/analysis/once.h"

#include <string.h>

#include "codegen/analysis/order.h"
#include "codegen/analysis/view.h"

enum { MOST_LOADS = 32 }; /* of a kernel that is looked at */

typedef struct naming {
    const ct_func *f;
    const ct_op **ops; /* in the order of the text */
    uint32_t op_count;
    bool *named;                  /* by value id */
    const ct_value **quotient_by, /* the divisor, if a named value is such a quotient of this one */
        **remainder_by;
} naming;

/* Does no other op reach the memory, a parameter's? */
static bool is_alone(const naming *x, const ct_op *load)
{
    bool write;
    const ct_value *origin = cg_origin_of(cg_memory_of(load, &write));
    for (uint32_t i = 0; i < x->op_count; i++) {
        const ct_value *other = x->ops[i] == load ? NULL : cg_memory_of(x->ops[i], &write);
        if (other && (cg_origin_of(other) == origin || cg_origin_of(other)->op))
            return false;
    }
    return !origin->op;
}

/* ---- what an index names ---- */

static bool is_same_number(const ct_value *a, const ct_value *b)
{
    return a == b || (a->fact && b->fact && a->fact->constant && b->fact->constant && a->fact->value == b->fact->value);
}

static void name_dividend(naming *x, const ct_op *op)
{
    const ct_value *dividend = op->operands[0], *divisor = op->operands[1];
    const ct_value **own = op->opcode == OP_divi ? x->quotient_by : x->remainder_by,
                   **other = op->opcode == OP_divi ? x->remainder_by : x->quotient_by;
    bool is_whole = op->opcode == OP_divi && divisor->fact && divisor->fact->constant && divisor->fact->value == 1;
    own[dividend->id] = divisor;
    if (is_whole || (other[dividend->id] && is_same_number(other[dividend->id], divisor)))
        x->named[dividend->id] = true;
}

static void name_operands(naming *x, const ct_op *op)
{
    switch ((int)op->opcode) {
    case OP_divi:
    case OP_remi: name_dividend(x, op); break;
    case OP_select: x->named[op->operands[1]->id] = x->named[op->operands[2]->id] = true; break;
    case OP_for: x->named[op->operands[0]->id] = true; break; /* by its counter: where that begins */
    default:
        if (ct_is_map(op) || bc_op_in(op->opcode, BC_OPS(SAME) | BC_OPS(RESHAPE)))
            for (uint32_t i = 0; i < op->operand_count; i++)
                x->named[op->operands[i]->id] = true;
    }
}

static bool is_named(const naming *x, const ct_op *op)
{
    if (op->opcode == OP_for)
        return x->named[op->regions[0]->args[0].id];
    for (uint32_t i = 0; i < op->result_count; i++)
        if (x->named[op->results[i].id])
            return true;
    return false;
}

/* Does the load come to other tiles in each iteration of the loops around it? */
static bool moves_on(const naming *x, const ct_op *load)
{
    for (const ct_op *loop = ct_loop_around(load); loop; loop = ct_loop_around(loop))
        if (loop->opcode != OP_for || !x->named[loop->regions[0]->args[0].id])
            return false;
    return true;
}

static uint32_t find_shared(const naming *x)
{
    enum { ALL = 7 };
    uint32_t along = ALL;
    for (uint32_t i = 0; i < x->op_count; i++)
        for (uint32_t d = 0; x->ops[i]->opcode == OP_get_tile_block_id && d < x->ops[i]->result_count; d++)
            if (x->named[x->ops[i]->results[d].id])
                along &= ~(1u << d);
    return along;
}

static bool look_at(naming *x, uint32_t at, cg_once *out)
{
    const ct_op *load = x->ops[at];
    cg_view_op v = cg_view_op_of(load);
    if (!cg_is_weak_access(load) || !cg_view_tiles_apart(v.view->type) || !is_alone(x, load))
        return false;
    memset(x->named, 0, x->f->value_count * sizeof *x->named);
    memset(x->quotient_by, 0, x->f->value_count * sizeof(const ct_value *));
    memset(x->remainder_by, 0, x->f->value_count * sizeof(const ct_value *));
    for (uint32_t i = 0; i < v.index_count; i++)
        x->named[v.index[i]->id] = true;
    for (uint32_t i = at; i-- > 0;)
        if (is_named(x, x->ops[i]))
            name_operands(x, x->ops[i]);
    if (!moves_on(x, load))
        return false;
    *out = (cg_once){.load = load->from, .along = find_shared(x)};
    return true;
}

static bool begin(naming *x, bc_arena *arena)
{
    uint32_t count = 0, values = x->f->value_count + 1u;
    for (const ct_op *op = x->f->body->first; op; op = ct_next_op(op, x->f->body))
        count++;
    x->ops = bc_new(arena, const ct_op *, count + 1u);
    x->named = bc_new(arena, bool, values);
    x->quotient_by = bc_new(arena, const ct_value *, values);
    x->remainder_by = bc_new(arena, const ct_value *, values);
    for (const ct_op *op = x->ops ? x->f->body->first : NULL; op; op = ct_next_op(op, x->f->body))
        x->ops[x->op_count++] = op;
    return x->ops && x->named && x->quotient_by && x->remainder_by;
}

bool cg_find_once(const ct_func *f, bc_arena *arena, cg_once_list *out)
{
    naming x = {.f = f};
    *out = (cg_once_list){.items = bc_new(arena, cg_once, MOST_LOADS)};
    if (!out->items || !begin(&x, arena))
        return false;
    for (uint32_t i = 0; i < x.op_count && out->count < MOST_LOADS; i++)
        if (x.ops[i]->opcode == OP_load_view_tko && look_at(&x, i, &out->items[out->count]))
            out->count++;
    return true;
}

const cg_once *cg_once_of(const cg_func *c, const ct_op *op)
{
    for (uint32_t i = 0; i < c->once->count; i++)
        if (c->once->items[i].load == op->from)
            return &c->once->items[i];
    return NULL;
}
