/* Prints what is known of values: constants, divisors, ranges, and the pattern of elements in a tile. */
#include "codegen/check/check.h"
#include "codegen/facts/facts.h"

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
