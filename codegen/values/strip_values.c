/* Tiles in loops over strips: in registers in the loop that computes them, in local memory for other loops. */
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/strip_state.h"
#include "codegen/values/values.h"

/* ---- which values, and their size ---- */

bool cg_strip_is_kept(cg_func *c, const ct_value *v)
{
    const cg_value *x = cg_value_of(c, v);
    return x->form == CG_TILE && bc_is_tile(v->type) && cg_strip_varies(c, x->home);
}

/* The bytes of a strip. */
static uint32_t strip_bytes(const ct_value *v, const cg_layout *l)
{
    return cg_memory_bytes(bc_elem_kind(v->type)) << l->reg_bits;
}

uint32_t cg_strip_bytes(cg_func *c, const ct_value *v)
{
    enum { LEAST = 16 }; /* the alignment of accesses */
    const cg_layout *home = cg_value_of(c, v)->home;
    uint32_t bytes = strip_bytes(v, home) << cg_count_bits(cg_strip_mask(c, home));
    return bytes < LEAST ? LEAST : bytes;
}

cg_variant *cg_strip_home(cg_func *c, const ct_value *v)
{
    const cg_value *x = cg_value_of(c, v);
    return cg_find_copy(x, x->home);
}

/* ---- local memory ---- */

/* The address of the current strip of a value, relative to the start of local memory. */
static cg_val strip_address(cg_func *c, const ct_value *v, const cg_layout *l)
{
    cg_strips *all = c->strips;
    uint32_t images[CG_MAX_WARP_BITS] = {0}, mask = cg_strip_mask(c, l), step = strip_bytes(v, l);
    for (uint32_t i = 0; i < c->strip_bits; i++)
        if (mask >> i & 1) {
            images[i] = step;
            step *= 2;
        }
    if (!all->base.id) {
        all->base = cg_new(c, CG_B64);
        cg_ins_first(c, "mov.u64 %v, tv_local", all->base);
    }
    cg_form_of_strip *f = cg_strip_form(c, cg_const(CG_B32, 0), images);
    if (f && !f->address.id) {
        cg_val wide = cg_new(c, CG_B64);
        f->address = cg_new(c, CG_B64);
        bc_text body = c->emit->body;
        c->emit->body = all->open->head;
        cg_ins(c, "cvt.u64.u32 %v, %v", wide, f->value);
        cg_ins(c, "add.s64 %v, %v, %v", f->address, all->base, wide);
        all->open->head = c->emit->body;
        c->emit->body = body;
    }
    return f ? f->address : all->base;
}

cg_access cg_strip_access(cg_func *c, const ct_value *v, const cg_variant *variant, uint32_t r, cg_val predicate)
{
    bc_kind kind = bc_elem_kind(v->type);
    if (!variant->local)
        cg_strip_fault(c, "a tile in strips is read that was not kept");
    return (cg_access){.kind = kind,
                       .space = "local",
                       .order = "",
                       .address = strip_address(c, v, variant->layout),
                       .offset = (int64_t)variant->local - 1 + (int64_t)r * cg_memory_bytes(kind),
                       .predicate = predicate};
}

/* The elements of one access. */
static uint32_t vector_of(const ct_value *v, const cg_layout *l)
{
    uint32_t most = 16 / cg_memory_bytes(bc_elem_kind(v->type)), regs = cg_layout_regs(l);
    return most < regs ? most : regs;
}

void cg_strip_save(cg_func *c, const ct_value *v, const cg_variant *variant, const cg_val *regs, cg_val predicate)
{
    uint32_t step = vector_of(v, variant->layout);
    for (uint32_t r = 0; regs && r < cg_layout_regs(variant->layout) && !c->failed; r += step) {
        cg_access a = cg_strip_access(c, v, variant, r, predicate);
        cg_store_vector(c, &a, step, regs + r);
    }
}

static cg_val *restore(cg_func *c, const ct_value *v, const cg_variant *variant)
{
    uint32_t step = vector_of(v, variant->layout);
    cg_val *regs = cg_vals(c, cg_layout_regs(variant->layout));
    for (uint32_t r = 0; regs && r < cg_layout_regs(variant->layout) && !c->failed; r += step) {
        cg_access a = cg_strip_access(c, v, variant, r, cg_const(CG_PRED, 1));
        cg_load_vector(c, &a, step, NULL, regs + r);
    }
    return regs;
}

/* ---- registers ---- */

void cg_strip_set(cg_func *c, cg_variant *variant, cg_val *regs)
{
    const cg_strip *s = c->strips->open;
    if (!s)
        cg_strip_fault(c, "a tile in strips is made outside of a loop");
    variant->regs = regs;
    variant->strip = s ? s->number : 0;
}

cg_val *cg_strip_get(cg_func *c, const ct_value *v, cg_variant *variant)
{
    const cg_strip *s = c->strips->open;
    if (s && variant->strip == s->number)
        return variant->regs;
    bool lazy = cg_value_of(c, v)->form == CG_LAZY;
    variant->regs = lazy ? c->strips->remake(c, v->op, variant->layout) : restore(c, v, variant);
    variant->strip = s ? s->number : 0;
    return variant->regs;
}
