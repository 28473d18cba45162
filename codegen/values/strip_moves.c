/* Moves tiles in strips that become other tiles: values that loops carry and branches give. */
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

static bool is_moved(cg_func *c, const ct_value *from, const ct_value *to)
{
    if (!cg_strip_is_kept(c, to))
        return false;
    const cg_variant *have = cg_find_copy(cg_value_of(c, from), cg_value_of(c, to)->home);
    return !have || !have->local || have->local != cg_strip_home(c, to)->local;
}

void cg_strip_move(cg_func *c, ct_value *const *values, const ct_value *homes, uint32_t count)
{
    cg_val **from = bc_new(&c->arena, cg_val *, count + 1u);
    bool any = false;
    if (!from)
        return;
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        if (!is_moved(c, values[i], &homes[i]))
            continue;
        if (!any)
            cg_strip_open(c, (cg_trips){.mask = cg_all_strips(c)});
        any = true;
        from[i] = cg_get(c, values[i], cg_value_of(c, &homes[i])->home);
    }
    for (uint32_t i = 0; i < count && !c->failed; i++)
        if (from[i]) { /* once, because in a later strip the source may have been overwritten */
            const cg_variant *home = cg_strip_home(c, &homes[i]);
            cg_strip_save(c, &homes[i], home, from[i], cg_strip_owner(c, home->layout, cg_const(CG_PRED, 1)));
        }
    if (any)
        cg_strip_close(c);
}
