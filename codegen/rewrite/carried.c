/* Sums that loops carry; see the header. */
#include "codegen/rewrite/carried.h"

/* Does another op than the last one of the body end an iteration? */
static bool ends_elsewhere(const ct_block *body)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode == OP_continue && op->block != body)
            return true;
    return false;
}

bool cg_is_sum_carried(const ct_op *product, uint32_t *out_index)
{
    const ct_block *body = product->block;
    const ct_use *use = product->results[0].uses;
    if (!body->parent || body->parent->opcode != OP_for || !use || use->next || use->op != body->last)
        return false;
    const ct_value *arg = &body->args[use->index + 1];
    *out_index = use->index;
    return product->operands[2] == arg && !arg->uses->next && !ends_elsewhere(body);
}

ct_op *cg_scale_of_sum(const ct_op *product, uint32_t *out_index)
{
    const ct_block *body = product->block;
    const ct_use *use = product->results[0].uses;
    ct_op *scale = product->operands[2]->op;
    if (!body->parent || body->parent->opcode != OP_for || !use || use->next || use->op != body->last || !scale
        || scale->opcode != OP_mulf || scale->block != body || bc_elem_kind(scale->results[0].type) != BC_F32)
        return NULL;
    const ct_value *arg = &body->args[use->index + 1];
    bool is_plain = ct_attr_u(scale, F_mulf_rounding_mode) == BC_RoundingMode_nearest_even
                    && !ct_attr_u(scale, F_mulf_flush_to_zero);
    *out_index = use->index;
    return is_plain && (scale->operands[0] == arg || scale->operands[1] == arg) && arg->uses && !arg->uses->next
                   && !scale->results[0].uses->next && !ends_elsewhere(body)
               ? scale
               : NULL;
}

ct_op *cg_product_carried(const ct_op *loop, uint32_t *out_index)
{
    ct_op *found = cg_only_product(loop->regions[0]);
    return found && cg_is_sum_carried(found, out_index) ? found : NULL;
}

/* Does the body, apart from the loop in it, multiply or have another `continue`? */
static bool has_more_than(const ct_block *body, const ct_op *loop)
{
    for (const ct_op *op = body->first; op; op = ct_next_op(op == loop ? op->regions[0]->last : op, body))
        if (cg_is_product(op) || (op->opcode == OP_continue && op->block != body))
            return true;
    return false;
}

ct_op *cg_loop_of_sum(ct_op *loop, uint32_t *carried)
{
    for (ct_op *outer; (outer = loop->block->parent) && outer->opcode == OP_for; loop = outer) {
        ct_block *body = outer->regions[0];
        const ct_value *from = loop->operands[ct_for_inits(loop).first + *carried];
        const ct_use *use = loop->results[*carried].uses;
        if (!use || use->next || use->op != body->last || from != &body->args[use->index + 1] || from->uses->next
            || has_more_than(body, loop))
            break;
        *carried = use->index;
    }
    return loop;
}

void cg_mark_in_tensor(ct_op *product, const ct_op *loop)
{
    product->results[0].in_tensor = true;
    uint32_t carried = product->results[0].uses->index;
    for (ct_op *inner = product->block->parent;; inner = inner->block->parent) {
        inner->regions[0]->args[carried + 1].in_tensor = inner->results[carried].in_tensor = true;
        if (inner == loop)
            return;
        carried = inner->results[carried].uses->index;
    }
}
