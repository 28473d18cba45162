/* What the text of an op states: operands, the types of values, arguments, sizes. */
#include "bytecode/parse/op.h"
#include "bytecode/print/print.h"

static bool parse_row_value(bc_parser *p, bc_op_state *s, unsigned row)
{
    bc_value *value;
    if (!bc_parse_value(p, &value) || !bc_push_value(p, value))
        return false;
    if (++s->operands[row].count > BC_MAX_OPERANDS)
        return bc_parse_fail(p, BC_RULE_A_014, &p->tok, "more than %d operands", BC_MAX_OPERANDS);
    return true;
}

static bc_rows_given *start_operands(bc_parser *p, bc_op_state *s, int row)
{
    bc_rows_given *given = &s->operands[bc_operand_row_of(s, row)];
    *given = (bc_rows_given){.first = p->value_count, .given = true};
    return given;
}

bool bc_parse_operands(bc_parser *p, bc_op_state *s, int row)
{
    unsigned r = bc_operand_row_of(s, row);
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
        return s->operands[bc_operand_row_of(s, ref.row)].count;
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
        const bc_value *value = p->values[s->operands[bc_operand_row_of(s, ref.row)].first + i];
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

/* At least one type, and at most this number. */
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

bool bc_state_types(bc_parser *p, bc_op_state *s, const bc_piece *piece)
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

bool bc_state_token(bc_parser *p, bc_op_state *s, int row)
{
    s->results[row - s->info->first_row] = (bc_rows_given){p->type_count, 1, true};
    const bc_type *token = bc_type_scalar(p->m, BC_TOKEN);
    return token ? bc_push_type(p, token) : bc_parse_no_memory(p);
}

bool bc_repeats_type(bc_parser *p, const bc_op_state *s, int row)
{
    bc_token tok = p->tok;
    const char *at = p->at;
    const bc_rows_given *given = &s->operands[bc_operand_row_of(s, row)];
    const bc_type *type = NULL;
    bool same = bc_parse_type(p, &type) && given->count && p->values[given->first]->type == type;
    p->tok = tok;
    p->at = at;
    return same;
}

/* ---- arguments, sizes, regions ---- */

bool bc_take_arg_name(bc_parser *p)
{
    bc_token name = p->tok;
    if (name.kind != BC_TOK_VALUE || name.has_index)
        return bc_expected(p, "the name of an argument");
    bc_next(p);
    return bc_push_arg(p, &name, NULL);
}

bool bc_parse_assignments(bc_parser *p, bc_op_state *s, int row)
{
    start_operands(p, s, row);
    do {
        if (!bc_take_arg_name(p) || !bc_expect_punct(p, '=') || !parse_row_value(p, s, bc_operand_row_of(s, row)))
            return false;
    } while (bc_take_punct(p, ','));
    return true;
}

bool bc_parse_sizes(bc_parser *p, bc_op_state *s, const bc_piece *piece)
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
        if (p->tok.kind == BC_TOK_VALUE ? !parse_row_value(p, s, bc_operand_row_of(s, row)) : !bc_parse_i64(p, &size))
            return false;
        if (!bc_push_size(p, size))
            return false;
        count++;
        if (!bc_take_punct(p, ','))
            break;
    }
    *(strides ? &s->stride_first : &s->shape_first) = first;
    *(strides ? &s->stride_count : &s->shape_count) = count;
    return true;
}

bool bc_check_sizes(bc_parser *p, const bc_op_state *s, const bc_type *type, bool strides)
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
