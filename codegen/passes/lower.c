/* The lower pass writes the PTX of the kernel, op by op, each after a comment that names the op and its offset in the
   bytecode. Element-wise ops and values that are recomputed are written here, in every layout that is needed; all other
   ops have hooks (codegen/ops/). Barriers, fences and addresses in shared memory are already decided. */
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/kernel/remarks.h"
#include "codegen/ops/blocks.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/lowering.h"
#include "codegen/ops/map.h"
#include "codegen/passes/pass.h"
#include "codegen/plan/afresh.h"
#include "codegen/plan/late.h"
#include "codegen/ptx/by_stores.h"
#include "codegen/ptx/emit.h"
#include "codegen/text/kernel.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

static cg_hook *const hooks[CT_LIMIT] = {
#define HOOK(name) [OP_##name] = cg_lower_##name,
#include "codegen/ops/hooks.def"
#define TOP(name, ring, operands, more, results, text) [CT_##name] = cg_lower_##name,
#include "codegen/tile/ops.def"
};

/* What is written from here on is for the op. */
static void mark(cg_func *c, const ct_op *op)
{
    cg_emit *e = c->emit;
    if (!c->witness || c->failed)
        return;
    cg_mark *grown = bc_grow(&c->arena, e->marks, e->mark_count, &e->mark_capacity, cg_mark);
    if (!grown)
        return;
    e->marks = grown;
    e->marks[e->mark_count++] = (cg_mark){op, e->body.len};
}

/* ---- the walk ---- */

static void lower_one(cg_func *c, const ct_op *op)
{
    const ct_value *result = op->result_count ? cg_result(op, 0) : NULL;
    cg_value *x = result ? cg_value_of(c, result) : NULL;
    if (x && x->form == CG_LAZY && cg_encoding_of(result))
        return;
    c->emit->op = op;
    if (x && x->form == CG_LAZY) {
        for (cg_variant *variant = x->variants; variant && !c->failed; variant = variant->next)
            if (!cg_strip_varies(c, variant->layout)) /* otherwise the value is computed where it is read */
                variant->regs = cg_lazy_regs(c, op, variant->layout);
    } else if (ct_is_map(op)) {
        cg_put_source(c, op);
        cg_set(c, result, cg_lazy_regs(c, op, x->home));
    } else {
        if (op->opcode != CT_convert && op->opcode != CT_keep) /* these two belong to another op */
            cg_put_source(c, op);
        hooks[op->opcode](c, op);
    }
}

/* The op, and what is left of the one around it. */
static void lower_op(cg_func *c, const ct_op *op)
{
    mark(c, op);
    cg_thread_afresh(c, op->afresh == CT_AFRESH);
    if (op->stretch == CT_STRETCH_BEGINS)
        c->lowering->stretch = c->emit->body.len;
    lower_one(c, op);
    if (op->stretch == CT_STRETCH_ENDS)
        cg_order_by_stores(c, c->lowering->stretch, 0);
    mark(c, op->block->parent);
}

/* ---- the pass ---- */

static void lower_kernel(cg_func *c)
{
    cg_lowering lowering = {.visit = lower_op};
    c->lowering = &lowering;
    if (c->takes_over || c->in_parts)
        cg_share_begin(c);
    cg_load_params(c);
    cg_block(c, c->ir->body);
    cg_shared_end(c);
    c->lowering = NULL;
}

void cg_pass_lower(cg_func *c)
{
    cg_find_afresh(c);
    cg_find_late(c);
    c->multiplies_bytes = !cg_has_products(c->ir->body);
    cg_emit_begin(c);
    cg_shared_begin(c);
    cg_thread_begin(c, (cg_val){0});
    cg_strips_begin(c, cg_lazy_regs);
    if (!c->failed)
        lower_kernel(c);
    cg_strips_end(c);
    if (!c->failed && cg_remarks_wanted(c))
        cg_remark_kernel(c);
}
