/* Finds the effects of an op by the function that its opcode has for that. */
#include "codegen/ops/hooks.h"
#include "codegen/values/effects.h"

static cg_effects_hook *const hooks[CT_LIMIT] = {
#define EFFECTS(opcode, name) [opcode] = cg_effects_##name,
#include "codegen/ops/effects.def"
};

void cg_find_effects(cg_func *c, ct_op *op, uint32_t stretch)
{
    if (!hooks[op->opcode])
        return;
    op->effects = bc_new(&c->arena, cg_effects, 1);
    if (!op->effects)
        return;
    op->effects->stretch = stretch;
    hooks[op->opcode](c, op);
}
