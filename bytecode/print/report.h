/* Diagnostics: turns a rule, a place and a message into a tv_diag with everything a reader of it wants to know. */
#ifndef TILEVM_BYTECODE_PRINT_REPORT_H
#define TILEVM_BYTECODE_PRINT_REPORT_H

#include <stdarg.h>

#include "bytecode/base/compiler.h"
#include "bytecode/module.h"
#include "bytecode/rules.h"

/* The op that is being read, of which there is no bc_op yet. */
typedef struct bc_reading {
    const char *name;  /* NULL: no op */
    uint32_t position; /* in its function, pre-order from 0 */
    uint32_t loc;
} bc_reading;

/* Where something is wrong. Leave at zero what does not apply. */
typedef struct bc_place {
    const bc_function *function;
    const bc_op *op;
    uint64_t offset; /* used when op is NULL; TV_NO_OFFSET for none */
    int row;         /* F_<op>_<name> of the field at fault, or BC_NO_ROW */
    unsigned index;  /* which one of a variadic row */
    bc_reading reading;
} bc_place;

#define BC_NO_ROW (-1)

/* Reports with the rule's own severity and help. m may be NULL while nothing has been read. */
void bc_report(const bc_module *m, tv_sink sink, const bc_place *place, bc_rule rule, const char *format, ...)
    TV_PRINTF(5, 6);

/* The same with another severity and, unless NULL, another help line. */
void bc_report_as(const bc_module *m, tv_sink sink, const bc_place *place, bc_rule rule, tv_severity severity,
                  const char *help, const char *format, va_list args) TV_PRINTF(7, 0);

/* The same for a finished message about two ops of a function, when other is not NULL. */
void bc_report_pair(const bc_module *m, tv_sink sink, const bc_place *place, const bc_op *other, bc_rule rule,
                    tv_severity severity, tv_str message);

/* The same for a finished message. */
void bc_report_message(const bc_module *m, tv_sink sink, const bc_place *place, bc_rule rule, tv_severity severity,
                       const char *help, tv_str message);

#endif
