/* Says in the PTX from which op, and from which lines of the program, the instructions that follow come. */
#include "codegen/module/spell.h"
#include "codegen/ptx/emit.h"
#include "codegen/text/kernel.h"

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

void cg_put_source(cg_func *c, const ct_op *op)
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
