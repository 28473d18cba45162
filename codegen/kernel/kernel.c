/* A kernel's values, and how its compilation fails. */
#include "codegen/kernel/kernel.h"

#include <stdarg.h>
#include <string.h>

bool cg_values_grow(cg_func *c, uint32_t more)
{
    cg_value *values = bc_new(&c->arena, cg_value, c->ir->value_count + more + 1u);
    if (values)
        memcpy(values, c->values, c->ir->value_count * sizeof *values);
    c->values = values;
    return values;
}

void cg_no_memory(cg_func *c)
{
    c->failed = true;
    c->status = TV_NO_MEMORY;
}

void cg_unsupported(cg_func *c, const ct_op *op, const char *format, ...)
{
    if (c->failed)
        return;
    va_list args;
    va_start(args, format);
    bc_report_as(c->m, c->sink, &(bc_place){.function = c->f, .op = op ? op->from : NULL, .row = BC_NO_ROW},
                 BC_RULE_G_GEN_01, TV_ERROR, NULL, format, args);
    va_end(args);
    c->failed = true;
    c->status = TV_UNSUPPORTED;
}
