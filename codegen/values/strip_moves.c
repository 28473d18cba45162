/* Values between loops over strips: into the homes of others, and into layouts that other threads or strips have the
   elements for. */
#include "codegen/ptx/ptx.h"
#include "codegen/values/strip_state.h"
#include "codegen/values/values.h"

void cg_strip_move(cg_func *c, ct_value *const *values, const ct_value *homes, uint32_t count)
{
    cg_val **from = bc_new(&c->arena, cg_val *, count + 1u);
    if (!from) {
        cg_no_memory(c);
        return;
    }
    for (uint32_t i = 0; i < count && !c->failed; i++)
        if (bc_is_tile(homes[i].type) && cg_strip_varies(c, cg_value_of(c, &homes[i])->home)) {
            cg_strip_enter(c);
            from[i] = cg_get(c, values[i], cg_value_of(c, &homes[i])->home);
        }
    for (uint32_t i = 0; i < count && !c->failed; i++)
        if (from[i])
            cg_strip_save(c, &homes[i], cg_strip_home(c, &homes[i]), from[i]);
    cg_strip_close(c);
}

void cg_strip_flush(cg_func *c)
{
    cg_strips *all = c->strips;
    for (cg_made *m = all->wanted; m && !c->failed; m = m->next) {
        cg_value *x = cg_value_of(c, m->v);
        if (cg_strip_varies(c, x->home)
            && cg_strip_stays_in_warp(c, bc_elem_kind(m->v->type), x->home, m->copy->layout)) {
            cg_strip_enter(c);
            const cg_val *have = cg_get(c, m->v, x->home);
            cg_strip_mark(c, m->v, m->copy,
                          cg_convert(c, cg_lowered(c), bc_elem_kind(m->v->type), x->home, have, m->copy->layout));
            continue;
        }
        all->uses[m->v->id]++; /* the home is read once more */
        cg_strip_close(c);
        all->uses[m->v->id]--;
        cg_strip_transfer(c, m->v, x->home, NULL, m->v, m->copy);
    }
    all->wanted = NULL;
}
