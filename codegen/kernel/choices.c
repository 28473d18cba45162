/* Choices that replace decisions of passes; see the header. */
#include "codegen/kernel/kernel.h"

#include "bytecode/verify/hints.h"

const cg_choices *cg_choices_of(const cg_func *c)
{
    static const cg_choices none = {.warps = 0};
    return c->choices ? c->choices : &none;
}

int64_t cg_given_hint(const cg_func *c, cg_hint hint)
{
    static const char *const names[] = {[CG_HINT_WARPS] = "num_worker_warps_per_cta",
                                        [CG_HINT_OCCUPANCY] = "occupancy",
                                        [CG_HINT_CLUSTER] = "num_cta_in_cga"};
    return bc_entry_hint(c->f, c->target->sm, names[hint]);
}

int64_t cg_hint_of(const cg_func *c, cg_hint hint)
{
    const cg_choices *choices = cg_choices_of(c);
    const uint32_t asked[] = {[CG_HINT_WARPS] = choices->warps,
                              [CG_HINT_OCCUPANCY] = choices->occupancy,
                              [CG_HINT_CLUSTER] = choices->cluster};
    return asked[hint] ? asked[hint] : cg_given_hint(c, hint);
}
