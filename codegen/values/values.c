/* Values in layouts: what ops hand in, and what they are handed. */
#include "codegen/values/values.h"

#include <stdio.h>

#include "bytecode/print/print.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/strips.h"

cg_val *cg_get(cg_func *c, const ct_value *v, const cg_layout *l)
{
    cg_copy *copy = cg_find_copy(cg_value_of(c, v), l);
    if (copy && cg_strip_varies(c, l))
        return cg_strip_get(c, v, copy);
    if (copy && copy->regs)
        return copy->regs;
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

static const char *const ways[] = {[CG_BY_NAMES] = "registers",
                                   [CG_BY_SHUFFLES] = "shuffles",
                                   [CG_BY_SHARED] = "shared memory",
                                   [CG_BY_HALVES] = "shared memory in parts"};

void cg_conversion_text(bc_text *out, const cg_conversion *conversion)
{
    bc_text_printf(out, "by %s", ways[conversion->way]);
    if (conversion->way == CG_BY_SHUFFLES)
        bc_text_printf(out, ", %u a thread", conversion->shuffles);
    else if (conversion->way != CG_BY_NAMES)
        bc_text_printf(out, ", %llu bytes", (unsigned long long)conversion->bytes);
}

static void remark_conversion(cg_func *c, const ct_value *v, const cg_layout *to)
{
    cg_conversion how = cg_conversion_of(c, bc_elem_kind(v->type), &cg_value_of(c, v)->home, to);
    bool shared = how.way == CG_BY_SHARED || how.way == CG_BY_HALVES;
    char shuffles[48] = "";
    if (how.way == CG_BY_SHUFFLES)
        snprintf(shuffles, sizeof shuffles, ", {Shuffles=%u} a thread", how.shuffles);
    bc_text type;
    bc_text_init(&type, &c->m->arena.allocator);
    bc_print_type(&type, v->type, false);
    cg_remark(c, v->op ? v->op : cg_lowered(c), CG_REMARK_Conversion, shared ? TV_REMARK_MISSED : TV_REMARK_PASSED,
              "{Type=%s}, {Bytes=%llu} bytes, in another layout by {Way=%s}%s", bc_text_words(&type),
              (unsigned long long)how.bytes, ways[how.way], shuffles);
    bc_text_release(&type);
}

void cg_set(cg_func *c, const ct_value *v, cg_val *regs)
{
    cg_value *x = cg_value_of(c, v);
    bc_kind kind = bc_elem_kind(v->type);
    if (c->strips) {
        cg_strip_set(c, v, regs);
        return;
    }
    for (cg_copy *copy = x->copies; copy && !c->failed; copy = copy->next) {
        if (cg_layout_equal(&copy->layout, &x->home)) {
            copy->regs = regs;
            continue;
        }
        copy->regs = cg_convert(c, kind, &x->home, regs, &copy->layout);
        if (cg_remarks_wanted(c))
            remark_conversion(c, v, &copy->layout);
    }
}
