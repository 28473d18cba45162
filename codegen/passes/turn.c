/* Products that are computed transposed (codegen/ops/mma_turned.c), and what passes on loops make of the ops around
   them: roundings of f32 to tf32 are left to the product, and tiles of A that are to be rounded go through registers on
   their way to the ring, since copies do not round and wgmma cuts. */
#include "codegen/analysis/product.h"
#include "codegen/passes/ring.h"

/* Does the op round to nearest, as the product can do by itself, what nobody else takes? */
static bool is_rounding(const ct_op *op)
{
    return op->opcode == OP_ftof && bc_elem_kind(op->results[0].type) == BC_TF32
           && bc_elem_kind(op->operands[0]->type) == BC_F32
           && ct_attr_u(op, F_ftof_rounding_mode) == BC_RoundingMode_nearest_even && !op->results[0].uses->next;
}

void cg_set_turned(ct_op *product, bool turned)
{
    product->turned = turned;
    for (uint32_t i = 0; i < 2; i++)
        for (ct_op *op = product->operands[i]->op; op && (is_rounding(op) || cg_is_seen(op)); op = op->operands[0]->op)
            if (op->opcode == OP_ftof)
                op->turned = turned;
}

ct_op *cg_turned_product(const ct_block *body)
{
    for (ct_op *op = body->first; op; op = op->next)
        if (cg_is_product(op) && op->turned)
            return op;
    return NULL;
}

void cg_take_roundings(ct_op *product)
{
    for (uint32_t i = 0; i < 2; i++)
        for (ct_op *op = product->operands[i]->op, *before; cg_is_seen(op); op = before) {
            before = op->operands[0]->op;
            if (op->opcode != OP_ftof)
                continue;
            ct_replace_uses(&op->results[0], op->operands[0]);
            ct_remove(op);
        }
}

void cg_set_rounding(const ct_op *product, const ct_op *load, bool maps, cg_ring_load *out)
{
    const ct_value *tile = &load->results[0];
    bool rounds = product->turned && bc_elem_kind(tile->type) == BC_F32;
    out->is_put = rounds && !maps && cg_source_of(product->operands[0]) == tile;
    out->is_rounded = out->is_put || (rounds && maps);
}
