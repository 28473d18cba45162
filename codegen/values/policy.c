/* How L2 is to keep what is loaded; see the header. */
#include "codegen/values/policy.h"

#include "codegen/analysis/once.h"
#include "codegen/ptx/ptx.h"

enum { DIMS = 3, CASES = 1 << DIMS };

typedef struct cg_policies {
    cg_val made[CASES]; /* by cg_once.along; id 0: not yet */
} cg_policies;

static cg_val policy(cg_func *c, const char *priority)
{
    cg_val p = cg_new(c, CG_B64);
    cg_ins_first(c, "createpolicy.fractional.L2::%s.b64 %v, 1.0", priority, p);
    return p;
}

/* A predicate: is the grid's extent one along each of these dimensions? */
static cg_val is_one(cg_func *c, uint32_t along)
{
    cg_val all = {0};
    for (uint32_t d = 0; d < DIMS; d++) {
        if (!(along >> d & 1))
            continue;
        cg_val extent = cg_new(c, CG_B32), one = cg_new(c, CG_PRED);
        cg_ins_first(c, "mov.u32 %v, %%nctaid.%s", extent, d == 0 ? "x" : d == 1 ? "y" : "z");
        if (all.id)
            cg_ins_first(c, "setp.eq.and.u32 %v, %v, 1, %v", one, extent, all);
        else
            cg_ins_first(c, "setp.eq.u32 %v, %v, 1", one, extent);
        all = one;
    }
    return all;
}

static cg_val make(cg_func *c, uint32_t along)
{
    cg_val first = policy(c, "evict_first"), chosen;
    if (!along)
        return first;
    cg_val one = is_one(c, along), usual = policy(c, "evict_normal");
    chosen = cg_new(c, CG_B64);
    cg_ins_first(c, "selp.b64 %v, %v, %v, %v", chosen, first, usual, one);
    return chosen;
}

cg_val cg_policy_of(cg_func *c, const ct_op *op)
{
    const cg_once *once = c->cluster ? NULL : cg_once_of(c, op);
    if (!once)
        return (cg_val){0};
    if (!c->policies && !(c->policies = bc_new(&c->arena, cg_policies, 1))) {
        cg_no_memory(c);
        return (cg_val){0};
    }
    cg_val *made = &c->policies->made[once->along];
    if (!made->id)
        *made = make(c, once->along);
    return *made;
}
