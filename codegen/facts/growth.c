/* Finds loops that have more iterations in later blocks. The direction in which an integer changes as the block's
   index along x grows follows from the ops that compute it, apart from overflow. The result only affects the order
   of blocks, never the values that a kernel computes. */
#include "codegen/facts/facts.h"

typedef enum way { UNKNOWN, SAME, GROWS, SHRINKS } way;

static way both(way a, way b)
{
    return a == SAME ? b : b == SAME || a == b ? a : UNKNOWN;
}

static way turned(way a)
{
    return a == GROWS ? SHRINKS : a == SHRINKS ? GROWS : a;
}

/* The direction of a multiplied or divided by v, if v is the same for all blocks and at least `least`. */
static way scaled(way a, way b, const ct_value *v, int64_t least)
{
    return b == SAME && cg_range_of(v).low >= least ? a : UNKNOWN;
}

static bool is_made_of_operands(const ct_op *op)
{
    return ct_is_map(op)
           || bc_op_in(op->opcode, BC_OPS(SAME) | BC_OPS(RESHAPE) | BC_OPS(MOVE) | BC_OPS(VIEW) | BC_OPS(QUERY));
}

static way way_of(const ct_op *op, const uint8_t *ways)
{
    bool same = is_made_of_operands(op);
    for (uint32_t i = 0; i < op->operand_count; i++)
        same = same && ways[op->operands[i]->id] == SAME;
    if (same || !op->operand_count)
        return same ? SAME : UNKNOWN;
    const ct_value *v = op->operands[0], *w = op->operands[op->operand_count - 1];
    way a = (way)ways[v->id], b = (way)ways[w->id];
    switch ((int)op->opcode) {
    case OP_assume: return a;
    case OP_addi:
    case OP_mini:
    case OP_maxi: return both(a, b);
    case OP_subi: return both(a, turned(b));
    case OP_muli: return b == SAME ? scaled(a, b, w, 0) : scaled(b, a, v, 0);
    case OP_divi: return scaled(a, b, w, 1);
    default: return UNKNOWN;
    }
}

static bool has_more_iterations(const ct_op *op, const uint8_t *ways)
{
    if (op->opcode != OP_for || ct_loop_around(op))
        return false;
    way first = (way)ways[op->operands[0]->id], end = (way)ways[op->operands[1]->id];
    return end == GROWS && (first == SAME || first == SHRINKS) && ways[op->operands[2]->id] == SAME;
}

bool cg_find_growing_loop(const ct_func *f, bc_arena *scratch, const ct_op **out_loop)
{
    uint8_t *ways = bc_new(scratch, uint8_t, f->value_count + 1u);
    *out_loop = NULL;
    if (!ways)
        return false;
    for (uint32_t i = 0; i < f->body->arg_count; i++)
        ways[f->body->args[i].id] = SAME;
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        way here = op->region_count ? UNKNOWN : way_of(op, ways);
        for (uint32_t i = 0; i < op->result_count; i++)
            ways[op->results[i].id] = (uint8_t)(op->opcode == OP_get_tile_block_id && !i ? GROWS : here);
        if (!*out_loop && has_more_iterations(op, ways))
            *out_loop = op;
    }
    return true;
}
