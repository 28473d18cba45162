/* Ops: interprets the formats of ops.def (format.h) as a grammar. White space in a format does not matter here; a group
   is entered when its first word or sign comes next, or, if it is about operands that were read already, when those
   were given. Adjacent groups may come in any order. */
#include <stdio.h>
#include <string.h>

#include "bytecode/parse/parse.h"
#include "bytecode/print/print.h"

/* ---- stacks ---- */

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

/* ---- values ---- */

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

static bool parse_row_value(bc_parser *p, bc_op_state *s, unsigned row)
{
    bc_value *value;
    if (!bc_parse_value(p, &value) || !bc_push_value(p, value))
        return false;
    if (++s->operands[row].count > BC_MAX_OPERANDS)
        return bc_parse_fail(p, BC_RULE_A_014, &p->tok, "more than %d operands", BC_MAX_OPERANDS);
    return true;
}

static unsigned operand_row(const bc_op_state *s, int row)
{
    return (unsigned)(row - s->info->first_row) - s->info->result_rows - s->info->attr_rows;
}

static bc_rows_given *start_operands(bc_parser *p, bc_op_state *s, int row)
{
    bc_rows_given *given = &s->operands[operand_row(s, row)];
    *given = (bc_rows_given){.first = p->value_count, .given = true};
    return given;
}

static bool parse_operands(bc_parser *p, bc_op_state *s, int row)
{
    unsigned r = operand_row(s, row);
    start_operands(p, s, row);
    if (bc_rows[row].arity != BC_VARIADIC)
        return parse_row_value(p, s, r);
    if (p->tok.kind != BC_TOK_VALUE)
        return true;
    do {
        if (!parse_row_value(p, s, r))
            return false;
    } while (bc_take_punct(p, ','));
    return true;
}

/* ---- attributes ---- */

static unsigned attr_row(const bc_op_state *s, int row)
{
    return (unsigned)(row - s->info->first_row) - s->info->result_rows;
}

/* Notes that the text gives the attribute, which it may do once. */
static bool claim_attr(bc_parser *p, bc_op_state *s, int row, const bc_token *at)
{
    uint32_t bit = 1u << attr_row(s, row);
    if (s->attrs_given & bit)
        return bc_parse_fail(p, BC_RULE_A_007, at, "'%s' is given twice", bc_rows[row].name);
    s->attrs_given |= bit;
    return true;
}

bool bc_give_attr(bc_parser *p, bc_op_state *s, int row, const bc_token *at)
{
    if (!claim_attr(p, s, row, at))
        return false;
    if (bc_rows[row].encoding == BC_ENC_CONST)
        return bc_parse_constant_attr(p, &s->literal);
    return bc_parse_row(p, &bc_rows[row], &s->attrs[attr_row(s, row)]);
}

/* The integer of a dictionary may have its type behind it; a flag may be `unit` or a truth value. */
static bool parse_dict_value(bc_parser *p, bc_op_state *s, int row, const bc_token *at)
{
    const bc_type *type;
    if (bc_rows[row].encoding == BC_ENC_UNIT) {
        if (!claim_attr(p, s, row, at))
            return false;
        s->attrs[attr_row(s, row)].u = !bc_is_word(p, "false");
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
    s->attrs[attr_row(s, row)].u = 1;
    return claim_attr(p, s, row, &at);
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

/* ---- types ---- */

/* How many values a reference of a TYPES piece stands for; UINT32_MAX: the text decides (variadic results). */
static uint32_t values_of(const bc_parser *p, const bc_op_state *s, bc_ref ref)
{
    if (ref.row == BC_REF_ARGS) {
        size_t args = p->arg_count - s->arg_base;
        return args <= ref.arg ? 0 : ref.rest ? (uint32_t)(args - ref.arg) : 1;
    }
    const bc_row *row = &bc_rows[ref.row];
    if (row->kind == BC_OPERAND)
        return s->operands[operand_row(s, ref.row)].count;
    return row->arity == BC_ONE ? 1 : UINT32_MAX;
}

static bool wrong_type(bc_parser *p, const bc_token *at, const bc_type *said, const bc_value *value, int row);

/* Says that value i of the reference has the type at p->types[first + i]. */
static bool state_types(bc_parser *p, bc_op_state *s, bc_ref ref, size_t first, uint32_t count, const bc_token *at)
{
    if (ref.row != BC_REF_ARGS && bc_rows[ref.row].kind == BC_RESULT) {
        s->results[ref.row - s->info->first_row] = (bc_rows_given){first, count, true};
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        const bc_type *type = p->types[first + i];
        if (ref.row == BC_REF_ARGS) {
            p->args[s->arg_base + ref.arg + i].type = type;
            continue;
        }
        const bc_value *value = p->values[s->operands[operand_row(s, ref.row)].first + i];
        if (value->type && value->type != type)
            return wrong_type(p, at, type, value, ref.row);
    }
    return true;
}

static bool wrong_type(bc_parser *p, const bc_token *at, const bc_type *said, const bc_value *value, int row)
{
    bc_text text;
    bc_text_init(&text, &p->m->arena.allocator);
    bc_print_type(&text, said, false);
    bc_text_puts(&text, ", but the value is ");
    bc_print_type(&text, value->type, false);
    bc_parse_fail(p, BC_RULE_A_008, at, "the type of '%s' is given as %s", bc_rows[row].name, bc_text_words(&text));
    bc_text_release(&text);
    return false;
}

static bool wrong_count(bc_parser *p, const bc_token *at, uint32_t types, uint32_t values)
{
    return bc_parse_fail(p, BC_RULE_A_009, at, "%u type%s for %u value%s", (unsigned)types, types == 1 ? "" : "s",
                         (unsigned)values, values == 1 ? "" : "s");
}

/* Takes a comma and a type, unless it is the type of a token that follows the list. */
static bool take_next_type(bc_parser *p, const bc_type *first, bool *out_taken)
{
    bc_token tok = p->tok;
    const char *at = p->at;
    const bc_type *type;
    *out_taken = false;
    if (!bc_take_punct(p, ','))
        return true;
    if (!bc_parse_type(p, &type))
        return false;
    if (type->kind == BC_TOKEN && first->kind != BC_TOKEN) {
        p->tok = tok;
        p->at = at;
        return true;
    }
    *out_taken = true;
    return bc_push_type(p, type);
}

/* At least one type, at most so many. */
static bool parse_type_list(bc_parser *p, uint32_t most, uint32_t *out_count)
{
    const bc_type *first;
    if (!bc_parse_type(p, &first) || !bc_push_type(p, first))
        return false;
    *out_count = 1;
    for (bool taken = true; taken && *out_count < most; *out_count += taken)
        if (!take_next_type(p, first, &taken))
            return false;
    return true;
}

/* One type for all, or as many as there are values; either: values of several rows. Results: as many as are named. */
static bool parse_splat(bc_parser *p, bc_op_state *s, const bc_piece *piece)
{
    bc_token at = p->tok;
    size_t first = p->type_count;
    uint32_t types, total = 0, values[BC_MAX_REFS];
    for (unsigned r = 0; r < piece->ref_count; r++) {
        values[r] = values_of(p, s, piece->refs[r]);
        if (values[r] == UINT32_MAX && !s->named_results)
            return bc_parse_fail(p, BC_RULE_A_009, &s->at,
                                 "the number of results shows in their names only; write %%x:2 = %s", s->info->name);
        if (values[r] == UINT32_MAX)
            values[r] = s->named_results;
        total += values[r];
    }
    if (!parse_type_list(p, total, &types))
        return false;
    if (types != 1 && types != total)
        return wrong_count(p, &at, types, total);
    while (types == 1 && p->type_count - first < total)
        if (!bc_push_type(p, p->types[first]))
            return false;
    for (unsigned r = 0; r < piece->ref_count; first += values[r++])
        if (!state_types(p, s, piece->refs[r], first, values[r], &at))
            return false;
    return true;
}

static bool parse_type_piece(bc_parser *p, bc_op_state *s, const bc_piece *piece)
{
    if (piece->splat)
        return parse_splat(p, s, piece);
    bc_token at = p->tok;
    size_t first = p->type_count;
    uint32_t count = UINT32_MAX, types = 0;
    for (unsigned r = 0; r < piece->ref_count; r++) {
        uint32_t values = values_of(p, s, piece->refs[r]);
        if (values == UINT32_MAX)
            continue;
        if (count != UINT32_MAX && values != count)
            return wrong_count(p, &at, values, count);
        count = values;
    }
    do { /* a comma may also belong to what follows */
        const bc_type *type;
        if (!bc_parse_type(p, &type) || !bc_push_type(p, type))
            return false;
        types++;
    } while (types < count && bc_take_punct(p, ','));
    if (count != UINT32_MAX && types != count)
        return wrong_count(p, &at, types, count);
    for (unsigned r = 0; r < piece->ref_count; r++)
        if (!state_types(p, s, piece->refs[r], first, types, &at))
            return false;
    return true;
}

static bool state_token(bc_parser *p, bc_op_state *s, int row)
{
    s->results[row - s->info->first_row] = (bc_rows_given){p->type_count, 1, true};
    const bc_type *token = bc_type_scalar(p->m, BC_TOKEN);
    return token ? bc_push_type(p, token) : bc_parse_no_memory(p);
}

/* Whether the type that comes next is that of the operand; takes nothing. */
static bool repeats_type(bc_parser *p, const bc_op_state *s, int row)
{
    bc_token tok = p->tok;
    const char *at = p->at;
    const bc_rows_given *given = &s->operands[operand_row(s, row)];
    const bc_type *type = NULL;
    bool same = bc_parse_type(p, &type) && given->count && p->values[given->first]->type == type;
    p->tok = tok;
    p->at = at;
    return same;
}

/* ---- arguments, sizes, regions ---- */

static bool take_arg_name(bc_parser *p)
{
    bc_token name = p->tok;
    if (name.kind != BC_TOK_VALUE || name.has_index)
        return bc_expected(p, "the name of an argument");
    bc_next(p);
    return bc_push_arg(p, &name, NULL);
}

/* %a = %b, %c = %d */
static bool parse_assignments(bc_parser *p, bc_op_state *s, int row)
{
    start_operands(p, s, row);
    do {
        if (!take_arg_name(p) || !bc_expect_punct(p, '=') || !parse_row_value(p, s, operand_row(s, row)))
            return false;
    } while (bc_take_punct(p, ','));
    return true;
}

/* 4, %n, 8 */
static bool parse_sizes(bc_parser *p, bc_op_state *s, const bc_piece *piece)
{
    int row = piece->refs[0].row;
    bool strides = piece->strides;
    uint32_t count = 0;
    size_t first = p->size_count;
    s->sizes_at[strides] = p->tok;
    s->sizes_given[strides] = true;
    start_operands(p, s, row);
    while (!bc_is_punct(p, ']')) {
        int64_t size = BC_DYNAMIC;
        if (p->tok.kind == BC_TOK_VALUE ? !parse_row_value(p, s, operand_row(s, row)) : !bc_parse_i64(p, &size))
            return false;
        int64_t *grown = bc_grow(&p->scratch, p->sizes, p->size_count, &p->size_capacity, int64_t);
        if (!grown)
            return bc_parse_no_memory(p);
        p->sizes = grown;
        p->sizes[p->size_count++] = size;
        count++;
        if (!bc_take_punct(p, ','))
            break;
    }
    *(strides ? &s->stride_first : &s->shape_first) = first;
    *(strides ? &s->stride_count : &s->shape_count) = count;
    return true;
}

/* Whether the type says the same sizes as the list; the type comes later in the text. */
static bool check_sizes(bc_parser *p, const bc_op_state *s, const bc_type *type, bool strides)
{
    if (!s->sizes_given[strides])
        return true;
    const char *what = strides ? "strides" : "sizes";
    if (type->kind != BC_TENSOR_VIEW)
        return bc_parse_fail(p, BC_RULE_A_013, &s->at, "'%s' gives a tensor_view, not a %s", s->info->name,
                             bc_kinds[type->kind].text);
    uint32_t given = strides ? s->stride_count : s->shape_count, wanted = strides ? type->result_count : type->rank;
    const int64_t *types = strides ? type->strides : type->shape;
    if (given != wanted)
        return bc_parse_fail(p, BC_RULE_A_008, &s->sizes_at[strides], "%u %s; the type has %u", (unsigned)given, what,
                             (unsigned)wanted);
    for (uint32_t i = 0; i < given; i++)
        if (p->sizes[(strides ? s->stride_first : s->shape_first) + i] != types[i])
            return bc_parse_fail(p, BC_RULE_A_008, &s->sizes_at[strides], "the %s differ from those of the type at %u",
                                 what, (unsigned)i);
    return true;
}

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
        return bc_rows[row].kind == BC_OPERAND ? parse_operands(p, s, row) : bc_give_attr(p, s, row, &at);
    }
    case BC_PIECE_SYMBOL: {
        bc_token at = p->tok;
        return at.kind == BC_TOK_AT ? bc_give_attr(p, s, row, &at) : bc_expected(p, "a name such as @table");
    }
    case BC_PIECE_TYPES: return parse_type_piece(p, s, piece);
    case BC_PIECE_TOKEN: return state_token(p, s, row);
    case BC_PIECE_ARGS: return take_arg_name(p);
    case BC_PIECE_ASSIGN: return parse_assignments(p, s, piece->refs[1].row);
    case BC_PIECE_SIZES: return parse_sizes(p, s, piece);
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
        if (bc_rows[row].kind != BC_OPERAND || !s->operands[operand_row(s, row)].given)
            return false;
        *out_there |= s->operands[operand_row(s, row)].count > 0;
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
        return repeats_type(p, s, piece->refs[0].row);
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
        if (!claim_attr(p, s, row, &p->tok))
            return false;
        s->attrs[attr_row(s, row)].u = 1;
    }
    return parse_pieces(p, s, group + 1, piece->jump, depth + 1);
}

/* A group that was not entered: its operands are known not to be there. */
static void settle_absent(bc_op_state *s, const bc_piece *group)
{
    for (unsigned i = 0; i < group->ref_count; i++)
        if (bc_rows[group->refs[i].row].kind == BC_OPERAND)
            s->operands[operand_row(s, group->refs[i].row)].given = true;
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
        unsigned row = attr_row(s, piece->refs[0].row);
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
            return bc_parse_fail(p, BC_RULE_A_009, &s->at, "'%s' has no result that says what its value is",
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
        if (!check_sizes(p, s, bc_results(op)[0].type, k))
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

static bool define(bc_parser *p, const bc_token *name, bc_value *first, uint32_t count)
{
    if (bc_scope_find(&p->names, name->name))
        return bc_parse_fail(p, BC_RULE_A_007, name, "%%%.*s is defined already", BC_STR(name->name));
    return bc_scope_add(&p->names, name->name, first, count) || bc_parse_no_memory(p);
}

/* Defines the results; of an op that could not be made (NULL), so that their uses are not reported as well. */
static bool define_results(bc_parser *p, const bc_op_state *s, bc_op *op)
{
    uint32_t at = 0;
    for (size_t i = s->result_base; i < p->result_count; i++) {
        const bc_token *name = &p->results[i];
        if (!op && bc_scope_find(&p->names, name->name))
            continue;
        if (!define(p, name, op ? &bc_results(op)[at] : NULL, name->index))
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
    return parse_pieces(p, s, 0, s->format->piece_count, 0) && parse_optional_dict(p, s);
}

static bool parse_op(bc_parser *p, bc_op_state *s, bc_op **out)
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
    bool good = parse_op(p, &s, &op) && define_results(p, &s, op);
    if (good)
        bc_block_append(block, op);
    else {
        bc_recover(p, start, may_start_op);
        define_results(p, &s, NULL);
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
        if (!take_arg_name(p) || !bc_expect_punct(p, ':') || !bc_parse_type(p, &p->args[p->arg_count - 1].type)
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
        if (!define(p, &arg->name, &block->args[i], 1))
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
