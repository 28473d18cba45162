/* An op: names on the left, name, what follows in its own or in the generic form, location; then it is made. */
#include <string.h>

#include "bytecode/parse/op.h"

/* ---- making the op ---- */

/* What the absence of each attribute from the text means. */
static void set_defaults(bc_op_state *s)
{
    const bc_row *rows = bc_attr_rows(s->info);
    for (unsigned i = 0; i < s->info->attr_rows; i++) {
        bool scalar = rows[i].encoding >= BC_ENC_ENUM && rows[i].encoding <= BC_ENC_BOOL;
        s->attrs[i].u = scalar && rows[i].arity == BC_OPTIONAL ? BC_ABSENT : 0;
    }
    for (unsigned i = 0; i < s->format->piece_count; i++) {
        const bc_piece *piece = &s->format->pieces[i];
        if (!piece->has_word)
            continue;
        unsigned row = bc_attr_row_of(s, piece->refs[0].row);
        s->attrs[row].u = piece->word;
        s->attrs_implied |= 1u << row;
    }
}

/* Attributes that no default covers: only the generic form can leave them out. */
static bool check_attrs(bc_parser *p, const bc_op_state *s)
{
    const bc_row *rows = bc_attr_rows(s->info);
    for (unsigned i = 0; i < s->info->attr_rows; i++) {
        bool needed = rows[i].kind == BC_ATTR && rows[i].arity == BC_ONE && rows[i].encoding != BC_ENC_BOOLS;
        if (needed && !((s->attrs_given | s->attrs_implied) >> i & 1))
            return bc_parse_fail(p, BC_RULE_A_009, &s->at, "'%s' needs its attribute '%s'", s->info->name,
                                 rows[i].name);
    }
    return true;
}

static bool collect_results(bc_parser *p, const bc_op_state *s, size_t *out_first, uint32_t *out_count)
{
    *out_first = p->type_count;
    *out_count = 0;
    for (unsigned r = 0; r < BC_MAX_RESULT_ROWS; r++)
        for (uint32_t i = 0; i < s->results[r].count; i++, ++*out_count)
            if (!bc_push_type(p, p->types[s->results[r].first + i]))
                return false;
    if (*out_count > BC_MAX_OPERANDS)
        return bc_parse_fail(p, BC_RULE_A_014, &s->at, "more than %d results", BC_MAX_OPERANDS);
    if (!(s->info->traits & BC_COUNTED) && *out_count != s->info->result_rows) /* their number is not written down */
        return bc_parse_fail(p, BC_RULE_A_013, &s->at, "bytecode always gives '%s' %u result%s, not %u", s->info->name,
                             s->info->result_rows, s->info->result_rows == 1 ? "" : "s", (unsigned)*out_count);
    if (s->named_results && s->named_results != *out_count)
        return bc_parse_fail(p, BC_RULE_A_009, &p->results[s->result_base], "%u results are named; '%s' has %u here",
                             (unsigned)s->named_results, s->info->name, (unsigned)*out_count);
    return true;
}

static void place_operands(bc_parser *p, const bc_op_state *s, bc_op *op)
{
    bc_segments segments = {0};
    uint32_t at = 0;
    unsigned variadic = 0;
    for (unsigned r = 0; r < s->info->operand_rows; r++) {
        const bc_rows_given *given = &s->operands[r];
        for (uint32_t i = 0; i < given->count; i++)
            bc_operands(op)[at++] = p->values[given->first + i];
        uint8_t arity = bc_operand_rows(s->info)[r].arity;
        if (arity == BC_OPTIONAL && given->count)
            segments.present |= (uint16_t)(1u << r);
        if (arity == BC_VARIADIC)
            segments.count[variadic++] = (uint16_t)given->count;
    }
    if (s->info->mode == BC_MODE_SEGMENTED)
        memcpy(&bc_attrs(op)[s->info->attr_rows], &segments, sizeof segments);
}

static bool place_constant(bc_parser *p, bc_op_state *s, const bc_op *op)
{
    const bc_row *rows = bc_attr_rows(s->info);
    for (unsigned i = 0; i < s->info->attr_rows; i++) {
        if (rows[i].encoding != BC_ENC_CONST)
            continue;
        if (op->result_count == 0 && !s->literal.raw)
            return bc_parse_fail(p, BC_RULE_A_009, &s->at, "'%s' has no result whose type determines its value",
                                 s->info->name);
        const bc_type *type = op->result_count ? bc_results(op)[0].type : NULL;
        if (!bc_pack_literal(p, &s->literal, type, &bc_attrs(op)[i].blob))
            return false;
    }
    return true;
}

static bool make_op(bc_parser *p, bc_op_state *s, bc_op **out)
{
    size_t first;
    uint32_t results, operands = 0;
    if (!check_attrs(p, s) || !collect_results(p, s, &first, &results))
        return false;
    for (unsigned r = 0; r < s->info->operand_rows; r++)
        operands += s->operands[r].count;
    if (operands > BC_MAX_OPERANDS)
        return bc_parse_fail(p, BC_RULE_A_014, &s->at, "more than %d operands", BC_MAX_OPERANDS);
    bc_op *op = bc_op_new(p->m, s->opcode, results, operands);
    if (!op)
        return bc_parse_no_memory(p);
    op->offset = (uint32_t)(s->at.ptr - p->text);
    for (uint32_t i = 0; i < results; i++)
        bc_results(op)[i].type = p->types[first + i];
    memcpy(bc_attrs(op), s->attrs, s->info->attr_rows * sizeof *s->attrs);
    if (!place_constant(p, s, op))
        return false;
    place_operands(p, s, op);
    for (unsigned i = 0; i < op->region_count; i++) {
        bc_regions(op)[i] = s->regions[i];
        if (s->regions[i])
            s->regions[i]->parent = op;
    }
    for (unsigned k = 0; k < 2 && results; k++)
        if (!bc_check_sizes(p, s, bc_results(op)[0].type, k))
            return false;
    *out = op;
    return true;
}

/* ---- names on the left ---- */

/* %a, %b:2 = */
static bool parse_result_names(bc_parser *p, bc_op_state *s)
{
    do {
        bc_token name = p->tok;
        int64_t count = 1;
        if (name.kind != BC_TOK_VALUE || name.has_index)
            return bc_expected(p, "the name of a result");
        bc_next(p);
        if (bc_take_punct(p, ':') && !bc_parse_range(p, "the number of results", 1, BC_MAX_OPERANDS, &count))
            return false;
        name.index = (uint32_t)count;
        s->named_results += name.index;
        bc_token *grown = bc_grow(&p->scratch, p->results, p->result_count, &p->result_capacity, bc_token);
        if (!grown)
            return bc_parse_no_memory(p);
        p->results = grown;
        p->results[p->result_count++] = name;
        if (s->named_results > BC_MAX_OPERANDS)
            return bc_parse_fail(p, BC_RULE_A_014, &name, "more than %d results", BC_MAX_OPERANDS);
    } while (bc_take_punct(p, ','));
    return bc_expect_punct(p, '=');
}

bool bc_define_results(bc_parser *p, const bc_op_state *s, bc_op *op)
{
    uint32_t at = 0;
    for (size_t i = s->result_base; i < p->result_count; i++) {
        const bc_token *name = &p->results[i];
        if (!op && bc_scope_find(&p->names, name->name))
            continue;
        if (!bc_define(p, name, op ? &bc_results(op)[at] : NULL, name->index))
            return false;
        at += name->index;
    }
    return true;
}

/* ---- ops ---- */

static bool parse_mnemonic(bc_parser *p, bc_op_state *s)
{
    s->at = p->tok;
    bool generic = p->tok.kind == BC_TOK_STRING;
    if (!generic && p->tok.kind != BC_TOK_WORD)
        return bc_expected(p, "an op");
    tv_str name = bc_without_prefix(p->tok.name);
    s->info = bc_op_find(name, &s->opcode);
    if (!s->info)
        return bc_parse_fail(p, BC_RULE_A_003, &s->at, "there is no op '%.*s'", BC_STR(name));
    p->op = s->info;
    bc_next(p);
    s->format = bc_format_of(&p->formats, s->opcode);
    if (!s->format)
        return bc_parse_no_memory(p);
    set_defaults(s);
    if (generic)
        return bc_parse_generic(p, s);
    return bc_parse_pieces(p, s);
}

bool bc_parse_op(bc_parser *p, bc_op_state *s, bc_op **out)
{
    if (p->tok.kind == BC_TOK_VALUE && !parse_result_names(p, s))
        return false;
    if (!parse_mnemonic(p, s))
        return false;
    if (!make_op(p, s, out) || !bc_parse_location(p, &(*out)->loc))
        return false;
    for (unsigned i = 0; i < (*out)->region_count; i++)
        bc_locate_implied(s->regions[i], (*out)->loc);
    return true;
}
