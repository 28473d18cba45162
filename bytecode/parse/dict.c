/* The attributes of an op: each by itself, or in a dictionary. */
#include <string.h>

#include "bytecode/parse/op.h"

bool bc_claim_attr(bc_parser *p, bc_op_state *s, int row, const bc_token *at)
{
    uint32_t bit = 1u << bc_attr_row_of(s, row);
    if (s->attrs_given & bit)
        return bc_parse_fail(p, BC_RULE_A_007, at, "'%s' is given twice", bc_rows[row].name);
    s->attrs_given |= bit;
    return true;
}

bool bc_give_attr(bc_parser *p, bc_op_state *s, int row, const bc_token *at)
{
    if (!bc_claim_attr(p, s, row, at))
        return false;
    if (bc_rows[row].encoding == BC_ENC_CONST)
        return bc_parse_constant_attr(p, &s->literal);
    return bc_parse_row(p, &bc_rows[row], &s->attrs[bc_attr_row_of(s, row)]);
}

/* The integer of a dictionary may have its type behind it; a flag may be `unit` or a truth value. */
static bool parse_dict_value(bc_parser *p, bc_op_state *s, int row, const bc_token *at)
{
    const bc_type *type;
    if (bc_rows[row].encoding == BC_ENC_UNIT) {
        if (!bc_claim_attr(p, s, row, at))
            return false;
        s->attrs[bc_attr_row_of(s, row)].u = !bc_is_word(p, "false");
        if (!bc_take_word(p, "unit") && !bc_take_word(p, "true") && !bc_take_word(p, "false"))
            return bc_expected(p, "'unit'");
        return true;
    }
    bool integer = bc_rows[row].encoding == BC_ENC_VARINT32 || bc_rows[row].encoding == BC_ENC_VARINT64;
    return bc_give_attr(p, s, row, at) && (!integer || !bc_take_punct(p, ':') || bc_parse_type(p, &type));
}

static bool parse_segment_sizes(bc_parser *p, bc_op_state *s)
{
    const bc_row list = {.encoding = BC_ENC_I32S};
    bc_attr sizes;
    bc_token at = p->tok;
    if (s->operands[0].given)
        return bc_parse_fail(p, BC_RULE_A_007, &at, "the operandSegmentSizes are given twice");
    if (!bc_parse_row(p, &list, &sizes))
        return false;
    if (sizes.ints->count != s->info->operand_rows)
        return bc_parse_fail(p, BC_RULE_A_009, &at, "%u sizes for %u kinds of operands", (unsigned)sizes.ints->count,
                             s->info->operand_rows);
    for (unsigned i = 0; i < sizes.ints->count; i++) {
        int64_t size = sizes.ints->ptr[i];
        const bc_row *row = &bc_operand_rows(s->info)[i];
        bool good = row->arity == BC_ONE ? size == 1
                                         : size >= 0 && size <= (row->arity == BC_OPTIONAL ? 1 : BC_MAX_OPERANDS);
        if (!good)
            return bc_parse_fail(p, BC_RULE_A_009, &at, "%lld operands for '%s'", (long long)size, row->name);
        s->operands[i] = (bc_rows_given){.count = (uint32_t)size, .given = true};
    }
    return true;
}

static bool parse_dict_entry(bc_parser *p, bc_op_state *s, bool properties)
{
    bc_token at = p->tok;
    if (at.kind != BC_TOK_WORD && at.kind != BC_TOK_STRING)
        return bc_expected(p, "the name of an attribute");
    bc_next(p);
    int row = bc_row_find(s->info, at.name, true);
    bool valued = bc_take_punct(p, '=');
    if (properties && valued && bc_str_is(at.name, "operandSegmentSizes") && s->info->mode == BC_MODE_SEGMENTED)
        return parse_segment_sizes(p, s);
    if (row < 0 && memchr(at.name.ptr, '.', at.name.len)) { /* of another dialect: nothing that bytecode holds */
        bc_tagged ignored;
        return !valued || bc_parse_attr(p, BC_I64, &ignored);
    }
    if (row < 0 || (bc_rows[row].kind != BC_FLAG && bc_rows[row].kind != BC_ATTR))
        return bc_parse_fail(p, BC_RULE_A_005, &at, "'%s' has no attribute '%.*s'", s->info->name, BC_STR(at.name));
    if (valued)
        return parse_dict_value(p, s, row, &at);
    if (bc_rows[row].kind != BC_FLAG)
        return bc_expected(p, "'='");
    s->attrs[bc_attr_row_of(s, row)].u = 1;
    return bc_claim_attr(p, s, row, &at);
}

bool bc_parse_attr_dict(bc_parser *p, bc_op_state *s, bool properties)
{
    if (!bc_expect_punct(p, '{'))
        return false;
    while (!bc_is_punct(p, '}')) {
        if (!parse_dict_entry(p, s, properties))
            return false;
        if (!bc_take_punct(p, ','))
            break;
    }
    return bc_expect_punct(p, '}');
}
