/* The facts pass, and what it has found as text. */
#include "codegen/analysis/bands.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/view.h"
#include "codegen/kernel/remarks.h"
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

/* Can no block find out in which order they start? By waiting for another one it could, and it could tell. */
static bool are_apart(const ct_func *f)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        bool accesses = bc_op_in(op->opcode, BC_OPS(ACCESS)) && !cg_is_weak_access(op);
        if (accesses || ct_info(op)->effects & (BC_ORDERS | BC_REPORTS))
            return false;
    }
    return true;
}

/* Those that take longest are to come first: what is left for the end is short then. Of a product of two tensors those
   that run together are to read few tiles of both. */
static void order_blocks(cg_func *c)
{
    const ct_op *loop, *product;
    if (!cg_find_growing_loop(c->ir, &c->arena, &loop) || !cg_find_shared_by_rows(c->ir, &c->arena, &product)) {
        cg_no_memory(c);
        return;
    }
    if ((!loop && !product) || cg_loops_stay_plain(c) || !are_apart(c->ir))
        return;
    c->block_order = loop ? CG_LONGEST_FIRST : CG_IN_BANDS;
    cg_remark(
        c, loop ? loop : product, CG_REMARK_BlockOrder, TV_REMARK_PASSED,
        loop ? "longest first: blocks with higher numbers along x have more iterations and start earlier"
             : "in bands: blocks that start together lie in a square, not in a line, and share more of both operands");
}

void cg_pass_facts(cg_func *c)
{
    if (!cg_find_facts(c->ir) || !cg_find_views(c->ir))
        cg_no_memory(c);
    else
        order_blocks(c);
}
