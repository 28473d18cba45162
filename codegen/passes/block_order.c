#include "codegen/passes/block_order.h"

#include "codegen/analysis/bands.h"
#include "codegen/analysis/order.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/remarks.h"
#include "codegen/passes/pass.h"

bool cg_blocks_are_apart(const ct_func *f)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        bool accesses = bc_op_in(op->opcode, BC_OPS(ACCESS)) && !cg_is_weak_access(op);
        if (accesses || ct_info(op)->effects & (BC_ORDERS | BC_REPORTS))
            return false;
    }
    return true;
}

void cg_order_longest_first(cg_func *c)
{
    const ct_op *loop;
    if (!cg_find_growing_loop(c->ir, &c->arena, &loop)) {
        cg_no_memory(c);
        return;
    }
    if (!loop || cg_loops_stay_plain(c) || !cg_blocks_are_apart(c->ir))
        return;
    c->block_order = CG_LONGEST_FIRST;
    cg_remark(c, loop, CG_REMARK_BlockOrder, TV_REMARK_PASSED,
              "longest first: blocks with higher numbers along x have more iterations and start earlier");
}

const ct_op *cg_product_for_bands(cg_func *c)
{
    const ct_op *product = NULL;
    if (c->block_order == CG_BY_NUMBER && !cg_find_shared_by_rows(c->ir, &c->arena, &product))
        cg_no_memory(c);
    return product && cg_blocks_are_apart(c->ir) ? product : NULL;
}

void cg_order_in_bands(cg_func *c, const ct_op *product)
{
    c->block_order = CG_IN_BANDS;
    cg_remark(c, product, CG_REMARK_BlockOrder, TV_REMARK_PASSED,
              "in bands: blocks that start together lie in a square, not in a line, and share more of both operands");
}
