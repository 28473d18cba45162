/* Names of values, and the stacks that the parts of an op are collected on. */
#include "bytecode/parse/op.h"

bool bc_push_value(bc_parser *p, bc_value *value)
{
    bc_value **grown = bc_grow(&p->scratch, p->values, p->value_count, &p->value_capacity, bc_value *);
    if (!grown)
        return bc_parse_no_memory(p);
    p->values = grown;
    p->values[p->value_count++] = value;
    return true;
}

bool bc_push_type(bc_parser *p, const bc_type *type)
{
    const bc_type **grown = bc_grow(&p->scratch, p->types, p->type_count, &p->type_capacity, const bc_type *);
    if (!grown)
        return bc_parse_no_memory(p);
    p->types = grown;
    p->types[p->type_count++] = type;
    return true;
}

bool bc_push_arg(bc_parser *p, const bc_token *name, const bc_type *type)
{
    bc_arg *grown = bc_grow(&p->scratch, p->args, p->arg_count, &p->arg_capacity, bc_arg);
    if (!grown)
        return bc_parse_no_memory(p);
    p->args = grown;
    p->args[p->arg_count++] = (bc_arg){*name, type};
    return true;
}

bool bc_push_size(bc_parser *p, int64_t size)
{
    int64_t *grown = bc_grow(&p->scratch, p->sizes, p->size_count, &p->size_capacity, int64_t);
    if (!grown)
        return bc_parse_no_memory(p);
    p->sizes = grown;
    p->sizes[p->size_count++] = size;
    return true;
}

/* ---- names ---- */

bool bc_parse_value(bc_parser *p, bc_value **out)
{
    bc_token at = p->tok;
    if (at.kind != BC_TOK_VALUE)
        return bc_expected(p, "a value such as %x");
    const bc_binding *found = bc_scope_find(&p->names, at.name);
    if (!found)
        return bc_parse_fail(p, BC_RULE_A_006, &at, "%%%.*s is not defined here", BC_STR(at.name));
    bc_next(p);
    if (!found->value) {
        *out = &p->no_value;
        return true;
    }
    if (at.index >= found->count)
        return bc_parse_fail(p, BC_RULE_A_009, &at, "%%%.*s names %u value%s; there is no #%u", BC_STR(at.name),
                             (unsigned)found->count, found->count == 1 ? "" : "s", (unsigned)at.index);
    *out = (bc_value *)found->value + at.index; /* %x alone is %x#0, as for MLIR */
    return true;
}

bool bc_define(bc_parser *p, const bc_token *name, bc_value *first, uint32_t count)
{
    if (bc_scope_find(&p->names, name->name))
        return bc_parse_fail(p, BC_RULE_A_007, name, "%%%.*s is defined already", BC_STR(name->name));
    return bc_scope_add(&p->names, name->name, first, count) || bc_parse_no_memory(p);
}
