/* Attributes: the tagged ones, the ones of op rows, and constants. */
#include <string.h>

#include "bytecode/number/dense.h"
#include "bytecode/number/number.h"
#include "bytecode/parse/parse.h"
#include "bytecode/print/print.h"

/* ---- tagged attributes ---- */

static bool parse_number_attr(bc_parser *p, bc_kind default_int, bc_tagged *out)
{
    bc_token number, at;
    if (!bc_take_number(p, &number))
        return false;
    bc_kind kind = number.kind == BC_TOK_FLOAT ? BC_F64 : default_int;
    if (bc_take_punct(p, ':')) {
        at = p->tok;
        if (!bc_parse_type(p, &out->type))
            return false;
        if (bc_kinds[out->type->kind].kind_class > BC_CLASS_FLOAT)
            return bc_parse_fail(p, BC_RULE_A_013, &at, "a number attribute has the type of a number, not %s",
                                 bc_kinds[out->type->kind].text);
        kind = (bc_kind)out->type->kind;
    } else {
        out->type = bc_type_scalar(p->m, kind);
        if (!out->type)
            return bc_parse_no_memory(p);
    }
    out->tag = bc_kinds[kind].kind_class == BC_CLASS_FLOAT ? BC_TAG_FLOAT : BC_TAG_INTEGER;
    return bc_number_bits(p, &number, kind, &out->u.bits);
}

/* Items of an array or a dictionary that is being parsed are kept in a chain until their number is known. */
typedef struct item {
    struct item *next;
    bc_entry entry;
} item;

static bool new_item(bc_parser *p, item ***tail, item **out)
{
    *out = bc_new(&p->scratch, item, 1);
    if (!*out)
        return bc_parse_no_memory(p);
    **tail = *out;
    *tail = &(*out)->next;
    return true;
}

static bool parse_array(bc_parser *p, bc_kind default_int, bc_tagged *out)
{
    item *first = NULL, **tail = &first, *it;
    uint32_t count = 0;
    bc_next(p);
    while (!bc_is_punct(p, ']')) {
        if (!new_item(p, &tail, &it) || !bc_parse_attr(p, default_int, &it->entry.value))
            return false;
        count++;
        if (!bc_take_punct(p, ','))
            break;
    }
    bc_tagged *items = bc_new(&p->m->arena, bc_tagged, count);
    if (!items)
        return bc_parse_no_memory(p);
    uint32_t i = 0;
    for (it = first; it; it = it->next)
        items[i++] = it->entry.value;
    out->tag = BC_TAG_ARRAY;
    out->u.array = (bc_list){items, count};
    return bc_expect_punct(p, ']');
}

static bool parse_key(bc_parser *p, const bc_string **out)
{
    if (p->tok.kind == BC_TOK_STRING)
        return bc_parse_string(p, out);
    if (p->tok.kind != BC_TOK_WORD)
        return bc_expected(p, "a key");
    *out = bc_string_add(p->m, p->tok.name, true);
    bc_next(p);
    return *out || bc_parse_no_memory(p);
}

/* key = value, key, ... up to close. A key without value stands for true. */
static bool parse_entries(bc_parser *p, bc_kind default_int, char close, bc_dict *out)
{
    item *first = NULL, **tail = &first, *it;
    bc_scope keys = {.arena = &p->scratch};
    while (!bc_is_punct(p, close)) {
        bc_token at = p->tok;
        if (!new_item(p, &tail, &it) || !parse_key(p, &it->entry.key))
            return false;
        if (bc_scope_find(&keys, it->entry.key->s))
            return bc_parse_fail(p, BC_RULE_A_007, &at, "the key '%.*s' occurs twice", BC_STR(it->entry.key->s));
        if (!bc_scope_add(&keys, it->entry.key->s, NULL, 0))
            return bc_parse_no_memory(p);
        it->entry.value = (bc_tagged){.tag = BC_TAG_BOOL, .u.bits = 1};
        if (bc_take_punct(p, '=') && !bc_parse_attr(p, default_int, &it->entry.value))
            return false;
        if (!bc_take_punct(p, ','))
            break;
    }
    bc_entry *entries = bc_new(&p->m->arena, bc_entry, keys.count);
    if (!entries)
        return bc_parse_no_memory(p);
    uint32_t i = 0;
    for (it = first; it; it = it->next)
        entries[i++] = it->entry;
    *out = (bc_dict){entries, (uint32_t)keys.count};
    char what[] = {'\'', close, '\'', '\0'};
    return bc_take_punct(p, close) || bc_expected(p, what);
}

/* Hints may be written as a dictionary too. Integers in them are i32 unless they say otherwise. */
bool bc_parse_hints(bc_parser *p, bc_tagged *out)
{
    out->tag = BC_TAG_HINTS;
    tv_str word;
    if (bc_at_dialect_attr(p, &word) && bc_str_is(word, "optimization_hints"))
        bc_next(p);
    if (bc_take_punct(p, '{'))
        return parse_entries(p, BC_I32, '}', &out->u.dict);
    return bc_expect_punct(p, '<') && parse_entries(p, BC_I32, '>', &out->u.dict);
}

static bool parse_div_by(bc_parser *p, bc_tagged *out)
{
    bool negative;
    bc_token at = p->tok;
    if (!bc_parse_u64(p, &out->u.bits, &negative))
        return false;
    if (negative)
        return bc_parse_fail(p, BC_RULE_A_010, &at, "a divisor cannot be negative");
    if (bc_take_punct(p, ',') && !bc_is_word(p, "every") && !bc_is_word(p, "along"))
        return bc_expected(p, "'every'");
    out->tag = BC_TAG_DIV_BY;
    out->has_a = bc_take_word(p, "every");
    if (out->has_a && !bc_parse_i64(p, &out->a))
        return false;
    out->has_b = bc_take_word(p, "along");
    return !out->has_b || bc_parse_i64(p, &out->b);
}

static bool parse_bound(bc_parser *p, bool *out_has, int64_t *out)
{
    *out_has = !bc_take_punct(p, '?');
    return !*out_has || bc_parse_i64(p, out);
}

static bool parse_ints(bc_parser *p, char close, int64_t min, int64_t max, const bc_ints **out)
{
    size_t base = p->size_count;
    while (!bc_is_punct(p, close)) {
        int64_t value;
        if (bc_take_word(p, "true"))
            value = 1;
        else if (bc_take_word(p, "false"))
            value = 0;
        else if (!bc_parse_range(p, "the number", min, max, &value))
            return false;
        if (!bc_push_size(p, value))
            return false;
        if (!bc_take_punct(p, ','))
            break;
    }
    size_t count = p->size_count - base;
    bc_ints *ints = bc_new(&p->m->arena, bc_ints, 1);
    int64_t *values = bc_new(&p->m->arena, int64_t, count);
    if (!ints || !values || count > UINT32_MAX)
        return bc_parse_no_memory(p);
    if (count)
        memcpy(values, &p->sizes[base], count * sizeof *values);
    p->size_count = base;
    *ints = (bc_ints){values, (uint32_t)count};
    *out = ints;
    return bc_expect_punct(p, close);
}

/* div_by<...>, same_elements<...>, bounded<...>; the word has not been taken. */
static bool parse_predicate(bc_parser *p, tv_str word, bc_tagged *out)
{
    bc_next(p);
    if (!bc_expect_punct(p, '<'))
        return false;
    if (bc_str_is(word, "div_by")) {
        if (!parse_div_by(p, out))
            return false;
    } else if (bc_str_is(word, "bounded")) {
        out->tag = BC_TAG_BOUNDED;
        if (!parse_bound(p, &out->has_a, &out->a) || !bc_expect_punct(p, ',') || !parse_bound(p, &out->has_b, &out->b))
            return false;
    } else {
        const bc_ints *values;
        out->tag = BC_TAG_SAME_ELEMENTS;
        if (!bc_expect_punct(p, '[') || !parse_ints(p, ']', INT64_MIN, INT64_MAX, &values))
            return false;
        out->u.ints = *values;
    }
    return bc_expect_punct(p, '>');
}

static bool is_predicate(tv_str word)
{
    return bc_str_is(word, "div_by") || bc_str_is(word, "same_elements") || bc_str_is(word, "bounded");
}

/* #cuda_tile.word<...>, or #alias. */
static bool parse_hash_attr(bc_parser *p, bc_tagged *out)
{
    bc_token at = p->tok;
    tv_str word;
    if (bc_at_dialect_attr(p, &word)) {
        if (is_predicate(word))
            return parse_predicate(p, word, out);
        if (bc_str_is(word, "optimization_hints"))
            return bc_parse_hints(p, out);
        return bc_parse_fail(p, BC_RULE_A_005, &at, "'#cuda_tile.%.*s' is no attribute that can stand here",
                             BC_STR(word));
    }
    bool failed = false;
    const bc_alias *alias = bc_alias_get(p, &at, &failed);
    if (failed)
        return false;
    if (!alias || alias->kind != BC_ALIAS_ATTR)
        return bc_parse_fail(p, BC_RULE_A_011, &at, "there is no attribute alias '#%.*s'", BC_STR(at.name));
    if (p->in_attr_alias) /* or a few lines could stand for terabytes */
        return bc_parse_fail(p, BC_RULE_A_011, &at, "an attribute alias cannot be made of others");
    *out = alias->attr;
    bc_next(p);
    return true;
}

static bool parse_word_attr(bc_parser *p, bc_tagged *out)
{
    if (bc_is_word(p, "true") || bc_is_word(p, "false")) {
        *out = (bc_tagged){.tag = BC_TAG_BOOL, .u.bits = bc_is_word(p, "true")};
        bc_next(p);
        return true;
    }
    out->tag = BC_TAG_TYPE;
    return bc_parse_type(p, &out->type);
}

static bool parse_any_attr(bc_parser *p, bc_kind default_int, bc_tagged *out)
{
    switch ((bc_token_kind)p->tok.kind) {
    case BC_TOK_INT:
    case BC_TOK_FLOAT: return parse_number_attr(p, default_int, out);
    case BC_TOK_STRING: out->tag = BC_TAG_STRING; return bc_parse_string(p, &out->u.string);
    case BC_TOK_AT: out->tag = BC_TAG_STRING; return bc_parse_symbol(p, &out->u.string);
    case BC_TOK_HASH: return parse_hash_attr(p, out);
    case BC_TOK_WORD: return parse_word_attr(p, out);
    case BC_TOK_BANG: out->tag = BC_TAG_TYPE; return bc_parse_type(p, &out->type);
    default: break;
    }
    if (bc_is_punct(p, '-') || bc_is_punct(p, '+'))
        return parse_number_attr(p, default_int, out);
    if (bc_is_punct(p, '['))
        return parse_array(p, default_int, out);
    if (bc_is_punct(p, '(')) {
        out->tag = BC_TAG_TYPE;
        return bc_parse_type(p, &out->type);
    }
    if (!bc_take_punct(p, '{'))
        return bc_expected(p, "an attribute");
    out->tag = BC_TAG_DICTIONARY;
    return parse_entries(p, default_int, '}', &out->u.dict);
}

bool bc_parse_attr(bc_parser *p, bc_kind default_int, bc_tagged *out)
{
    if (p->attr_depth > BC_MAX_ATTR_DEPTH)
        return bc_parse_fail(p, BC_RULE_A_012, &p->tok, "attributes are nested deeper than %d", BC_MAX_ATTR_DEPTH);
    *out = (bc_tagged){0};
    p->attr_depth++;
    bool good = parse_any_attr(p, default_int, out);
    p->attr_depth--;
    return good;
}

/* ---- rows ---- */

/* [1, 2], or array<i32: 1, 2>. The extreme values of 32 bits mean something else to known readers. */
static bool parse_list(bc_parser *p, bc_encoding encoding, const bc_ints **out)
{
    int64_t min = encoding == BC_ENC_I32S ? INT32_MIN + 1 : -1, max = encoding == BC_ENC_I32S ? INT32_MAX - 1 : 1;
    if (bc_take_word(p, "array")) {
        const bc_type *type;
        if (!bc_expect_punct(p, '<') || !bc_parse_type(p, &type))
            return false;
        if (!bc_take_punct(p, ':') && !bc_is_punct(p, '>'))
            return bc_expected(p, "':' and the elements");
        return parse_ints(p, '>', min, max, out);
    }
    return bc_expect_punct(p, '[') && parse_ints(p, ']', min, max, out);
}

static bool parse_integer_row(bc_parser *p, const bc_row *row, uint64_t *out)
{
    bc_token at = p->tok;
    bool negative;
    if (!bc_parse_u64(p, out, &negative))
        return false;
    if (row->encoding == BC_ENC_VARINT32) {
        if (negative ? (int64_t)*out < INT32_MIN : *out > UINT32_MAX)
            return bc_parse_fail(p, BC_RULE_A_010, &at, "'%s' has 32 bits", row->name);
        *out = (uint32_t)*out;
    }
    return true;
}

static bool parse_bool_row(bc_parser *p, uint64_t *out)
{
    *out = bc_is_word(p, "true");
    if (!bc_is_word(p, "true") && !bc_is_word(p, "false"))
        return bc_expected(p, "true or false");
    bc_next(p);
    return true;
}

static bool parse_tagged_row(bc_parser *p, const bc_row *row, const bc_tagged **out)
{
    bc_tagged *attr = bc_new(&p->m->arena, bc_tagged, 1);
    if (!attr)
        return bc_parse_no_memory(p);
    *out = attr;
    if (row->encoding == BC_ENC_HINTS)
        return bc_parse_hints(p, attr);
    if (row->encoding == BC_ENC_TAGGED)
        return p->tok.kind == BC_TOK_WORD && is_predicate(p->tok.name) ? parse_predicate(p, p->tok.name, attr)
                                                                       : bc_parse_attr(p, BC_I64, attr);
    return bc_is_punct(p, '[') ? bc_parse_attr(p, BC_I64, attr) : bc_expected(p, "'['");
}

bool bc_parse_row(bc_parser *p, const bc_row *row, bc_attr *out)
{
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_ENUM: return bc_parse_enum(p, (bc_enum_id)row->enum_id, &out->u);
    case BC_ENC_VARINT32:
    case BC_ENC_VARINT64: return parse_integer_row(p, row, &out->u);
    case BC_ENC_BOOL: return parse_bool_row(p, &out->u);
    case BC_ENC_STRING:
        return p->tok.kind == BC_TOK_AT ? bc_parse_symbol(p, &out->string) : bc_parse_string(p, &out->string);
    case BC_ENC_TAGGED:
    case BC_ENC_HINTS:
    case BC_ENC_ATTRS: return parse_tagged_row(p, row, &out->tagged);
    case BC_ENC_I32S:
    case BC_ENC_BOOLS: return parse_list(p, (bc_encoding)row->encoding, &out->ints);
    case BC_ENC_CONST:
    case BC_ENC_UNIT:
    case BC_ENC_NONE: break;
    }
    return true;
}
