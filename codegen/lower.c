/* The lower pass: emits the ops of a block in order, each after a comment that names it. Maps and lazy values are
   emitted here, in every layout that is wanted; other ops have hooks (codegen/op_*.c). */
#include "codegen/assign.h"
#include "codegen/map.h"
#include "codegen/spell.h"
#include "codegen/stage.h"
#include "codegen/strips.h"

static cg_hook *const hooks[CT_LIMIT] = {
#define HOOK(name) [OP_##name] = cg_lower_##name,
#include "codegen/hooks.def"
#define TOP(name, ring, operands, more, results, text) [CT_##name] = cg_lower_##name,
#include "codegen/tile/ops.def"
};

/* The number of a name, from 1; 0: out of memory. */
static uint32_t number_of(cg_func *c, cg_names *names, tv_str name)
{
    for (size_t i = 0; i < names->count; i++)
        if (bc_str_eq(names->items[i], name))
            return (uint32_t)i + 1;
    tv_str *grown = bc_grow(c->files->arena, names->items, names->count, &names->capacity, tv_str);
    if (!grown) {
        cg_no_memory(c);
        return 0;
    }
    names->items = grown;
    names->items[names->count++] = name;
    return (uint32_t)names->count;
}

static void put_place(cg_func *c, const bc_source *place)
{
    bc_text_printf(&c->body, " %u %u %u", number_of(c, &c->files->names, place->file), place->line, place->column);
}

/* A .loc for each place, the kernel's own first: PTX ISA wants that of the call before that of what was inlined. */
static void put_lines(cg_func *c, const bc_source *chain, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        bool inlined = i + 1 < count && chain[i].function.len && chain[i + 1].line;
        if (!chain[i].line)
            continue;
        bc_text_puts(&c->body, "\n\t.loc");
        put_place(c, &chain[i]);
        if (!inlined)
            continue;
        bc_text_printf(&c->body, ", function_name tv_inlined_%u, inlined_at",
                       number_of(c, &c->files->functions, chain[i].function));
        put_place(c, &chain[i + 1]);
    }
}

static void comment(cg_func *c, const ct_op *op)
{
    bc_source chain[BC_MAX_INLINED];
    size_t count = bc_source_chain(c->m, op->from->loc, chain, BC_MAX_INLINED);
    bc_text_printf(&c->body, "\t// op %u %s @0x%x", op->number, ct_op_name(op), op->from->offset);
    if (count) {
        const bc_source *own = &chain[bc_source_own(chain, count)];
        bc_text_char(&c->body, ' ');
        cg_put_comment(&c->body, own->file);
        bc_text_printf(&c->body, ":%u:%u", own->line, own->column);
        if (c->options && c->options->line_info)
            put_lines(c, chain, count);
    }
    bc_text_char(&c->body, '\n');
}

/* ---- lazy values ---- */

static cg_val *lazy_broadcast(cg_func *c, const ct_op *op, const cg_layout *l)
{
    const ct_value *from = ct_operands(op)[0];
    cg_shape source = cg_shape_of(from->type), result = cg_shape_of(cg_result(op, 0)->type);
    cg_layout wide = cg_layout_unbroadcast(l, &source, &result);
    uint32_t kept;
    cg_layout narrow = cg_layout_drop_replicas(&wide, &kept);
    cg_val *have = cg_get(c, from, &narrow), *out = cg_vals(c, cg_layout_regs(l));
    for (uint32_t r = 0; have && out && r < cg_layout_regs(l); r++)
        out[r] = have[cg_gather_bits(r, kept)];
    return out;
}

static cg_val *lazy_iota(cg_func *c, const ct_op *op, const cg_layout *l)
{
    const bc_type *type = cg_result(op, 0)->type;
    bc_kind kind = bc_elem_kind(type);
    uint32_t mask = (uint32_t)(((uint64_t)1 << l->tile_bits) - 1);
    cg_val thread = cg_thread_index(c, l, mask, 0), *out = cg_vals(c, cg_layout_regs(l));
    for (uint32_t r = 0; out && r < cg_layout_regs(l); r++) {
        uint32_t part = cg_layout_reg(l, r);
        cg_val x = thread.known ? cg_const(CG_B32, thread.bits ^ part) : thread;
        if (part && !thread.known) {
            x = cg_new(c, CG_B32);
            cg_ins(c, "xor.b32 %v, %v, %x", x, thread, part);
        }
        out[r] = cg_from_u32(c, kind, x);
    }
    return out;
}

cg_val *cg_lazy_regs(cg_func *c, const ct_op *op, const cg_layout *l)
{
    ct_value **operands = ct_operands(op);
    switch ((int)op->opcode) {
    case OP_constant: return cg_constant_regs(c, op, l);
    case OP_iota: return lazy_iota(c, op, l);
    case OP_broadcast: return lazy_broadcast(c, op, l);
    case OP_reshape:
    case OP_assume: return cg_get(c, operands[0], l);
    case OP_permute: {
        cg_shape source = cg_shape_of(operands[0]->type), result = cg_shape_of(cg_result(op, 0)->type);
        cg_layout from = cg_layout_unpermute(l, &source, &result, ct_attr_of(op, F_permute_permutation)->ints->ptr);
        return cg_get(c, operands[0], &from);
    }
    default: return cg_map_regs(c, op, l);
    }
}

/* ---- the walk ---- */

static void lower_op(cg_func *c, const ct_op *op)
{
    const ct_value *result = op->result_count ? cg_result(op, 0) : NULL;
    cg_value *x = result ? cg_value_of(c, result) : NULL;
    if (x && x->form == CG_LAZY && cg_stage_of(c, result))
        return;
    c->op = op;
    if (x && x->form == CG_LAZY) {
        for (cg_copy *copy = x->copies; copy && !c->failed; copy = copy->next)
            if (!cg_strip_varies(c, &copy->layout)) /* else it is made where it is read */
                copy->regs = cg_lazy_regs(c, op, &copy->layout);
    } else if (cg_is_map(op->opcode)) {
        comment(c, op);
        cg_set(c, result, cg_lazy_regs(c, op, &x->home));
    } else {
        comment(c, op);
        hooks[op->opcode](c, op);
    }
}

void cg_lower_op(cg_func *c, const ct_op *op)
{
    if (!c->strips) {
        lower_op(c, op);
        return;
    }
    cg_strip_begin_op(c, op);
    if (!c->failed)
        lower_op(c, op);
    cg_strip_end_op(c);
}

void cg_block(cg_func *c, const ct_block *block)
{
    for (const ct_op *op = block->first; op && !c->failed; op = op->next) {
        if (!op->next) {
            if (c->allocas)
                cg_strip_close(c);
            cg_leave_block(c, op);
        }
        cg_lower_op(c, op);
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
    cg_strip_inline(c, true);
    for (const ct_op *op = block->first; op && op != block->last && !c->failed; op = op->next)
        lower_op(c, op);
    cg_strip_inline(c, false);
    for (uint32_t i = 0; i < block->last->operand_count && !c->failed; i++)
        out_results[i] = cg_scalar(c, ct_operands(block->last)[i]);
}
