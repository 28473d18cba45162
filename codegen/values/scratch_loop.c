/* What a loop's ops may still read of the scratch when it goes round, and when it is left. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/values/values.h"

/* Can the op, no conversion, do without? */
static bool spares_scratch(cg_func *c, const ct_op *op)
{
    const bc_op_classes none = BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(RESHAPE)
                               | BC_OPS(MOVE) | BC_OPS(VIEW) | BC_OPS(QUERY) | BC_OPS(TOKEN) | BC_OPS(LOOP)
                               | BC_OPS(BRANCH) | BC_OPS(EXIT);
    if (op->opcode == CT_ring || (op->detail && bc_is_loop(op->opcode)))
        return false; /* it shares the memory of scratch */
    if (op->opcode > CT_BEFORE_FIRST || bc_op_in(op->opcode, none))
        return true;
    if (cg_is_product(op))
        return cg_mma_spares_scratch(c, op);
    return cg_is_weak_access(op);
}

static void add_conversion(cg_func *c, const ct_op *op)
{
    const ct_value *from = op->operands[0];
    cg_span own = cg_conversion_span(c, bc_elem_kind(from->type), cg_value_of(c, from)->home,
                                     cg_value_of(c, cg_result(op, 0))->home);
    cg_scratch_apart_read(c, &own);
}

void cg_scratch_loop(cg_func *c, const ct_block *body)
{
    static const cg_span all = {0, UINT32_MAX, 0};
    if (c->strips)
        cg_scratch_apart_read(c, &all);
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode == CT_convert)
            add_conversion(c, op);
        else if (!spares_scratch(c, op))
            cg_scratch_apart_read(c, &all);
}
