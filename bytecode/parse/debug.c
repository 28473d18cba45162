/* Aliases and locations. Aliases are found and parsed before the ops, in the order of the text; printed modules define
   them in an order in which none refers to a later one, so that nothing has to be looked up recursively. */
#include <string.h>

#include "bytecode/parse/parse.h"

enum { MAX_NESTING = 100 }; /* of locations in one piece of text, and of references to later aliases */

/* ---- aliases ---- */

/* `#name =` at the start of a line, p->at being there. */
static bool find_alias(bc_parser *p)
{
    bc_next(p);
    bc_token name = p->tok;
    if (name.kind != BC_TOK_HASH && name.kind != BC_TOK_BANG)
        return true;
    bc_next(p);
    if (!bc_is_punct(p, '='))
        return true;
    tv_str key = {name.ptr, name.len};
    if (bc_scope_find(&p->aliases, key)) {
        bc_parse_fail(p, BC_RULE_A_007, &name, "the alias '%.*s' is defined twice", BC_STR(key));
        p->panic = false;
        return true;
    }
    bc_alias *alias = bc_new(&p->scratch, bc_alias, 1);
    if (!alias || !bc_scope_add(&p->aliases, key, alias, 0))
        return bc_parse_no_memory(p);
    alias->name = name;
    alias->body = p->at;
    return true;
}

static bool find_all(bc_parser *p)
{
    const char *line = p->text;
    while (line && line < p->end) {
        while (line < p->end && (*line == ' ' || *line == '\t'))
            line++;
        p->at = line;
        if (line < p->end && (*line == '#' || *line == '!') && !find_alias(p))
            return false;
        line = memchr(line, '\n', (size_t)(p->end - line));
        line = line ? line + 1 : NULL;
    }
    return true;
}

bool bc_find_aliases(bc_parser *p)
{
    if (!find_all(p))
        return false;
    for (size_t i = 0; i < p->aliases.count; i++) {
        bool failed = false;
        const bc_alias *alias = p->aliases.bindings[i].value;
        bc_alias_get(p, &alias->name, &failed);
        p->panic = false;
    }
    bc_go_to(p, p->text);
    return !p->no_memory;
}

static bool at_debug_attr(const bc_parser *p)
{
    tv_str word = bc_without_prefix(p->tok.name);
    return bc_is_word(p, "loc")
           || (p->tok.kind == BC_TOK_HASH && word.len > 3 && word.len < p->tok.name.len
               && memcmp(word.ptr, "di_", 3) == 0);
}

static bool at_alias(const bc_parser *p)
{
    return p->tok.kind == BC_TOK_HASH && bc_without_prefix(p->tok.name).len == p->tok.name.len;
}

/* An alias for another one. */
static bool copy_alias(bc_parser *p, bc_alias *alias)
{
    bool failed = false;
    bc_token at = p->tok;
    const bc_alias *other = bc_alias_get(p, &at, &failed);
    if (!other)
        return failed ? false : bc_parse_fail(p, BC_RULE_A_011, &at, "there is no alias '#%.*s'", BC_STR(at.name));
    alias->kind = other->kind;
    alias->attr = other->attr;
    alias->debug = other->debug;
    bc_next(p);
    return true;
}

static bool parse_body(bc_parser *p, bc_alias *alias)
{
    if (alias->name.kind == BC_TOK_BANG) {
        alias->kind = BC_ALIAS_TYPE;
        return bc_parse_type(p, &alias->type);
    }
    if (at_debug_attr(p)) {
        alias->kind = BC_ALIAS_DEBUG;
        return bc_parse_debug(p, &alias->debug);
    }
    if (at_alias(p))
        return copy_alias(p, alias);
    alias->kind = BC_ALIAS_ATTR;
    p->in_attr_alias = true;
    bool good = bc_parse_attr(p, BC_I64, &alias->attr);
    p->in_attr_alias = false;
    return good;
}

static void resolve(bc_parser *p, bc_alias *alias)
{
    bc_token tok = p->tok;
    const char *at = p->at;
    alias->state = BC_ALIAS_BUSY;
    p->debug_depth++;
    bc_go_to(p, alias->body);
    bool good = parse_body(p, alias);
    alias->end = p->tok.ptr;
    p->debug_depth--;
    alias->state = good ? BC_ALIAS_DONE : BC_ALIAS_FAILED;
    p->tok = tok;
    p->at = at;
}

bc_alias *bc_alias_get(bc_parser *p, const bc_token *name, bool *out_failed)
{
    bc_binding *found = bc_scope_find(&p->aliases, (tv_str){name->ptr, name->len});
    if (!found)
        return NULL;
    bc_alias *alias = found->value;
    if (alias->state == BC_ALIAS_BUSY)
        bc_parse_fail(p, BC_RULE_A_011, name, "the alias '%.*s' is made of itself", (int)name->len, name->ptr);
    else if (alias->state == BC_ALIAS_FRESH && p->debug_depth >= MAX_NESTING)
        bc_parse_fail(p, BC_RULE_A_012, name, "more than %d aliases refer to later ones in a row", MAX_NESTING);
    else if (alias->state == BC_ALIAS_FRESH)
        resolve(p, alias);
    *out_failed = alias->state != BC_ALIAS_DONE;
    return *out_failed ? NULL : alias;
}

/* Where the text defines an alias: it is known already, so only its end matters. */
bool bc_parse_alias(bc_parser *p)
{
    bc_token name = p->tok;
    bool failed = false;
    const bc_alias *alias = bc_alias_get(p, &name, &failed);
    if (failed) {
        p->panic = true; /* reported when it was resolved */
        return false;
    }
    if (!alias || alias->name.ptr != name.ptr) {
        p->panic = alias && name.first_on_line; /* reported when all aliases were found */
        return bc_parse_fail(p, BC_RULE_A_001, &name, "an alias is defined at the start of a line");
    }
    bc_go_to(p, alias->end);
    return true;
}

/* ---- debug attributes ---- */

static bool parse_instance(bc_parser *p, bc_debug_value *out);

/* The member that bytecode cannot do without and that the text left out or gave as loc(unknown); NULL: none. */
static const char *missing_member(const bc_parser *p, const bc_di *d)
{
    static const struct {
        const char *a, *b;
    } needed[BC_DI_TAG_COUNT] = {[BC_DI_COMPILE_UNIT] = {"file", NULL},
                                 [BC_DI_LEXICAL_BLOCK] = {"scope", "file"},
                                 [BC_DI_LOC] = {"scope", NULL},
                                 [BC_DI_SUBPROGRAM] = {"file", "compileUnit"}};
    const bc_di *debug = p->m->debug;
    if (needed[d->tag].a && (!d->a || debug[d->a - 1].tag == BC_DI_UNKNOWN))
        return needed[d->tag].a;
    return needed[d->tag].b && (!d->b || debug[d->b - 1].tag == BC_DI_UNKNOWN) ? needed[d->tag].b : NULL;
}

/* Adds the attribute and notes how deep it is nested, which later readers bound. */
static bool add_debug(bc_parser *p, const bc_token *at, const bc_di *d, bc_debug_value *out)
{
    unsigned a = d->a ? p->debug_chain[d->a - 1] : 0u, b = d->b ? p->debug_chain[d->b - 1] : 0u;
    unsigned chain = (a > b ? a : b) + 1;
    const char *missing = missing_member(p, d);
    if (missing)
        return bc_parse_fail(p, BC_RULE_A_013, at, "this debug attribute needs its %s", missing);
    if (chain > BC_MAX_DEBUG_CHAIN)
        return bc_parse_fail(p, BC_RULE_A_012, at, "debug attributes are nested deeper than %d", BC_MAX_DEBUG_CHAIN);
    size_t count = p->m->debug_count;
    uint16_t *grown = bc_grow(&p->scratch, p->debug_chain, count, &p->debug_chain_capacity, uint16_t);
    out->ref = grown ? bc_di_add(p->m, d) : 0;
    if (!out->ref)
        return bc_parse_no_memory(p);
    p->debug_chain = grown;
    if (p->m->debug_count > count)
        p->debug_chain[count] = (uint16_t)chain;
    return true;
}

/* A reference to a debug attribute of one of the tags, or to nothing (loc(unknown)). */
static bool parse_reference(bc_parser *p, bc_di_tag tag, unsigned tags, const char *what, uint32_t *out);

static bool parse_u32(bc_parser *p, const char *what, uint32_t *out)
{
    int64_t value;
    if (!bc_parse_range(p, what, 0, UINT32_MAX, &value))
        return false;
    *out = (uint32_t)value;
    return true;
}

enum {
    TAG_FILE = 1 << BC_DI_FILE,
    TAG_UNIT = 1 << BC_DI_COMPILE_UNIT,
    TAG_SCOPE = 1 << BC_DI_SUBPROGRAM | 1 << BC_DI_LEXICAL_BLOCK
};

/* One `key = value` of a debug attribute written as a struct. */
static bool parse_member(bc_parser *p, bc_di *d)
{
    bc_token key = p->tok;
    if (key.kind != BC_TOK_WORD)
        return bc_expected(p, "the name of a member");
    bc_next(p);
    if (!bc_expect_punct(p, '='))
        return false;
    bool subprogram = d->tag == BC_DI_SUBPROGRAM, block = d->tag == BC_DI_LEXICAL_BLOCK;
    if (bc_str_is(key.name, "file"))
        return parse_reference(p, BC_DI_FILE, TAG_FILE, "a di_file", block ? &d->b : &d->a);
    if (bc_str_is(key.name, "scope") && block)
        return parse_reference(p, BC_DI_SUBPROGRAM, TAG_SCOPE, "a di_subprogram or di_lexical_block", &d->a);
    if (bc_str_is(key.name, "compileUnit") && subprogram)
        return parse_reference(p, BC_DI_COMPILE_UNIT, TAG_UNIT, "a di_compile_unit", &d->b);
    if (bc_str_is(key.name, "line") && (subprogram || block))
        return parse_u32(p, "the line", &d->line);
    if ((bc_str_is(key.name, "scopeLine") && subprogram) || (bc_str_is(key.name, "column") && block))
        return parse_u32(p, "the line or column", &d->column);
    if (bc_str_is(key.name, "flags") && subprogram) {
        d->flags = BC_DI_DECLARATION;
        return bc_take_word(p, "declaration") || parse_u32(p, "the flags", &d->flags);
    }
    if (bc_str_is(key.name, "name") && subprogram)
        return bc_parse_string(p, &d->name);
    if (bc_str_is(key.name, "linkageName") && subprogram)
        return bc_parse_string(p, &d->other);
    return bc_parse_fail(p, BC_RULE_A_005, &key, "'%.*s' is no member of this debug attribute", BC_STR(key.name));
}

static bool add_empty_strings(bc_parser *p, bc_di *d)
{
    if (!d->name)
        d->name = bc_string_add(p->m, (tv_str){"", 0}, true);
    if (!d->other)
        d->other = bc_string_add(p->m, (tv_str){"", 0}, true);
    return (d->name && d->other) || bc_parse_no_memory(p);
}

/* <"file" in "directory"> */
static bool parse_file(bc_parser *p, bc_di *d)
{
    return bc_parse_string(p, &d->name) && bc_expect_word(p, "in") && bc_parse_string(p, &d->other);
}

/* <#loc in #scope> */
static bool parse_di_loc(bc_parser *p, bc_di *d)
{
    bc_debug_value place = {0};
    bc_token at = p->tok;
    if (!parse_instance(p, &place))
        return false;
    if (!place.file)
        return bc_parse_fail(p, BC_RULE_A_013, &at, "a di_loc is made of a place, loc(\"file\":line:column)");
    d->name = place.file;
    d->line = place.line;
    d->column = place.column;
    return bc_expect_word(p, "in")
           && parse_reference(p, BC_DI_SUBPROGRAM, TAG_SCOPE, "a di_subprogram or di_lexical_block", &d->a);
}

/* What stands between < and > of a debug attribute. */
static bool parse_di(bc_parser *p, bc_di_tag tag, bc_debug_value *out)
{
    bc_di d = {.tag = (uint8_t)tag};
    bc_token at = p->tok;
    if (!bc_expect_punct(p, '<'))
        return false;
    bool good = true;
    if (tag == BC_DI_FILE)
        good = parse_file(p, &d);
    else if (tag == BC_DI_LOC)
        good = parse_di_loc(p, &d);
    else
        do {
            good = parse_member(p, &d);
        } while (good && bc_take_punct(p, ','));
    if (good && tag == BC_DI_SUBPROGRAM)
        good = add_empty_strings(p, &d);
    out->is_location = tag == BC_DI_LOC;
    return good && bc_expect_punct(p, '>') && add_debug(p, &at, &d, out);
}

static bool parse_dialect_debug(bc_parser *p, bc_debug_value *out)
{
    static const struct {
        const char *word;
        bc_di_tag tag;
    } attrs[] = {{"di_compile_unit", BC_DI_COMPILE_UNIT},
                 {"di_file", BC_DI_FILE},
                 {"di_loc", BC_DI_LOC},
                 {"di_lexical_block", BC_DI_LEXICAL_BLOCK},
                 {"di_subprogram", BC_DI_SUBPROGRAM}};
    bc_token at = p->tok;
    bc_next(p);
    for (size_t i = 0; i < TV_COUNT(attrs); i++)
        if (bc_str_is(bc_without_prefix(at.name), attrs[i].word))
            return parse_di(p, attrs[i].tag, out);
    return bc_parse_fail(p, BC_RULE_A_005, &at, "'#%.*s' is no debug attribute", BC_STR(at.name));
}

static bool parse_debug_alias(bc_parser *p, bc_debug_value *out)
{
    bool failed = false;
    bc_token at = p->tok;
    const bc_alias *alias = bc_alias_get(p, &at, &failed);
    if (failed)
        return false;
    if (!alias || alias->kind != BC_ALIAS_DEBUG)
        return bc_parse_fail(p, BC_RULE_A_011, &at, "there is no location or debug attribute '#%.*s'", BC_STR(at.name));
    *out = alias->debug;
    bc_next(p);
    return true;
}

static bool parse_reference(bc_parser *p, bc_di_tag tag, unsigned tags, const char *what, uint32_t *out)
{
    bc_debug_value value = {0};
    bc_token at = p->tok;
    if (p->debug_depth >= MAX_NESTING)
        return bc_parse_fail(p, BC_RULE_A_012, &at, "debug attributes are nested deeper than %d", MAX_NESTING);
    p->debug_depth++;
    bool good = bc_is_punct(p, '<') ? parse_di(p, tag, &value) : bc_parse_debug(p, &value);
    p->debug_depth--;
    if (!good)
        return false;
    if (value.file || (value.ref && !(tags >> p->m->debug[value.ref - 1].tag & 1)))
        return bc_parse_fail(p, BC_RULE_A_013, &at, "expected %s", what);
    *out = value.ref;
    return true;
}

/* ---- locations ---- */

/* "file":line:column, with an end that bytecode cannot hold; or "name"(location). */
static bool parse_place(bc_parser *p, bc_debug_value *out)
{
    const bc_string *text;
    int64_t ignored;
    if (!bc_parse_string(p, &text))
        return false;
    if (bc_take_punct(p, '('))
        return parse_instance(p, out) && bc_expect_punct(p, ')');
    if (!bc_take_punct(p, ':'))
        return true;
    out->file = text;
    if (!parse_u32(p, "the line", &out->line) || !bc_expect_punct(p, ':') || !parse_u32(p, "the column", &out->column))
        return false;
    if (!bc_take_word(p, "to"))
        return true;
    if (!bc_is_punct(p, ':') && !bc_parse_range(p, "the line", 0, UINT32_MAX, &ignored))
        return false;
    return bc_expect_punct(p, ':') && bc_parse_range(p, "the column", 0, UINT32_MAX, &ignored);
}

static bool parse_callsite(bc_parser *p, bc_debug_value *out)
{
    bc_token at = p->tok;
    bc_debug_value callee = {0}, caller = {0};
    if (!bc_expect_punct(p, '(') || !parse_instance(p, &callee) || !bc_expect_word(p, "at")
        || !parse_instance(p, &caller) || !bc_expect_punct(p, ')'))
        return false;
    bc_di d = {.tag = BC_DI_CALL_SITE, .a = callee.ref, .b = caller.ref};
    return add_debug(p, &at, &d, out);
}

/* fused[a, b]: bytecode holds one location, so the first that says something is taken. */
static bool parse_fused(bc_parser *p, bc_debug_value *out)
{
    if (bc_take_punct(p, '<')) {
        bc_tagged metadata;
        if (!bc_parse_attr(p, BC_I64, &metadata) || !bc_expect_punct(p, '>'))
            return false;
    }
    if (!bc_expect_punct(p, '['))
        return false;
    do {
        bc_debug_value one = {0};
        if (!parse_instance(p, &one))
            return false;
        if (!out->ref && one.ref)
            *out = one;
    } while (bc_take_punct(p, ','));
    return bc_expect_punct(p, ']');
}

static bool parse_any_instance(bc_parser *p, bc_debug_value *out)
{
    out->is_location = true;
    if (bc_take_word(p, "unknown"))
        return true;
    if (p->tok.kind == BC_TOK_STRING)
        return parse_place(p, out);
    if (bc_take_word(p, "callsite"))
        return parse_callsite(p, out);
    if (bc_take_word(p, "fused"))
        return parse_fused(p, out);
    if (p->tok.kind != BC_TOK_HASH && !bc_is_word(p, "loc"))
        return bc_expected(p, "a location");
    bc_token at = p->tok;
    if (!bc_parse_debug(p, out))
        return false;
    if (!out->is_location)
        return bc_parse_fail(p, BC_RULE_A_013, &at, "this is a debug attribute, but no location");
    return true;
}

static bool parse_instance(bc_parser *p, bc_debug_value *out)
{
    if (p->debug_depth >= MAX_NESTING)
        return bc_parse_fail(p, BC_RULE_A_012, &p->tok, "locations are nested deeper than %d", MAX_NESTING);
    p->debug_depth++;
    bool good = parse_any_instance(p, out);
    p->debug_depth--;
    return good;
}

bool bc_parse_debug(bc_parser *p, bc_debug_value *out)
{
    if (bc_take_word(p, "loc"))
        return bc_expect_punct(p, '(') && parse_instance(p, out) && bc_expect_punct(p, ')');
    if (p->tok.kind != BC_TOK_HASH)
        return bc_expected(p, "a location or debug attribute");
    return at_alias(p) ? parse_debug_alias(p, out) : parse_dialect_debug(p, out);
}

bool bc_parse_location(bc_parser *p, uint32_t *out)
{
    if (!bc_is_word(p, "loc"))
        return true;
    bc_debug_value value = {0};
    bc_token at = p->tok;
    if (!bc_parse_debug(p, &value))
        return false;
    if (!value.is_location)
        return bc_parse_fail(p, BC_RULE_A_013, &at, "this is a debug attribute, but no location");
    *out = value.ref;
    return true;
}
