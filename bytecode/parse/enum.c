/* Values of enumerations: a word, #cuda_tile.name<word>, or a number. */
#include "bytecode/parse/parse.h"
#include "bytecode/print/print.h"

bool bc_at_enum(const bc_parser *p, bc_enum_id id)
{
    return p->tok.kind == BC_TOK_HASH || (p->tok.kind == BC_TOK_WORD && bc_enum_parse(id, p->tok.name));
}

static bool unknown_word(bc_parser *p, bc_enum_id id)
{
    bc_text words;
    bc_text_init(&words, &p->m->arena.allocator);
    for (unsigned i = 0; bc_enum_at(id, i); i++)
        bc_text_printf(&words, "%s%s", i ? ", " : "", bc_enum_at(id, i)->text);
    bool known = p->tok.kind == BC_TOK_WORD;
    if (known)
        bc_parse_fail(p, BC_RULE_A_005, &p->tok, "'%.*s' is none of %s", BC_STR(p->tok.name), bc_text_words(&words));
    else
        bc_expected(p, bc_text_words(&words));
    bc_text_release(&words);
    return false;
}

static bool parse_enum_word(bc_parser *p, bc_enum_id id, uint64_t *out)
{
    const bc_enum_value *value = p->tok.kind == BC_TOK_WORD ? bc_enum_parse(id, p->tok.name) : NULL;
    if (!value)
        return unknown_word(p, id);
    *out = value->number;
    bc_next(p);
    return true;
}

static bool is_enum_word(bc_parser *p, tv_str word, bc_enum_id id)
{
    bc_text name;
    bc_text_init(&name, &p->m->arena.allocator);
    bc_print_enum_word(&name, id);
    bool same = bc_str_eq(word, bc_text_get(&name));
    p->no_memory |= name.failed;
    bc_text_release(&name);
    return same;
}

static bool parse_enum_number(bc_parser *p, bc_enum_id id, uint64_t *out)
{
    bc_token at = p->tok;
    int64_t number;
    const bc_type *type;
    if (!bc_parse_i64(p, &number) || (bc_take_punct(p, ':') && !bc_parse_type(p, &type)))
        return false;
    if (number < 0 || !bc_enum_find(id, (uint64_t)number))
        return bc_parse_fail(p, BC_RULE_A_005, &at, "%lld is no value of %s", (long long)number, bc_enum_name(id));
    *out = (uint64_t)number;
    return true;
}

bool bc_parse_enum(bc_parser *p, bc_enum_id id, uint64_t *out)
{
    tv_str word;
    if (p->tok.kind == BC_TOK_INT)
        return parse_enum_number(p, id, out);
    if (p->tok.kind != BC_TOK_HASH)
        return parse_enum_word(p, id, out);
    if (!bc_at_dialect_attr(p, &word) || !is_enum_word(p, word, id))
        return unknown_word(p, id);
    bc_next(p);
    return bc_expect_punct(p, '<') && parse_enum_word(p, id, out) && bc_expect_punct(p, '>');
}
