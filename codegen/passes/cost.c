/* The cost pass estimates the time of each loop, what bounds it, and the time of the kernel, for remarks and dumps.
   It runs after sync, when everything is decided, and changes nothing; of plans that are only weighed, it is the last
   pass. The model is described in docs/internals/codegen/cost-model.md. */
#include "codegen/cost/cost.h"

#include <stdio.h>

#include "codegen/kernel/remarks.h"
#include "codegen/passes/pass.h"

static void say_loop(const cg_func *c, const cg_kernel_cost *k, const cg_loop_cost *loop)
{
    const double *cycles = loop->cycles, shares = k->shares;
    char often[64] = "";
    if (loop->iterations >= 0)
        snprintf(often, sizeof often, "{Iterations=%.0f} iterations; ", loop->iterations);
    cg_remark(c, loop->loop, CG_REMARK_LoopCost, TV_REMARK_ANALYSIS,
              "%s{Stages=%u} stages, {InFlight=%u} bytes in flight; {Cycles=%.0f} cycles per iteration, bound by "
              "{Bound=%s}: {Alone=%.0f} for a block alone; of all {Blocks=%u} on a multiprocessor {Tensor=%.0f} of "
              "tensor cores, {SharedMemory=%.0f} of shared memory, {Issue=%.0f} of instructions, {HalfRate=%.0f} at "
              "half rate, {Special=%.0f} of special functions, {L2=%.0f} of L2, {DRAM=%.0f} of DRAM",
              often, loop->stages, loop->in_flight, loop->taken, loop->bound, loop->alone, k->shares,
              cycles[CG_TENSOR_CORES] * shares, cycles[CG_SHARED_MEMORY] * shares, cycles[CG_ISSUE] * shares,
              cycles[CG_HALF] * shares, cycles[CG_SPECIAL] * shares, cycles[CG_L2] * shares, cycles[CG_DRAM] * shares);
}

static void say_kernel(const cg_func *c, const cg_kernel_cost *k)
{
    char time[96] = "";
    if (k->us >= 0)
        snprintf(time, sizeof time, "; {Microseconds=%.1f} us, bound by {Bound=%s}", k->us, k->bound);
    cg_remark(c, NULL, CG_REMARK_KernelCost, TV_REMARK_ANALYSIS,
              "{Blocks=%u} blocks on a multiprocessor, each {Threads=%u} threads, about {Registers=%u} registers a "
              "thread, {Shared=%u} bytes of shared memory; figures of {Machine=%s}%s%s",
              k->blocks, k->threads, k->registers, k->shared, k->machine->name,
              k->machine->measured ? "" : ", which are public data and never measured", time);
}

void cg_pass_cost(cg_func *c)
{
    const cg_kernel_cost *cost = c->cost = cg_remarks_wanted(c) || c->is_weighed ? cg_predict(c) : NULL;
    for (uint32_t i = 0; cost && i < cost->loop_count; i++)
        say_loop(c, cost, &cost->loops[i]);
    if (cost)
        say_kernel(c, cost);
}
