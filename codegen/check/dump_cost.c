/* Prints what the cost model predicts for each loop, and for the kernel. */
#include "codegen/check/check.h"
#include "codegen/cost/cost.h"

static void dump_loop(const cg_loop_cost *loop, bc_text *out)
{
    static const char *const names[CG_RESOURCES] = {"tensor",  "shared", "issue", "half",
                                                    "special", "l2",     "dram",  "atomics"};
    bc_text_printf(out, "// %s @0x%llx: %.0f cycles, bound by %s; alone %.0f; of a block", ct_op_name(loop->loop),
                   (unsigned long long)loop->loop->from->offset, loop->taken, loop->bound, loop->alone);
    for (uint32_t r = 0; r < CG_RESOURCES; r++)
        bc_text_printf(out, "%s %s %.1f", r ? "," : "", names[r], loop->cycles[r]);
    bc_text_printf(out, "; iterations %.0f\n", loop->iterations);
}

void cg_dump_cost(cg_func *c, bc_text *out)
{
    const cg_kernel_cost *cost = cg_predict(c);
    for (uint32_t i = 0; cost && i < cost->loop_count; i++)
        dump_loop(&cost->loops[i], out);
    if (cost)
        bc_text_printf(out, "// %u blocks, %u threads, %u registers, %u bytes, %.1f us\n", cost->blocks, cost->threads,
                       cost->registers, cost->shared, cost->us);
}
