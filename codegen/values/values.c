/* Values in layouts: passes operands to ops and takes their results. */
#include "codegen/values/values.h"

#include "codegen/ptx/ptx.h"
#include "codegen/values/strips.h"

cg_val *cg_get(cg_func *c, const ct_value *v, const cg_layout *l)
{
    cg_variant *variant = cg_find_copy(cg_value_of(c, v), l);
    if (variant && cg_strip_varies(c, l))
        return cg_strip_get(c, v, variant);
    if (variant && variant->regs)
        return variant->regs;
    cg_val *none = cg_vals(c, cg_layout_regs(l)); /* only after an error */
    if (!c->failed) {
        c->failed = true;
        c->status = TV_UNSUPPORTED;
        bc_report(c->m, c->sink, &(bc_place){.function = c->f, .op = v->op ? v->op->from : NULL, .row = BC_NO_ROW},
                  BC_RULE_G_GEN_01, "internal error: a layout of this value was read that was not asked for");
    }
    return none;
}

cg_val cg_scalar(cg_func *c, const ct_value *v)
{
    cg_layout l = cg_layout_scalar(c->warp_bits);
    cg_val *regs = cg_get(c, v, &l);
    return regs ? regs[0] : cg_const(CG_B32, 0);
}

const char *cg_way_text(cg_way way)
{
    static const char *const ways[] = {[CG_BY_NAMES] = "registers",
                                       [CG_BY_SHUFFLES] = "shuffles",
                                       [CG_BY_SHARED] = "shared memory",
                                       [CG_BY_HALVES] = "shared memory in parts",
                                       [CG_BY_PIECES] = "shared memory from strip to strip"};
    return ways[way];
}

void cg_conversion_text(bc_text *out, const cg_conversion *conversion)
{
    bc_text_printf(out, "by %s", cg_way_text(conversion->way));
    if (conversion->way == CG_BY_SHUFFLES)
        bc_text_printf(out, ", %u a thread", conversion->shuffles);
    else if (conversion->way != CG_BY_NAMES)
        bc_text_printf(out, ", %llu bytes", (unsigned long long)conversion->bytes);
}

void cg_set(cg_func *c, const ct_value *v, cg_val *regs)
{
    const cg_value *x = cg_value_of(c, v);
    cg_variant *home = cg_find_copy(x, x->home);
    if (home && cg_strip_varies(c, home->layout))
        cg_strip_set(c, home, regs);
    else if (home)
        home->regs = regs;
}
