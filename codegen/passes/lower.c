/* The lower pass writes the PTX of the kernel, op by op, each after a comment that names the op and its offset in the
   bytecode. Element-wise ops and values that are recomputed are written here, in every layout that is needed; all other
   ops have hooks (codegen/ops/). Barriers, fences and addresses in shared memory are already decided. */
#include "codegen/passes/lower.h"

#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"
#include "codegen/kernel/remarks.h"
#include "codegen/module/spell.h"
#include "codegen/ops/blocks.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/lowering.h"
#include "codegen/ops/map.h"
#include "codegen/passes/pass.h"
#include "codegen/plan/afresh.h"
#include "codegen/plan/late.h"
#include "codegen/ptx/by_stores.h"
#include "codegen/ptx/emit.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

static cg_hook *const hooks[CT_LIMIT] = {
#define HOOK(name) [OP_##name] = cg_lower_##name,
#include "codegen/ops/hooks.def"
#define TOP(name, ring, operands, more, results, text) [CT_##name] = cg_lower_##name,
#include "codegen/tile/ops.def"
};

/* The number of a name, from 1. 0: out of memory. */
static uint32_t number_of(cg_func *c, cg_names *names, tv_str name)
{
    for (size_t i = 0; i < names->count; i++)
        if (bc_str_eq(names->items[i], name))
            return (uint32_t)i + 1;
    tv_str *grown = bc_grow(&c->written->arena, names->items, names->count, &names->capacity, tv_str);
    if (!grown)
        return 0;
    names->items = grown;
    names->items[names->count++] = name;
    return (uint32_t)names->count;
}

static void put_place(cg_func *c, const bc_source *place)
{
    bc_text_printf(&c->emit->body, " %u %u %u", number_of(c, &c->written->files, place->file), place->line,
                   place->column);
}

/* Writes a .loc for each place, the kernel's own first, because PTX requires that of a call before that of the
   inlined function. */
static void put_lines(cg_func *c, const bc_source *chain, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        bool inlined = i + 1 < count && chain[i].function.len && chain[i + 1].line;
        if (!chain[i].line)
            continue;
        bc_text_puts(&c->emit->body, "\n\t.loc");
        put_place(c, &chain[i]);
        if (!inlined)
            continue;
        bc_text_printf(&c->emit->body, ", function_name tv_inlined_%u, inlined_at",
                       number_of(c, &c->written->inlined, chain[i].function));
        put_place(c, &chain[i + 1]);
    }
}

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

static void comment(cg_func *c, const ct_op *op)
{
    bc_source chain[BC_MAX_INLINED];
    size_t count = bc_source_chain(c->m, op->from->loc, chain, BC_MAX_INLINED);
    bc_text_puts(&c->emit->body, "\t// op ");
    bc_text_number(&c->emit->body, op->number, 10);
    bc_text_char(&c->emit->body, ' ');
    bc_text_puts(&c->emit->body, ct_op_name(op));
    bc_text_puts(&c->emit->body, " @0x");
    bc_text_number(&c->emit->body, op->from->offset, 16);
    if (count) {
        const bc_source *own = &chain[bc_source_own(chain, count)];
        bc_text_char(&c->emit->body, ' ');
        cg_put_comment(&c->emit->body, own->file);
        bc_text_char(&c->emit->body, ':');
        bc_text_number(&c->emit->body, own->line, 10);
        bc_text_char(&c->emit->body, ':');
        bc_text_number(&c->emit->body, own->column, 10);
        if (c->options && c->options->line_info)
            put_lines(c, chain, count);
    }
    bc_text_char(&c->emit->body, '\n');
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
        comment(c, op);
        cg_set(c, result, cg_lazy_regs(c, op, x->home));
    } else {
        if (op->opcode != CT_convert && op->opcode != CT_keep) /* these two belong to another op */
            comment(c, op);
        hooks[op->opcode](c, op);
    }
}

/* Orders what was written since the stretch began by its stores. All of it counts as written for the last one. */
static void order_stretch(cg_func *c, const ct_op *store)
{
    cg_emit *e = c->emit;
    cg_order_by_stores(c, c->lowering->stretch);
    for (size_t i = e->mark_count; i-- > 0 && e->marks[i].at >= c->lowering->stretch;)
        e->marks[i].op = store;
}

/* The op, and what is left of the one around it. */
static void lower_op(cg_func *c, const ct_op *op)
{
    mark(c, op);
    cg_thread_afresh(c, op->afresh);
    if (op->stretch == CT_STRETCH_BEGINS)
        c->lowering->stretch = c->emit->body.len;
    lower_one(c, op);
    if (op->stretch == CT_STRETCH_ENDS)
        order_stretch(c, op);
    mark(c, op->block->parent);
}

/* ---- the pass ---- */

static void load_params(cg_func *c, const ct_block *body)
{
    for (uint32_t i = 0; i < body->arg_count; i++) {
        bc_kind kind = bc_elem_kind(body->args[i].type);
        cg_val raw = cg_new(c, kind == BC_I1 ? CG_B32 : cg_class_of(kind)), value = raw;
        cg_ins_first(c, "ld.param.%s %v, [%s_%u]", cg_param_type(kind), raw, "tv_param", i);
        if (kind == BC_I1 || kind == BC_I4) {
            value = cg_new(c, CG_B32);
            cg_ins_first(c, "and.b32 %v, %v, %u", value, raw, kind == BC_I1 ? 1u : 15u);
        }
        if (kind == BC_I1) {
            cg_val bit = value;
            value = cg_new(c, CG_PRED);
            cg_ins_first(c, "setp.ne.u32 %v, %v, 0", value, bit);
        }
        cg_val *regs = cg_vals(c, 1);
        if (!regs)
            return;
        regs[0] = value;
        cg_set(c, &body->args[i], regs);
    }
}

static void lower_kernel(cg_func *c)
{
    cg_lowering lowering = {.visit = lower_op};
    c->lowering = &lowering;
    if (c->takes_over || c->in_parts)
        cg_share_begin(c);
    load_params(c, c->ir->body);
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
