/* The facts pass, and what it has found as text. */
#include "codegen/analysis/once.h"
#include "codegen/analysis/view.h"
#include "codegen/kernel/remarks.h"
#include "codegen/passes/block_order.h"
#include "codegen/passes/pass.h"

static void between(bc_text *out)
{
    if (out->len)
        bc_text_puts(out, "; ");
}

static void describe_axis(const cg_axis *axis, uint32_t d, uint8_t divisor, bc_text *out)
{
    if (!axis->run && !axis->same && axis->start <= divisor)
        return;
    between(out);
    bc_text_printf(out, "dim %u:", d);
    if (axis->same)
        bc_text_printf(out, " %u equal,", 1u << axis->same);
    if (axis->run)
        bc_text_printf(out, " runs of %u", 1u << axis->run);
    if (axis->start == CG_DIVISOR_OF_ZERO)
        bc_text_puts(out, " from 0");
    else
        bc_text_printf(out, " from multiples of %llu", 1ull << axis->start);
}

static void describe(cg_func *c, const ct_value *v, bc_text *out)
{
    (void)c;
    const cg_fact *f = v->fact;
    if (!f)
        return;
    if (f->constant)
        bc_text_printf(out, "constant %lld", (long long)f->value);
    else if (f->divisor == CG_DIVISOR_OF_ZERO)
        bc_text_puts(out, "constant 0");
    else if (f->divisor)
        bc_text_printf(out, "multiple of %llu", 1ull << f->divisor);
    if (f->ranged) {
        between(out);
        bc_text_printf(out, "%lld to %lld", (long long)f->range.low, (long long)f->range.high);
    }
    for (uint32_t d = 0; f->axes && d < v->type->rank; d++)
        describe_axis(&f->axes[d], d, f->divisor, out);
}

void cg_dump_facts(cg_func *c, bc_text *out)
{
    cg_dump_values(c, describe, out);
}

static void tell_once(cg_func *c)
{
    static const char *const along[] = {"", "x", "y", "x, y", "z", "x, z", "y, z", "x, y, z"};
    for (const ct_op *op = c->ir->body->first; op && cg_remarks_wanted(c); op = ct_next_op(op, c->ir->body)) {
        const cg_once *once = op->opcode == OP_load_view_tko ? cg_once_of(c, op) : NULL;
        if (once && once->along)
            cg_remark(c, op, CG_REMARK_ReadOnce, TV_REMARK_PASSED,
                      "in grids of one block along {Along=%s} nobody reads it again, and L2 evicts it first",
                      along[once->along]);
        else if (once)
            cg_remark(c, op, CG_REMARK_ReadOnce, TV_REMARK_PASSED, "nobody reads it again, and L2 evicts it first");
    }
}

void cg_pass_facts(cg_func *c)
{
    cg_once_list *once = bc_new(&c->arena, cg_once_list, 1);
    c->once = once;
    if (!once || !cg_find_facts(c->ir) || !cg_find_views(c->ir) || !cg_find_once(c->ir, &c->arena, once))
        cg_no_memory(c);
    if (c->failed)
        return;
    tell_once(c);
    cg_order_longest_first(c);
}
