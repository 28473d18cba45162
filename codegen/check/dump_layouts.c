/* Prints layouts, in the notation of docs/internals/codegen.md: for every bit of the register, lane and warp number,
   the bit of the index that it flips. c0 is the lowest bit of the column (the last dimension), r0 that of the row, and
   d0.0 that of dimension 0 (with three or more dimensions); - stands for none, which means replicas. */
#include "codegen/check/check.h"
#include "codegen/values/values.h"

static void put_image(const cg_shape *s, uint32_t image, bc_text *out)
{
    bc_text_puts(out, image ? " " : " -");
    for (const char *plus = ""; image; image &= image - 1, plus = "+") {
        uint32_t bit = tv_trailing_zeros(image), d = 0;
        while (d + 1 < s->rank && bit < s->shift[d])
            d++;
        bc_text_puts(out, plus);
        if (d + 2 < s->rank)
            bc_text_printf(out, "d%u.%u", d, bit - s->shift[d]);
        else
            bc_text_printf(out, "%c%u", d + 1 == s->rank ? 'c' : 'r', bit - s->shift[d]);
    }
}

static void put_layout(const cg_shape *s, const cg_layout *l, bc_text *out)
{
    const struct {
        const char *name;
        const uint32_t *images;
        uint32_t count;
    } parts[] = {{"reg", l->reg, l->reg_bits}, {" | lane", l->lane, CG_LANE_BITS}, {" | warp", l->warp, l->warp_bits}};
    for (size_t p = 0; p < TV_COUNT(parts); p++) {
        if (p && !parts[p].count)
            continue;
        bc_text_puts(out, parts[p].name);
        for (uint32_t i = 0; i < parts[p].count; i++)
            put_image(s, parts[p].images[i], out);
    }
}

static void describe(cg_func *c, const ct_value *v, bc_text *out)
{
    const cg_value *x = cg_value_of(c, v);
    if (!bc_is_tile(v->type) || !v->type->rank || (x->form != CG_TILE && x->form != CG_LAZY))
        return;
    cg_shape s = cg_shape_of(v->type);
    bool lazy = x->form == CG_LAZY;
    if (lazy)
        bc_text_puts(out, x->variants ? "recomputed in" : "never used");
    else
        put_layout(&s, x->home, out);
    for (const cg_variant *variant = lazy ? x->variants : NULL; variant;
         variant = variant->next) { /* variants other than the first are created by conversions */
        bc_text_puts(out, variant == x->variants ? " " : ", and in ");
        put_layout(&s, variant->layout, out);
    }
}

void cg_dump_layouts(cg_func *c, bc_text *out)
{
    cg_dump_values(c, describe, out);
}

/* Prints the variants of a value that is converted. */
static void describe_converted(cg_func *c, const ct_value *v, bc_text *out)
{
    const cg_value *x = cg_value_of(c, v);
    if (x->form == CG_TILE && x->variants && x->variants->next)
        describe(c, v, out);
}

void cg_dump_convert(cg_func *c, bc_text *out)
{
    cg_dump_values(c, describe_converted, out);
}
