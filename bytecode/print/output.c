/* What the printers of ops and of locations write with: lines, operands, arguments, and the text handed to the sink. */
#include "bytecode/print/op.h"

void bc_print_newline(bc_printer *p)
{
    bc_text_char(p->out, '\n');
    for (unsigned i = 0; i < p->indent; i++)
        bc_text_puts(p->out, "  ");
}

void bc_print_flush(bc_printer *p, size_t limit)
{
    if (!p->sink.write || p->out->len < limit || p->out->failed)
        return;
    if (p->out->len && !p->sink_failed && !p->sink.write(p->sink.user, p->out->ptr, p->out->len))
        p->sink_failed = true;
    bc_text_clear(p->out);
}

void bc_print_mark(bc_printer *p, const bc_op *op, int row, uint32_t index, size_t start)
{
    if (op != p->marked || row != p->row || index != p->index || p->mark_len)
        return;
    p->mark = start;
    p->mark_len = p->out->len - start;
}

void bc_print_operand(bc_printer *p, const bc_value *value)
{
    if (p->look)
        p->look->value(p->look->user, value, p->out);
    else
        bc_print_value(p->out, p->names, value);
}

void bc_print_arguments(bc_printer *p, const bc_block *block, const bc_tagged *attrs)
{
    bc_text_char(p->out, '(');
    for (uint32_t i = 0; i < block->arg_count; i++) {
        if (i)
            bc_text_puts(p->out, ", ");
        bc_print_operand(p, &block->args[i]);
        bc_text_puts(p->out, ": ");
        bc_print_type(p->out, block->args[i].type, p->options.prefix);
        if (attrs && i < attrs->u.array.count && attrs->u.array.items[i].u.dict.count) {
            bc_text_char(p->out, ' ');
            bc_print_tagged(p->out, &attrs->u.array.items[i]);
        }
    }
    bc_text_char(p->out, ')');
}
