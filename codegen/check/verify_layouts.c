/* Checks the results of the layouts and convert passes; see the header. */
#include "codegen/check/check.h"

static bool is_faulty(ct_fault *fault, const ct_op *op, const char *what)
{
    *fault = (ct_fault){op, what};
    return false;
}

static bool has_home(cg_func *c, const ct_value *v)
{
    return cg_value_of(c, v)->form == CG_TILE;
}

static bool fit(cg_func *c, const ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (has_home(c, &values[i])
            && (!bc_is_tile(values[i].type)
                || cg_value_of(c, &values[i])->home->tile_bits != cg_shape_of(values[i].type).tile_bits))
            return false;
    return true;
}

/* Does the op convert from one layout to another? */
static bool converts(cg_func *c, const ct_op *op)
{
    const ct_value *from = op->operands[0], *to = cg_result(op, 0);
    return has_home(c, from) && has_home(c, to) && cg_value_of(c, from)->home != cg_value_of(c, to)->home;
}

bool cg_verify_layouts(cg_func *c, ct_fault *out_fault)
{
    const ct_block *body = c->ir->body;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        bool fits = fit(c, op->results, op->result_count);
        for (uint32_t r = 0; r < op->region_count; r++)
            fits = fits && (!op->regions[r] || fit(c, op->regions[r]->args, op->regions[r]->arg_count));
        if (!fits)
            return is_faulty(out_fault, op, "a layout is for another number of elements");
        if (op->opcode == CT_convert && !converts(c, op))
            return is_faulty(out_fault, op, "it does not lead to another layout");
    }
    return true;
}
