/* Builds a diagnostic: the rule gives severity and help, the place gives op, function, offset and source. */
#include "bytecode/print/report.h"

#include "bytecode/base/text.h"
#include "bytecode/print/print.h"

/* Position of the op in its function, pre-order from 0. */
static uint32_t op_position(const bc_function *f, const bc_op *op)
{
    uint32_t position = 0;
    if (!f->body)
        return 0;
    for (const bc_op *o = f->body->first; o && o != op; o = bc_next_op(o, f->body))
        position++;
    return position;
}

/* The user's own line, and the header's that was inlined there. */
static void describe_place(const bc_module *m, uint32_t loc, tv_diag *diag)
{
    bc_source chain[BC_MAX_INLINED];
    size_t count = bc_source_chain(m, loc, chain, BC_MAX_INLINED), own = bc_source_own(chain, count);
    if (!count)
        return;
    diag->file = chain[own].file;
    diag->line = chain[own].line;
    diag->column = chain[own].column;
    if (own == 0)
        return;
    diag->inlined_file = chain[0].file;
    diag->inlined_line = chain[0].line;
    diag->inlined_column = chain[0].column;
}

/* Everything about the op at fault: name, place in the function and the source, text with the field marked. */
static void describe_op(const bc_module *m, const bc_place *place, bc_text *text, tv_diag *diag)
{
    const bc_op *op = place->op;
    diag->op = bc_str(bc_info(op)->name);
    diag->offset = op->offset;
    if (!m)
        return;
    describe_place(m, op->loc, diag);
    if (!place->function)
        return;
    diag->op_index = op_position(place->function, op);
    bc_print_op_text(m, place->function, op, place->row, place->index, text, &diag->caret, &diag->caret_len);
    diag->op_text = bc_str(bc_text_words(text));
}

/* What is known of an op that is being read; its place in the source, or else that of the function. */
static void describe_reading(const bc_module *m, const bc_place *place, tv_diag *diag)
{
    const bc_reading *reading = &place->reading;
    if (reading->name) {
        diag->op = bc_str(reading->name);
        diag->op_index = reading->position;
    }
    if (!m || (reading->loc && bc_source_place(m, reading->loc, &diag->file, &diag->line, &diag->column)))
        return;
    if (place->function)
        bc_source_place(m, place->function->loc, &diag->file, &diag->line, &diag->column);
}

static void report(const bc_module *m, tv_sink sink, const bc_place *place, const tv_diag *other, bc_rule rule,
                   tv_severity severity, const char *help, tv_str message)
{
    tv_diag diag = {
        .severity = severity,
        .rule = bc_rules[rule].id,
        .message = message,
        .offset = place->offset,
        .help = bc_str(help ? help : bc_rules[rule].help),
        .other = other,
    };
    bc_text text;
    bc_text_init(&text, m ? &m->arena.allocator : NULL);
    if (place->function && place->function->name)
        diag.function = place->function->name->s;
    if (place->op)
        describe_op(m, place, &text, &diag);
    else
        describe_reading(m, place, &diag);
    sink.report(sink.user, &diag);
    bc_text_release(&text);
}

void bc_report_message(const bc_module *m, tv_sink sink, const bc_place *place, bc_rule rule, tv_severity severity,
                       const char *help, tv_str message)
{
    if (sink.report)
        report(m, sink, place, NULL, rule, severity, help, message);
}

void bc_report_pair(const bc_module *m, tv_sink sink, const bc_place *place, const bc_op *other, bc_rule rule,
                    tv_severity severity, tv_str message)
{
    if (!sink.report)
        return;
    bc_place second = {.function = place->function, .op = other, .offset = TV_NO_OFFSET, .row = BC_NO_ROW};
    tv_diag diag = {.severity = severity, .rule = bc_rules[rule].id, .offset = TV_NO_OFFSET};
    bc_text text;
    bc_text_init(&text, m ? &m->arena.allocator : NULL);
    if (other && place->function->name)
        diag.function = place->function->name->s;
    if (other)
        describe_op(m, &second, &text, &diag);
    report(m, sink, place, other ? &diag : NULL, rule, severity, NULL, message);
    bc_text_release(&text);
}

void bc_report_as(const bc_module *m, tv_sink sink, const bc_place *place, bc_rule rule, tv_severity severity,
                  const char *help, const char *format, va_list args)
{
    if (!sink.report)
        return;
    bc_text message;
    bc_text_init(&message, m ? &m->arena.allocator : NULL);
    bc_text_vprintf(&message, format, args);
    bc_report_message(m, sink, place, rule, severity, help, bc_str(bc_text_words(&message)));
    bc_text_release(&message);
}

void bc_report(const bc_module *m, tv_sink sink, const bc_place *place, bc_rule rule, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bc_report_as(m, sink, place, rule, bc_rules[rule].severity, NULL, format, args);
    va_end(args);
}
