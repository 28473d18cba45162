/* What the printers of passes share, and the printer of the last pass. */
#include "bytecode/print.h"
#include "codegen/pass.h"

/* An op of the tile IR: what it does, and the op that it does it for. */
static void dump_own(bc_op_printer *printer, const ct_op *op, bc_text *out)
{
    bc_text_printf(out, "%s of ", ct_op_name(op));
    bc_op_printer_print(printer, op->from, out);
}

static const bc_value *source_of(const ct_value *v)
{
    return v->op ? &bc_results(v->op->from)[v->number] : &v->block->from->args[v->number];
}

static void dump_value(cg_func *c, const bc_op_printer *printer, const ct_value *v, uint32_t depth,
                       cg_describe_fn *describe, bc_text *words, bc_text *out)
{
    bc_text_clear(words);
    if (v->type == &ct_own_type || (v->op && v->op->opcode >= OP_LIMIT))
        return;
    describe(c, v, words);
    if (!words->len)
        return;
    bc_text_printf(out, "%*s", (int)(2 * depth + 6), "");
    bc_op_printer_value(printer, source_of(v), out);
    bc_text_puts(out, ": ");
    bc_text_str(out, bc_text_get(words));
    bc_text_char(out, '\n');
}

void cg_dump_values(cg_func *c, cg_describe_fn *describe, bc_text *out)
{
    const ct_block *body = c->ir->body;
    bc_text words;
    bc_op_printer *printer = bc_op_printer_new(c->m, c->f);
    bc_text_init(&words, &c->m->arena.allocator);
    if (!printer)
        out->failed = true;
    for (uint32_t i = 0; printer && i < body->arg_count; i++)
        dump_value(c, printer, &body->args[i], 0, describe, &words, out);
    for (const ct_op *op = body->first; printer && op; op = ct_next_op(op, body)) {
        uint32_t depth = 0;
        for (const ct_op *p = op->block->parent; p; p = p->block->parent)
            depth++;
        bc_text_printf(out, "%*s", (int)(2 * depth + 2), "");
        if (op->opcode < OP_LIMIT)
            bc_op_printer_print(printer, op->from, out);
        else
            dump_own(printer, op, out);
        bc_text_char(out, '\n');
        for (uint32_t i = 0; i < op->result_count; i++)
            dump_value(c, printer, &ct_results(op)[i], depth, describe, &words, out);
        for (uint32_t r = 0; r < op->region_count; r++)
            for (uint32_t i = 0; ct_regions(op)[r] && i < ct_regions(op)[r]->arg_count; i++)
                dump_value(c, printer, &ct_regions(op)[r]->args[i], depth, describe, &words, out);
    }
    out->failed = out->failed || words.failed;
    bc_text_release(&words);
    bc_op_printer_free(printer);
}

static void say_nothing(cg_func *c, const ct_value *v, bc_text *out)
{
    (void)c, (void)v, (void)out;
}

void cg_dump_ops(cg_func *c, bc_text *out)
{
    cg_dump_values(c, say_nothing, out);
}

void cg_dump_lower(cg_func *c, bc_text *out)
{
    cg_put_kernel(c, out);
}
