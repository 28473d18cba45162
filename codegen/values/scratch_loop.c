/* What a loop's ops may still read of the scratch when it goes round, and when it is left. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/values/values.h"

/* Can the op do without, other than for its results in further layouts? */
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

/* Of the conversions of a value into the layouts that are wanted. */
static void add_conversions(cg_func *c, const ct_value *v)
{
    const cg_value *x = cg_value_of(c, v);
    for (const cg_copy *copy = x->form == CG_TILE ? x->copies : NULL; copy; copy = copy->next) {
        cg_span own = cg_conversion_span(c, bc_elem_kind(v->type), &x->home, &copy->layout);
        cg_scratch_apart_read(c, &own);
    }
}

void cg_scratch_loop(cg_func *c, const ct_block *body)
{
    static const cg_span all = {0, UINT32_MAX, 0};
    if (c->strips)
        cg_scratch_apart_read(c, &all);
    for (uint32_t i = 0; i < body->arg_count; i++)
        add_conversions(c, &body->args[i]);
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        if (!spares_scratch(c, op))
            cg_scratch_apart_read(c, &all);
        for (uint32_t i = 0; i < op->result_count; i++)
            add_conversions(c, &op->results[i]);
        for (uint32_t r = 0; r < op->region_count; r++)
            for (uint32_t i = 0; op->regions[r] && i < op->regions[r]->arg_count; i++)
                add_conversions(c, &op->regions[r]->args[i]);
    }
}
