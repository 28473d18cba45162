/* Values in loops over strips: what is made in a loop, what is kept for others, what is asked for later. */
#include "codegen/ptx/ptx.h"
#include "codegen/values/strip_state.h"
#include "codegen/values/values.h"

static cg_val *restore(cg_func *c, const ct_value *v, const cg_copy *copy)
{
    uint32_t step = cg_strip_vector(v, copy->layout);
    cg_val *regs = cg_vals(c, cg_layout_regs(copy->layout));
    for (uint32_t r = 0; regs && r < cg_layout_regs(copy->layout) && !c->failed; r += step) {
        cg_access a = cg_strip_access(c, v, copy, r, cg_const(CG_PRED, 1));
        cg_load_vector(c, &a, step, NULL, regs + r);
    }
    return regs;
}

void cg_strip_mark(cg_func *c, const ct_value *v, cg_copy *copy, cg_val *regs)
{
    cg_strip *s = c->strips->open;
    cg_made *m = bc_new(&c->arena, cg_made, 1);
    if (!s || !m) {
        if (m)
            cg_strip_fault(c, "a tile in strips is made outside of a loop");
        else
            cg_no_memory(c);
        return;
    }
    copy->regs = regs;
    copy->strip = s->number;
    *m = (cg_made){s->made, v, copy};
    s->made = m;
}

cg_val *cg_strip_get(cg_func *c, const ct_value *v, cg_copy *copy)
{
    const cg_strip *s = c->strips->open;
    if (s && copy->strip == s->number)
        return copy->regs;
    if (cg_value_of(c, v)->form == CG_LAZY)
        copy->regs = c->strips->remake(c, v->op, copy->layout);
    else if (copy->local)
        copy->regs = restore(c, v, copy);
    else
        cg_strip_fault(c, "a tile in strips is read that was not kept");
    copy->strip = s ? s->number : 0;
    return copy->regs;
}

bool cg_strip_stays_in_warp(cg_func *c, bc_kind kind, const cg_layout *from, const cg_layout *to)
{
    cg_way way = cg_conversion_of(c, NULL, kind, from, to).way;
    return way == CG_BY_NAMES || way == CG_BY_SHUFFLES;
}

static void want_later(cg_func *c, const ct_value *v, cg_copy *copy)
{
    cg_made *m = bc_new(&c->arena, cg_made, 1), **end = &c->strips->wanted;
    if (!m) {
        cg_no_memory(c);
        return;
    }
    *m = (cg_made){NULL, v, copy};
    while (*end)
        end = &(*end)->next;
    *end = m;
}

void cg_strip_set(cg_func *c, const ct_value *v, cg_val *regs)
{
    cg_value *x = cg_value_of(c, v);
    bc_kind kind = bc_elem_kind(v->type);
    bool varies = cg_strip_varies(c, x->home);
    for (cg_copy *copy = x->copies; copy && !c->failed; copy = copy->next) {
        if (copy->layout == x->home) {
            if (varies)
                cg_strip_mark(c, v, copy, regs);
            else
                copy->regs = regs;
        } else if (!varies && !cg_strip_varies(c, copy->layout)) {
            copy->regs = cg_convert(c, cg_lowered(c), kind, x->home, regs, copy->layout);
        } else if (varies && cg_strip_stays_in_warp(c, kind, x->home, copy->layout)) {
            cg_strip_mark(c, v, copy, cg_convert(c, cg_lowered(c), kind, x->home, regs, copy->layout));
        } else {
            want_later(c, v, copy);
        }
    }
}

cg_copy *cg_strip_home(cg_func *c, const ct_value *v)
{
    cg_value *x = cg_value_of(c, v);
    cg_copy *copy = x->copies;
    while (copy && copy->layout != x->home)
        copy = copy->next;
    return copy;
}

void cg_strip_keep(cg_func *c, const ct_value *v)
{
    cg_copy *home = cg_strip_home(c, v);
    if (!home->local)
        cg_strip_give(c, v, home);
}

void cg_strip_adopt(cg_func *c, const ct_value *v, const ct_value *like)
{
    cg_copy *home = cg_strip_home(c, v);
    home->strip = 0;
    home->local = cg_strip_home(c, like)->local;
    for (cg_copy *copy = cg_value_of(c, v)->copies; copy; copy = copy->next)
        if (copy != home)
            want_later(c, v, copy);
}
