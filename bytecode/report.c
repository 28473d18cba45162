/* Builds a diagnostic: the rule gives severity and help, the place gives op, function, offset and source. */
#include "bytecode/report.h"

#include <string.h>

#include "bytecode/base/text.h"

void bc_report_as(const bc_module *m, tv_sink sink, const bc_place *place, bc_rule rule, tv_severity severity,
                  const char *help, const char *format, va_list args)
{
    if (!sink.report)
        return;
    bc_text message;
    bc_text_init(&message, m ? &m->arena.allocator : NULL);
    bc_text_vprintf(&message, format, args);
    tv_diag diag = {
        .severity = severity,
        .rule = bc_rules[rule].id,
        .message = bc_text_get(&message),
        .offset = place->op ? place->op->offset : place->offset,
        .help = bc_str(help ? help : bc_rules[rule].help),
    };
    if (place->function && place->function->name)
        diag.function = place->function->name->s;
    if (place->op) {
        diag.op = bc_str(bc_info(place->op)->name);
        if (m && bc_source_place(m, place->op->loc, &diag.file, &diag.line, &diag.column)) {}
    }
    sink.report(sink.user, &diag);
    bc_text_release(&message);
}

void bc_report(const bc_module *m, tv_sink sink, const bc_place *place, bc_rule rule, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bc_report_as(m, sink, place, rule, bc_rules[rule].severity, NULL, format, args);
    va_end(args);
}
