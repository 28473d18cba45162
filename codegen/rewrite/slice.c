/* Finds the ops of a loop's body that compute the indices, pointers and masks of its loads: they are repeated for the
   later iterations whose tiles are prefetched. */
#include "codegen/kernel/limits.h"
#include "codegen/rewrite/ring.h"

bool cg_is_slice_op(const ct_op *op, bool tiles)
{
    if (op->result_count != 1 || !bc_is_tile(op->results[0].type) || (op->results[0].type->rank && !tiles))
        return false;
    return ct_is_map(op) || op->opcode == OP_assume || (tiles && bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE)));
}

static bool is_slice(cg_ring *ring, const ct_block *body, const ct_value *v, bool tiles, uint32_t depth)
{
    if (!v->op)
        return v->block != body || v == &body->args[0];
    if (!ct_is_inside(v->op->block, body) || ring->slice.has[v->id])
        return true;
    if (depth == 0 || v->op->block != body || !cg_is_slice_op(v->op, tiles))
        return false;
    for (uint32_t i = 0; i < v->op->operand_count; i++)
        if (!is_slice(ring, body, ct_operands(v->op)[i], tiles, depth - 1))
            return false;
    ring->slice.has[v->id] = true;
    return true;
}

static bool takes(cg_ring *ring, const ct_block *body, const ct_value *v, bool tiles)
{
    return is_slice(ring, body, v, tiles, CG_SLICE_DEPTH);
}

const char *cg_ring_takes_pointers(cg_ring *ring, const ct_block *body, const ct_op *op)
{
    cg_ptr_op p = cg_ptr_op_of(op);
    const ct_value *made[] = {p.pointers, p.mask, ct_operand(op, F_load_ptr_tko_padding_value)};
    for (size_t i = 0; i < TV_COUNT(made); i++)
        if (made[i] && !takes(ring, body, made[i], true))
            return "its pointers, mask or padding depend on more than the loop counter";
    return NULL;
}

const char *cg_ring_takes_view(cg_ring *ring, const ct_block *body, const ct_op *op)
{
    cg_view_op v = cg_view_op_of(op);
    const cg_view *tensor = v.view->view;
    if (tensor->maker && ct_is_inside(tensor->maker->block, body))
        return "its view is made in the loop";
    for (uint32_t i = 0; i < v.index_count; i++)
        if (!takes(ring, body, v.index[i], false))
            return "an index depends on more than the loop counter";
    return NULL;
}

/* Can each thread compute the value by itself: element by element from constants, scalars and positions? seen: by
   value id. */
static bool is_of_indices(const ct_value *v, bool *seen, uint32_t depth)
{
    if (!bc_is_tile(v->type) || !v->type->rank || seen[v->id])
        return true;
    if (!v->op || depth == 0 || !cg_is_slice_op(v->op, true))
        return false;
    seen[v->id] = true;
    for (uint32_t i = 0; i < v->op->operand_count; i++)
        if (!is_of_indices(v->op->operands[i], seen, depth - 1))
            return false;
    return true;
}

bool cg_are_of_indices(cg_func *c, const cg_ptr_op *p)
{
    bool *seen = bc_new(&c->arena, bool, c->ir->value_count + 1u);
    if (!seen)
        cg_no_memory(c);
    return seen && is_of_indices(p->pointers, seen, CG_INDEX_DEPTH)
           && (!p->mask || is_of_indices(p->mask, seen, CG_INDEX_DEPTH));
}
