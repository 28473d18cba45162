/* The assembly form of an op: interprets its format in ops.def (format.h) as a grammar. White space in a format does
   not matter here; a group is entered when its first word or sign comes next, or, if it is about operands that were
   read already, when those were given. Adjacent groups may come in any order. */
#include <stdio.h>

#include "bytecode/parse/op.h"

static bool parse_region_piece(bc_parser *p, bc_op_state *s, const bc_piece *piece)
{
    unsigned region = (unsigned)(&bc_rows[piece->refs[0].row] - bc_region_rows(s->info));
    size_t args = region == 0 ? s->arg_base : p->arg_count;
    s->regions_given[region] = true;
    return bc_parse_region(p, args, piece->opcode, false, &s->regions[region]);
}

/* ---- text ---- */

/* The first word or sign of a piece of text. */
static tv_str first_of(tv_str text)
{
    while (text.len && *text.ptr == ' ') {
        text.ptr++;
        text.len--;
    }
    size_t len = 0;
    while (len < text.len && ((text.ptr[len] >= 'a' && text.ptr[len] <= 'z') || text.ptr[len] == '_'))
        len++;
    if (len == 0 && text.len)
        len = text.len > 1 && text.ptr[0] == '-' && text.ptr[1] == '>' ? 2 : 1;
    return (tv_str){text.ptr, len};
}

static bool comes_next(const bc_parser *p, tv_str first)
{
    return p->tok.kind != BC_TOK_END && bc_str_eq((tv_str){p->tok.ptr, p->tok.len}, first);
}

static bool parse_text(bc_parser *p, tv_str text)
{
    for (;;) {
        tv_str first = first_of(text);
        if (first.len == 0)
            return true;
        if (!comes_next(p, first)) {
            char what[64];
            snprintf(what, sizeof what, "'%.*s'", (int)first.len, first.ptr);
            return bc_expected(p, what);
        }
        bc_next(p);
        text = (tv_str){first.ptr + first.len, text.len - (size_t)(first.ptr + first.len - text.ptr)};
    }
}

/* ---- pieces and groups ---- */

static bool parse_pieces(bc_parser *p, bc_op_state *s, unsigned from, unsigned to, unsigned depth);

static bool parse_piece(bc_parser *p, bc_op_state *s, const bc_piece *piece)
{
    int row = piece->refs[0].row;
    switch ((bc_piece_kind)piece->kind) {
    case BC_PIECE_TEXT: return parse_text(p, piece->text);
    case BC_PIECE_VALUE: {
        bc_token at = p->tok;
        return bc_rows[row].kind == BC_OPERAND ? bc_parse_operands(p, s, row) : bc_give_attr(p, s, row, &at);
    }
    case BC_PIECE_SYMBOL: {
        bc_token at = p->tok;
        return at.kind == BC_TOK_AT ? bc_give_attr(p, s, row, &at) : bc_expected(p, "a name such as @table");
    }
    case BC_PIECE_TYPES: return bc_state_types(p, s, piece);
    case BC_PIECE_TOKEN: return bc_state_token(p, s, row);
    case BC_PIECE_ARGS: return bc_take_arg_name(p);
    case BC_PIECE_ASSIGN: return bc_parse_assignments(p, s, piece->refs[1].row);
    case BC_PIECE_SIZES: return bc_parse_sizes(p, s, piece);
    case BC_PIECE_ARG_LIST: return bc_parse_arguments(p, NULL);
    case BC_PIECE_REGION: return parse_region_piece(p, s, piece);
    case BC_PIECE_DICT: /* dictionaries are taken before any text */
    case BC_PIECE_END:
    case BC_PIECE_GROUP:
    case BC_PIECE_ELSE:
    case BC_PIECE_CLOSE: break;
    }
    return true;
}

/* Whether all rows that a group depends on are operands that were read, and if so whether one was given. */
static bool is_decided(const bc_op_state *s, const bc_piece *group, bool *out_there)
{
    *out_there = false;
    for (unsigned i = 0; i < group->ref_count; i++) {
        int row = group->refs[i].row;
        if (bc_rows[row].kind != BC_OPERAND || !s->operands[bc_operand_row_of(s, row)].given)
            return false;
        *out_there |= s->operands[bc_operand_row_of(s, row)].count > 0;
    }
    return true;
}

/* The type of the value after the token, without taking anything; NULL when there is none. */
static const bc_type *type_after(bc_parser *p)
{
    bc_token tok = p->tok;
    const char *at = p->at;
    bc_next(p);
    const bc_binding *found = p->tok.kind == BC_TOK_VALUE ? bc_scope_find(&p->names, p->tok.name) : NULL;
    const bc_type *type = NULL;
    if (found && found->value && p->tok.index < found->count)
        type = ((const bc_value *)found->value)[p->tok.index].type;
    p->tok = tok;
    p->at = at;
    return type;
}

/* Whether the text goes on with the group; first and used describe its run, as for bc_choose_group. */
static bool enters(bc_parser *p, const bc_op_state *s, unsigned group, unsigned first, uint32_t used)
{
    const bc_piece *piece = &s->format->pieces[group];
    const bc_piece *inner = piece + 1;
    bool there;
    if (piece->unless_implied)
        return bc_repeats_type(p, s, piece->refs[0].row);
    if (is_decided(s, piece, &there))
        return there;
    if (inner->kind == BC_PIECE_TEXT && first_of(inner->text).len == 0)
        inner++;
    const bc_row *row = &bc_rows[inner->refs[0].row];
    if (inner->kind == BC_PIECE_VALUE && row->kind == BC_OPERAND)
        return p->tok.kind == BC_TOK_VALUE;
    if (inner->kind == BC_PIECE_VALUE)
        return row->encoding == BC_ENC_ENUM && bc_at_enum(p, (bc_enum_id)row->enum_id);
    if (inner->kind != BC_PIECE_TEXT || !comes_next(p, first_of(inner->text)))
        return false;
    if (bc_group_operand(s->format, group) < 0)
        return true;
    const bc_type *type = type_after(p);
    return !type || bc_choose_group(s->format, first, used, group, type) == group;
}

static bool enter(bc_parser *p, bc_op_state *s, unsigned group, unsigned depth)
{
    const bc_piece *piece = &s->format->pieces[group];
    for (unsigned i = 0; i < piece->ref_count; i++) {
        int row = piece->refs[i].row;
        if (bc_rows[row].kind != BC_FLAG)
            continue;
        if (!bc_claim_attr(p, s, row, &p->tok))
            return false;
        s->attrs[bc_attr_row_of(s, row)].u = 1;
    }
    return parse_pieces(p, s, group + 1, piece->jump, depth + 1);
}

/* A group that was not entered: its operands are known not to be there. */
static void settle_absent(bc_op_state *s, const bc_piece *group)
{
    for (unsigned i = 0; i < group->ref_count; i++)
        if (bc_rows[group->refs[i].row].kind == BC_OPERAND)
            s->operands[bc_operand_row_of(s, group->refs[i].row)].given = true;
}

/* The groups that follow each other from *at on; *at becomes the piece behind them. */
static bool parse_run(bc_parser *p, bc_op_state *s, unsigned *at, unsigned depth)
{
    unsigned first = *at, group = first;
    uint32_t used = 0;
    for (bool again = true; again;) {
        again = false;
        group = first;
        for (unsigned k = 0; s->format->pieces[group].kind == BC_PIECE_GROUP;
             k++, group = bc_group_end(s->format, group)) {
            if (used >> k & 1 || !enters(p, s, group, first, used))
                continue;
            used |= 1u << k;
            again = true;
            if (!enter(p, s, group, depth))
                return false;
        }
    }
    *at = group;
    group = first; /* what stands for the groups that were not there */
    for (unsigned k = 0; group != *at; k++, group = bc_group_end(s->format, group)) {
        if (!(used >> k & 1))
            settle_absent(s, &s->format->pieces[group]);
        unsigned other = s->format->pieces[group].jump;
        bool has_other = s->format->pieces[other].kind == BC_PIECE_ELSE;
        if (has_other && !(used >> k & 1) && !parse_pieces(p, s, other + 1, s->format->pieces[other].jump, depth + 1))
            return false;
    }
    return true;
}

/* Where an op may have a dictionary: before any text of its format that is always there, and at its end. */
static bool parse_optional_dict(bc_parser *p, bc_op_state *s)
{
    bool keyword = bc_take_word(p, "attributes");
    return (!keyword && !bc_is_punct(p, '{')) || bc_parse_attr_dict(p, s, false);
}

static bool parse_pieces(bc_parser *p, bc_op_state *s, unsigned from, unsigned to, unsigned depth)
{
    for (unsigned i = from; i < to;) {
        const bc_piece *piece = &s->format->pieces[i];
        if (piece->kind == BC_PIECE_GROUP) {
            if (!parse_run(p, s, &i, depth))
                return false;
            continue;
        }
        if (depth == 0 && piece->kind == BC_PIECE_TEXT && first_of(piece->text).len && !parse_optional_dict(p, s))
            return false;
        if (!parse_piece(p, s, piece))
            return false;
        i++;
    }
    return true;
}

bool bc_parse_pieces(bc_parser *p, bc_op_state *s)
{
    return parse_pieces(p, s, 0, s->format->piece_count, 0) && parse_optional_dict(p, s);
}
