/* What a launch has done at each instruction, for those who count it. */
#include <stdlib.h>

#include "tests/ptxsim/sim.h"

void ps_uses_start(ptxsim *sim)
{
    free(sim->uses);
    sim->uses = sim->launch->counts ? ps_alloc(sim->module.code_count, sizeof *sim->uses) : NULL;
    for (size_t i = 0; sim->uses && i < sim->module.code_count; i++) {
        sim->uses[i].opcode = sim->module.code[i].opcode;
        sim->uses[i].line = sim->module.code[i].line;
    }
}

static ptxsim_use *use_of(ps_warp *w, const ps_insn *in)
{
    return w->sim->uses ? &w->sim->uses[in - w->sim->module.code] : NULL;
}

void ps_use_step(ps_warp *w, const ps_insn *in, uint32_t active)
{
    ptxsim_use *use = use_of(w, in);
    if (!use)
        return;
    use->warps++;
    for (uint32_t left = active; left; left &= left - 1)
        use->lanes++;
}

bool ps_use_product(ps_warp *w, const ps_insn *in, unsigned m, unsigned n, unsigned k, bool a_in_shared)
{
    ptxsim_use *use = use_of(w, in);
    if (!use)
        return false;
    use->m = m;
    use->n = n;
    use->k = k;
    use->a_in_shared = a_in_shared;
    return true;
}

void ps_use_bytes(ps_warp *w, const ps_insn *in, uint32_t bytes)
{
    ptxsim_use *use = use_of(w, in);
    if (use)
        use->bytes += bytes;
}

size_t ptxsim_use_count(const ptxsim *sim)
{
    return sim->uses ? sim->module.code_count : 0;
}

const ptxsim_use *ptxsim_use_at(const ptxsim *sim, size_t index)
{
    return &sim->uses[index];
}
