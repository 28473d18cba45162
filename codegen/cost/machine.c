/* The figures of GPUs: those that decisions are made with, which are measured, and those that predictions use. */
#include "codegen/cost/cost.h"

static const cg_machine a100 = {
    .name = "A100",
    .tensor_factor = 1,
#define FIGURE(name, a100, h100, h200, source) .name = a100,
#include "codegen/cost/cost.def"
};
static const cg_machine h100 = {
    .name = "H100",
    .tensor_factor = 1,
    .has_async = true,
#define FIGURE(name, a100, h100, h200, source) .name = h100,
#include "codegen/cost/cost.def"
};
static const cg_machine h200 = {
    .name = "H200",
    .tensor_factor = 1,
    .has_async = true,
#define FIGURE(name, a100, h100, h200, source) .name = h200,
#include "codegen/cost/cost.def"
};

/* A GPU that predictions can be for. */
typedef struct model {
    const char *name; /* NULL: that of `like`, and all its figures */
    unsigned sm;
    const cg_machine *like;
    bool measured;
    double multiprocessors, clock_ghz, dram_tb, tensor, f64_rate, shared_kib, most_blocks;
} model;

static const model models[] = {
#define COLUMN(id, text, sm, measured) {NULL, sm, MACHINE_##id, measured, 0, 0, 0, 0, 0, 0, 0},
#define GPU(id, text, name, sm, like, multiprocessors, clock_ghz, dram_tb, tensor, f64_rate, shared_kib, most_blocks, \
            source)                                                                                                   \
    {name, sm, MACHINE_##like, false, multiprocessors, clock_ghz, dram_tb, tensor, f64_rate, shared_kib, most_blocks},
#define MACHINE_A100 &a100
#define MACHINE_H100 &h100
#define MACHINE_H200 &h200
#include "codegen/cost/gpus.def"
};

cg_gpu cg_gpu_of(const cg_target *target)
{
    enum { FIRST_OF_THE_LAST = 90 };
    return target->sm >= FIRST_OF_THE_LAST ? CG_GPU_H200 : CG_GPU_A100;
}

const cg_machine *cg_machine_of(const cg_target *target)
{
    return models[cg_gpu_of(target) - 1].like;
}

/* The first GPU of the target's compute capability, or else of the nearest lower one. */
static const model *usual_model(const cg_target *target)
{
    const model *best = &models[0];
    for (size_t i = 0; i < TV_COUNT(models); i++)
        if (models[i].sm <= target->sm && (best->sm > target->sm || models[i].sm > best->sm))
            best = &models[i];
    return best;
}

void cg_machine_for(const cg_target *target, cg_gpu gpu, cg_machine *out)
{
    const model *m = gpu == CG_ANY_GPU ? usual_model(target) : &models[gpu - 1];
    *out = *m->like;
    out->measured = m->measured;
    if (!m->name)
        return;
    out->name = m->name;
    out->multiprocessors = m->multiprocessors;
    out->clock_ghz = out->tensor_ghz = m->clock_ghz;
    out->dram_tb = m->dram_tb;
    out->tensor_factor = m->tensor;
    out->f64_rate = m->f64_rate;
    out->shared_kib = m->shared_kib;
    out->most_blocks = m->most_blocks;
}
