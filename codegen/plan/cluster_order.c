/* Finds accesses that the thread blocks of a cluster must not divide, because one block would read or write an element
   before or after another one writes it: the blocks do not wait for each other. Why parts are right: for each element
   that a block stores, all accesses that are ordered with the store are done by the same block, in the order of its
   ops. */
#include "codegen/analysis/apart.h"
#include "codegen/analysis/order.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/cluster.h"

/* Does the access go through a view whose tiles are divided? *out_axis: the dimension. */
static bool is_parted_view(const cg_spreading *x, const ct_op *op, uint32_t *out_axis)
{
    uint32_t value;
    if (op->opcode != OP_load_view_tko && op->opcode != OP_store_view_tko)
        return false;
    const cg_share *share = &x->of[cg_cluster_is_store(op, &value) ? op->operands[value]->id : op->results[0].id];
    *out_axis = share->axis;
    return share->parted && (op->opcode == OP_store_view_tko || !share->whole);
}

const ct_value *cg_cluster_tensor_of(const ct_value *view)
{
    while (view->op && (view->op->opcode == OP_make_partition_view || view->op->opcode == OP_assume))
        view = view->op->operands[0];
    for (const ct_block *block = view->block; block->parent; block = block->parent->block)
        if (ct_is_loop(block->parent))
            return NULL;
    return view;
}

/* Does one block access the same elements through both, and no other block? Its part of a tile follows from the
   position in the tensor, and each element of memory has one position. */
static bool are_of_one_block(const cg_spreading *x, const ct_op *a, const ct_op *b)
{
    uint32_t axis, other;
    if (!is_parted_view(x, a, &axis) || !is_parted_view(x, b, &other))
        return false;
    const ct_value *v = ct_operand(a, ct_info(a)->address), *w = ct_operand(b, ct_info(b)->address);
    const ct_value *tensor = cg_cluster_tensor_of(v);
    return tensor && tensor == cg_cluster_tensor_of(w) && v->type->dim_map[axis] == w->type->dim_map[other]
           && v->type->shape[axis] == w->type->shape[other] && cg_tensor_is_apart(x->c, tensor);
}

/* Compares the store with all accesses. */
static bool is_store_torn(const cg_spreading *x, const cg_ordered_op *store, const cg_ordered_op *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (cg_are_ordered(store, &all[i]) && !are_of_one_block(x, store->op, all[i].op))
            return true;
    return false;
}

static uint32_t count_accesses(const ct_block *body)
{
    uint32_t count = 0;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        count += bc_op_in(op->opcode, BC_OPS(ACCESS));
    return count;
}

bool cg_cluster_is_torn(cg_spreading *x)
{
    const ct_block *body = x->c->ir->body;
    uint32_t count = count_accesses(body), next = 0, value;
    cg_ordered_op *all = count <= CG_ORDERED_ACCESSES ? bc_new(&x->c->arena, cg_ordered_op, count + 1u) : NULL;
    if (!all)
        return !cg_cluster_refuse(x, NULL, "it has too many loads and stores");
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (bc_op_in(op->opcode, BC_OPS(ACCESS)))
            all[next++] = cg_ordered_op_of(x->c, op);
    for (uint32_t i = 0; i < count; i++)
        if (cg_cluster_is_store(all[i].op, &value) && is_store_torn(x, &all[i], all, count))
            return !cg_cluster_refuse(x, all[i].op, "other thread blocks may access the memory that it writes");
    return false;
}
