/* The target table as C. */
#include <string.h>

#include "codegen/kernel/target.h"

static const cg_target targets[] = {
#define TARGET(name, sm, suffix, ptx, shared_kib, threads, features) \
    {#name, sm, suffix, ptx, shared_kib, threads, features},
#include "codegen/kernel/targets.def"
};

const cg_target *cg_target_at(size_t index)
{
    return index < sizeof targets / sizeof *targets ? &targets[index] : NULL;
}

const char *tv_target_exact(const char *target)
{
    size_t len = strlen(target);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (targets[i].suffix && strncmp(targets[i].name, target, len) == 0
            && targets[i].name[len] == targets[i].suffix)
            return targets[i].name;
    return target;
}

const char *tv_target_for(unsigned sm, bool exact, unsigned ptx_version)
{
    const cg_target *best = NULL;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        const cg_target *t = &targets[i];
        bool runs = t->suffix ? exact && t->sm == sm : t->sm <= sm;
        if (runs && (!ptx_version || t->ptx <= ptx_version)
            && (!best || t->sm >= best->sm)) /* targets with a suffix come after those without */
            best = t;
    }
    return best ? best->name : NULL;
}

uint32_t cg_static_shared(const cg_target *target)
{
    return (target->suffix ? (uint32_t)target->shared_kib : 48) << 10;
}

cg_path cg_path_of(const cg_target *target)
{
    static const struct {
        uint32_t feature; /* the first row whose feature the target has counts */
        cg_path path;
    } paths[] = {
        {CG_HAS_WGMMA, {"wgmma", "TMA or cp.async", false}},
        {CG_HAS_TCGEN05, {"tcgen05", "TMA or cp.async", false}},
        {CG_HAS_MAPS_FOR_MMA, {"mma.sync", "TMA or cp.async", false}},
        {CG_HAS_CP_ASYNC, {"mma.sync", "cp.async", false}},
        {~(uint32_t)0, {"mma.sync of f16 and i8", "registers", false}},
    };
    size_t i = 0;
    while (i + 1 < sizeof paths / sizeof *paths && !(target->features & paths[i].feature))
        i++;
    cg_path path = paths[i].path;
    path.was_run = target->features & CG_RAN_ON_HARDWARE;
    return path;
}

const cg_target *cg_target_find(tv_str name)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (bc_str_is(name, targets[i].name))
            return &targets[i];
    return NULL;
}
