/* Regions of ops: the ops in them are the business of the pass that runs. */
#include "codegen/ops/hooks.h"
#include "codegen/ops/lowering.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

void cg_assign_block(cg_func *c, const ct_block *block)
{
    for (const ct_op *op = block->first; op && !c->failed; op = op->next)
        c->homes->visit(c, op);
}

void cg_block(cg_func *c, const ct_block *block)
{
    for (const ct_op *op = block->first; op && !c->failed; op = op->next) {
        if (!op->next)
            cg_leave_block(c, op);
        c->lowering->visit(c, op);
    }
}

void cg_inline_region(cg_func *c, const ct_block *block, const cg_val *args, cg_val *out_results)
{
    for (uint32_t i = 0; i < block->arg_count; i++) {
        cg_val *regs = cg_vals(c, 1);
        if (!regs)
            return;
        regs[0] = args[i];
        cg_set(c, &block->args[i], regs);
    }
    for (const ct_op *op = block->first; op && op != block->last && !c->failed; op = op->next)
        c->lowering->visit(c, op);
    for (uint32_t i = 0; i < block->last->operand_count && !c->failed; i++)
        out_results[i] = cg_scalar(c, ct_operands(block->last)[i]);
}
