/* Blocks: arguments, ops, and the terminator that may be left out. */
#include <string.h>

#include "bytecode/parse/op.h"

static bool may_start_op(const bc_parser *p, unsigned braces)
{
    bool starts = p->tok.kind == BC_TOK_VALUE || p->tok.kind == BC_TOK_WORD || p->tok.kind == BC_TOK_STRING;
    return braces == 0 && starts && p->tok.first_on_line;
}

static void parse_block_op(bc_parser *p, bc_block *block)
{
    const bc_op_info *outer = p->op;
    const char *start = p->tok.ptr;
    bc_op_state s = {.result_base = p->result_count,
                     .value_base = p->value_count,
                     .type_base = p->type_count,
                     .arg_base = p->arg_count,
                     .size_base = p->size_count};
    bc_op *op = NULL;
    bool good = bc_parse_op(p, &s, &op) && bc_define_results(p, &s, op);
    if (good)
        bc_block_append(block, op);
    else {
        bc_recover(p, start, may_start_op);
        bc_define_results(p, &s, NULL);
    }
    p->result_count = s.result_base;
    p->value_count = s.value_base;
    p->type_count = s.type_base;
    p->arg_count = s.arg_base;
    p->size_count = s.size_base;
    p->op = outer;
}

/* ---- blocks ---- */

/* The dictionary behind an argument of an entry, as entry `index` of an array in the making. */
static bool parse_arg_attr(bc_parser *p, bc_tagged **dicts, size_t *capacity, size_t index, bool *out_any)
{
    bc_tagged *grown = bc_grow(&p->scratch, *dicts, index, capacity, bc_tagged);
    if (!grown)
        return bc_parse_no_memory(p);
    *dicts = grown;
    grown[index] = (bc_tagged){.tag = BC_TAG_DICTIONARY};
    if (!bc_is_punct(p, '{'))
        return true;
    *out_any = true;
    return bc_parse_attr(p, BC_I64, &grown[index]);
}

static bool keep_arg_attrs(bc_parser *p, const bc_tagged *dicts, size_t count, bc_tagged *out)
{
    bc_tagged *items = bc_new(&p->m->arena, bc_tagged, count);
    if (!items)
        return bc_parse_no_memory(p);
    memcpy(items, dicts, count * sizeof *items);
    *out = (bc_tagged){.tag = BC_TAG_ARRAY, .u.array = {items, (uint32_t)count}};
    return true;
}

bool bc_parse_arguments(bc_parser *p, bc_tagged *attrs)
{
    bc_tagged *dicts = NULL;
    size_t capacity = 0, count = 0;
    bool any = false;
    if (!bc_expect_punct(p, '('))
        return false;
    while (!bc_is_punct(p, ')')) {
        uint32_t ignored;
        if (!bc_take_arg_name(p) || !bc_expect_punct(p, ':') || !bc_parse_type(p, &p->args[p->arg_count - 1].type)
            || (attrs && !parse_arg_attr(p, &dicts, &capacity, count++, &any)) || !bc_parse_location(p, &ignored))
            return false;
        if (!bc_take_punct(p, ','))
            break;
    }
    return (!any || keep_arg_attrs(p, dicts, count, attrs)) && bc_expect_punct(p, ')');
}

static bool define_args(bc_parser *p, size_t arg_base, bc_block *block)
{
    for (uint32_t i = 0; i < block->arg_count; i++) {
        const bc_arg *arg = &p->args[arg_base + i];
        block->args[i].type = arg->type;
        if (!bc_define(p, &arg->name, &block->args[i], 1))
            return false;
    }
    return true;
}

static bool end_block(bc_parser *p, bc_block *block, uint8_t implied)
{
    if (block->last && bc_info(block->last)->traits & BC_TERMINATOR)
        return true;
    if (implied == OP_LIMIT)
        return bc_parse_fail(p, BC_RULE_A_015, &p->tok, "the block does not end with yield, continue, break or return");
    bc_op *op = bc_op_new(p->m, (bc_opcode)implied, 0, 0);
    if (!op)
        return bc_parse_no_memory(p);
    op->offset = (uint32_t)(p->tok.ptr - p->text);
    op->unused = 1; /* until bc_locate_implied */
    bc_block_append(block, op);
    return true;
}

void bc_locate_implied(bc_block *block, uint32_t loc)
{
    if (block && block->last && block->last->unused)
        block->last->loc = loc;
    if (block && block->last)
        block->last->unused = 0;
}

/* ^name(%a: type): */
static bool parse_label(bc_parser *p)
{
    if (p->tok.kind != BC_TOK_CARET)
        return true;
    bc_next(p);
    return (!bc_is_punct(p, '(') || bc_parse_arguments(p, NULL)) && bc_expect_punct(p, ':');
}

static bool parse_block(bc_parser *p, size_t arg_base, uint8_t implied, bool label, bc_block **out)
{
    if (!bc_expect_punct(p, '{') || (label && !parse_label(p)))
        return false;
    size_t args = p->arg_count - arg_base;
    if (args > BC_MAX_OPERANDS)
        return bc_parse_fail(p, BC_RULE_A_014, &p->tok, "more than %d arguments", BC_MAX_OPERANDS);
    bc_block *block = bc_block_new(p->m, NULL, (uint32_t)args);
    if (!block)
        return bc_parse_no_memory(p);
    unsigned errors = p->errors;
    if (!define_args(p, arg_base, block))
        return false;
    while (!bc_is_punct(p, '}') && p->tok.kind != BC_TOK_END)
        parse_block_op(p, block);
    if (!bc_is_punct(p, '}'))
        return bc_expected(p, "'}'");
    if (p->errors == errors && !end_block(p, block, implied))
        return false;
    bc_next(p);
    *out = block;
    return true;
}

bool bc_parse_region(bc_parser *p, size_t arg_base, uint8_t implied, bool label, bc_block **out)
{
    if (p->region_depth >= BC_MAX_DEPTH)
        return bc_parse_fail(p, BC_RULE_A_012, &p->tok, "regions are nested deeper than %d", BC_MAX_DEPTH);
    size_t names = p->names.count;
    const bc_op_info *op = p->op;
    p->region_depth++;
    bool good = parse_block(p, arg_base, implied, label, out);
    p->region_depth--;
    p->op = op;
    bc_scope_unwind(&p->names, names);
    return good;
}
