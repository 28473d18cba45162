/* Cursors; see the header. Why it is right: the index along one dimension grows by the same number in each iteration,
   without overflow, and no other operand changes, so that the tiles are as far from each other as the cursor advances.
   Bounds are still those of the index. */
#include "codegen/rewrite/cursor.h"

#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"

/* The loop, and the counter of the iteration for which the op is executed. */
typedef struct moving {
    const ct_block *body;
    const ct_value *counter;
    int64_t step; /* of the loop; 0: it is not known */
} moving;

/* By how many steps of the loop v grows in each iteration: times / by. 0: not at all. */
typedef struct growth {
    int64_t times, by;
} growth;

static bool find_growth(const moving *x, const ct_value *v, uint32_t depth, growth *out);

/* A number that does not overflow is known to be in a range that is smaller than its type. */
static bool of_sum(const moving *x, const ct_op *op, uint32_t depth, growth *out)
{
    growth a, b;
    if (!op->results[0].fact->ranged || !find_growth(x, op->operands[0], depth, &a)
        || !find_growth(x, op->operands[1], depth, &b))
        return false;
    *out = (growth){a.times * b.by + (op->opcode == OP_addi ? 1 : -1) * b.times * a.by, a.by * b.by};
    return true;
}

static bool of_product(const moving *x, const ct_op *op, uint32_t depth, growth *out)
{
    int64_t by;
    bool is_left = ct_is_constant(op->operands[0], &by);
    if (!op->results[0].fact->ranged || (!is_left && !ct_is_constant(op->operands[1], &by)) || by > INT32_MAX
        || by < -INT32_MAX || !find_growth(x, op->operands[is_left], depth, out))
        return false;
    out->times *= by;
    return true;
}

/* Numbers that are not negative, and differ by a multiple of the divisor, have quotients that differ evenly. */
static bool of_quotient(const moving *x, const ct_op *op, uint32_t depth, growth *out)
{
    int64_t by;
    if (!ct_is_constant(op->operands[1], &by) || by <= 0 || by > INT32_MAX || cg_range_of(op->operands[0]).low < 0
        || !find_growth(x, op->operands[0], depth, out) || !x->step)
        return false;
    out->by *= by;
    return out->times * x->step % out->by == 0;
}

static bool find_growth(const moving *x, const ct_value *v, uint32_t depth, growth *out)
{
    enum { MOST = 1 << 20 };
    bool found;
    *out = (growth){v == x->counter, 1};
    if (v == x->counter || !ct_is_inside(v->block, x->body))
        return true;
    if (!v->op || !depth)
        return false;
    switch ((int)v->op->opcode) {
    case OP_addi:
    case OP_subi: found = of_sum(x, v->op, depth - 1, out); break;
    case OP_muli: found = of_product(x, v->op, depth - 1, out); break;
    case OP_divi: found = of_quotient(x, v->op, depth - 1, out); break;
    case OP_assume: found = find_growth(x, v->op->operands[0], depth - 1, out); break;
    default: return false;
    }
    return found && out->times <= MOST && out->times >= -MOST && out->by <= MOST;
}

/* The dimension of the copy's view along which the index grows evenly; UINT32_MAX: other operands change in the loop,
   too. */
static uint32_t moving_dim(const moving *x, const ct_op *copy, growth *out)
{
    cg_view_op v = cg_view_op_of(copy);
    const cg_view *tensor = v.view->view;
    uint32_t dim = UINT32_MAX;
    bool even = v.view->type->kind != BC_GATHER_SCATTER_VIEW && tensor->maker
                && !ct_is_inside(tensor->maker->block, x->body);
    for (uint32_t i = 0; even && i < v.index_count; i++) {
        if (!ct_is_inside(v.index[i]->block, x->body))
            continue;
        even = dim == UINT32_MAX && find_growth(x, v.index[i], CG_SLICE_DEPTH, out) && out->times;
        dim = i;
    }
    return even ? dim : UINT32_MAX;
}

/* The index in front of `place`, where the map knows the counter; NULL: out of memory. */
static ct_value *put_index(cg_func *c, const moving *x, ct_map *map, ct_value *v, ct_op *place)
{
    ct_value *known = ct_mapped(map, v);
    if (known != v || !ct_is_inside(v->block, x->body))
        return known;
    for (uint32_t i = 0; i < v->op->operand_count; i++)
        if (!put_index(c, x, map, v->op->operands[i], place))
            return NULL;
    ct_op *op = ct_clone(c->ir, v->op, map);
    if (!op)
        return NULL;
    ct_insert_before(op, place);
    return &op->results[0];
}

void cg_put_cursor(cg_func *c, ct_op *copy, ct_op *loop, const ct_value *counter, ct_value *first)
{
    moving x = {.body = loop->regions[0], .counter = counter};
    growth g;
    cg_ring_copy *detail = copy->detail;
    if (copy->from->opcode != OP_load_view_tko)
        return;
    if (!ct_is_constant(loop->operands[2], &x.step) || x.step > INT32_MAX)
        x.step = 0;
    uint32_t dim = moving_dim(&x, copy, &g), count = copy->from->operand_count + 1u;
    if (dim == UINT32_MAX)
        return;
    ct_value *index = cg_view_op_of(copy).index[dim];
    cg_ring_cursor *cursor = bc_new(c->ir->arena, cg_ring_cursor, 1);
    ct_op *op = ct_op_new(c->ir, CT_cursor, copy, count + 1, 1);
    ct_map map;
    ct_value *from = NULL;
    if (ct_map_new(c->ir, &map)) {
        ct_map_set(&map, counter, first);
        from = put_index(c, &x, &map, index, loop);
    }
    if (!cursor || !op || !from)
        return;
    *cursor = (cg_ring_cursor){.load = detail->load,
                               .lines = copy->opcode == CT_prefetch,
                               .dim = dim,
                               .starts_before = cg_range_of(index).low < 0 && !ct_attr_u(loop, F_for_unsigned_cmp),
                               .times = g.times,
                               .by = g.by};
    op->detail = cursor;
    for (uint32_t i = 0; i < count; i++)
        ct_set_operand(op, i, copy->operands[i] == index ? from : copy->operands[i]);
    ct_set_operand(op, count, loop->operands[2]);
    op->results[0].type = &ct_own_type;
    ct_insert_before(op, loop);
    detail->cursor = cursor;
}
