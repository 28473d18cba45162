/* The assembler: modules, globals and entries; ops are in op.c. The module is built as one of the newest version
   and then made one of the version that was asked for, or of the lowest that can express it. */
#include "bytecode/parse/parse.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/write/convert.h"

enum { MAX_WRAPPERS = 4 }; /* module { module @name { ... } } */

static bool parse_items(bc_parser *p, unsigned depth);

/* ---- globals ---- */

static bool parse_visibility(bc_parser *p, uint8_t *out)
{
    uint64_t value = BC_SymbolVisibility_public;
    if (p->tok.kind == BC_TOK_WORD && bc_enum_parse(BC_ENUM_SymbolVisibility, p->tok.name)
        && !bc_parse_enum(p, BC_ENUM_SymbolVisibility, &value))
        return false;
    *out = (uint8_t)value;
    return true;
}

/* global private constant @name alignment = 16 <f32: 1.0> : tile<4xf32> */
static bool parse_global(bc_parser *p)
{
    bc_global g = {.offset = (uint32_t)(p->tok.ptr - p->text)};
    bc_literal literal;
    int64_t alignment = 0;
    bc_next(p);
    if (!parse_visibility(p, &g.visibility))
        return false;
    g.constant = bc_take_word(p, "constant");
    if (!bc_parse_symbol(p, &g.name))
        return false;
    if (bc_take_word(p, "alignment") && (!bc_expect_punct(p, '=') || !bc_parse_i64(p, &alignment)))
        return false;
    g.alignment = (uint64_t)alignment;
    uint32_t loc; /* globals have none */
    if (!bc_skip_literal(p, &literal) || !bc_expect_punct(p, ':') || !bc_parse_type(p, &g.type)
        || !bc_pack_literal(p, &literal, g.type, &g.value) || !bc_parse_location(p, &loc))
        return false;
    bc_module *m = p->m;
    bc_global *grown = bc_grow(&m->arena, m->globals, m->global_count, &m->global_capacity, bc_global);
    if (!grown)
        return bc_parse_no_memory(p);
    m->globals = grown;
    m->globals[m->global_count++] = g;
    return true;
}

/* ---- entries ---- */

/* -> type, or -> (types), onto the stack. Bytecode can say it, though no entry may return anything. */
static bool parse_results(bc_parser *p, uint32_t *out_count)
{
    *out_count = 0;
    if (p->tok.kind != BC_TOK_ARROW)
        return true;
    bc_next(p);
    if (bc_take_punct(p, '('))
        return (bc_is_punct(p, ')') || bc_parse_types(p, out_count)) && bc_expect_punct(p, ')');
    const bc_type *type;
    *out_count = 1;
    return bc_parse_type(p, &type) && bc_push_type(p, type);
}

/* The type of the function whose arguments are all on the stack and whose results lie at the end of that of types. */
static bool make_signature(bc_parser *p, const bc_token *at, uint32_t results, const bc_type **out)
{
    static const bc_type *const none[1];
    size_t base = p->type_count - results;
    for (size_t i = 0; i < p->arg_count; i++)
        if (!bc_push_type(p, p->args[i].type))
            return false;
    for (uint32_t i = 0; i < results; i++)
        if (!bc_push_type(p, p->types[base + i]))
            return false;
    bc_type t = {.kind = BC_FUNCTION,
                 .padding = BC_NO_PADDING,
                 .ptr_attr = BC_NO_PTR_ATTR,
                 .rank = (uint32_t)p->arg_count,
                 .result_count = results,
                 .members = p->type_count > base + results ? &p->types[base + results] : none};
    return bc_parse_add_type(p, at, &t, out);
}

static bool parse_hints(bc_parser *p, bc_function *f)
{
    if (!bc_take_word(p, "optimization_hints"))
        return true;
    bc_tagged *hints = bc_new(&p->m->arena, bc_tagged, 1);
    if (!hints)
        return bc_parse_no_memory(p);
    f->hints = hints;
    return bc_expect_punct(p, '=') && bc_parse_hints(p, hints);
}

/* A function has a place in the debug section when the text gives it a location, be it the unknown one. */
static void number_and_mark(bc_function *f)
{
    bc_function_number(f);
    for (const bc_op *op = f->body->first; op && !f->has_debug; op = bc_next_op(op, f->body))
        f->has_debug = op->loc != 0;
}

static bool add_function(bc_parser *p, const bc_function *f)
{
    bc_module *m = p->m;
    bc_function *grown = bc_grow(&m->arena, m->functions, m->function_count, &m->function_capacity, bc_function);
    if (!grown)
        return bc_parse_no_memory(p);
    m->functions = grown;
    m->functions[m->function_count++] = *f;
    m->has_debug_section |= f->has_debug;
    return true;
}

static bool parse_signature(bc_parser *p, bc_function *f)
{
    uint32_t results;
    bc_tagged attrs = {0};
    bc_token at = p->tok;
    if (!bc_parse_symbol(p, &f->name))
        return false;
    p->function = f;
    if (!bc_parse_arguments(p, &attrs) || !parse_results(p, &results) || !make_signature(p, &at, results, &f->type))
        return false;
    if (attrs.tag) {
        bc_tagged *kept = bc_new(&p->m->arena, bc_tagged, 1);
        if (!kept)
            return bc_parse_no_memory(p);
        *kept = attrs;
        f->arg_attrs = kept;
    }
    return parse_hints(p, f);
}

/* entry @name(%a: type) optimization_hints=<...> { ops } {attributes} loc(...); bytecode does not hold the attributes
 */
static bool parse_plain_entry(bc_parser *p, bc_function *f)
{
    bc_tagged attrs;
    if (bc_take_word(p, "private"))
        f->flags |= BC_FUNC_PRIVATE;
    return parse_signature(p, f) && bc_parse_region(p, 0, OP_return, false, &f->body)
           && (!bc_is_punct(p, '{') || bc_parse_attr(p, BC_I64, &attrs));
}

static bool parse_entry(bc_parser *p)
{
    bc_function f = {.offset = (uint32_t)(p->tok.ptr - p->text), .flags = BC_FUNC_KERNEL};
    bool generic = p->tok.kind == BC_TOK_STRING;
    bc_next(p);
    bool good = generic ? bc_parse_generic_entry(p, &f) : parse_plain_entry(p, &f);
    f.has_debug = bc_is_word(p, "loc");
    good = good && bc_parse_location(p, &f.loc);
    p->function = NULL;
    if (!good)
        return false;
    if (p->errors)
        return true;
    bc_locate_implied(f.body, f.loc);
    number_and_mark(&f);
    return add_function(p, &f);
}

/* ---- the module ---- */

static bool parse_braced_items(bc_parser *p, unsigned depth)
{
    return bc_expect_punct(p, '{') && parse_items(p, depth + 1) && bc_expect_punct(p, '}');
}

/* @name attributes { } { items } */
static bool parse_module(bc_parser *p, unsigned depth)
{
    const bc_string *name;
    if (p->tok.kind == BC_TOK_AT && !bc_parse_symbol(p, &name))
        return false;
    if (bc_take_word(p, "attributes")) {
        bc_tagged attrs;
        if (!bc_is_punct(p, '{'))
            return bc_expected(p, "'{'");
        if (!bc_parse_attr(p, BC_I64, &attrs))
            return false;
    }
    return parse_braced_items(p, depth);
}

static bool parse_generic_module(bc_parser *p, unsigned depth)
{
    bc_dict properties;
    return bc_parse_item_head(p, &properties) && parse_braced_items(p, depth) && bc_parse_item_tail(p);
}

/* module, cuda_tile.module, builtin.module, in either form. Bytecode holds neither name nor properties. */
static bool parse_wrapper(bc_parser *p, unsigned depth)
{
    uint32_t loc;
    bool generic = p->tok.kind == BC_TOK_STRING;
    bc_next(p);
    if (depth == MAX_WRAPPERS)
        return bc_parse_fail(p, BC_RULE_A_012, &p->tok, "modules are nested deeper than %d", MAX_WRAPPERS);
    return (generic ? parse_generic_module(p, depth) : parse_module(p, depth)) && bc_parse_location(p, &loc);
}

static bool is_module(tv_str word)
{
    return bc_str_is(word, "module") || bc_str_is(word, "builtin.module");
}

static bool parse_item(bc_parser *p, unsigned depth)
{
    if (p->tok.kind == BC_TOK_HASH || p->tok.kind == BC_TOK_BANG)
        return bc_parse_alias(p);
    bool generic = p->tok.kind == BC_TOK_STRING;
    if (p->tok.kind != BC_TOK_WORD && !generic)
        return bc_expected(p, "'entry', 'global' or 'module'");
    tv_str word = bc_without_prefix(p->tok.name);
    if (bc_str_is(word, "entry"))
        return parse_entry(p);
    if (bc_str_is(word, "global") && !generic)
        return parse_global(p);
    if (is_module(word))
        return parse_wrapper(p, depth);
    return bc_parse_fail(p, BC_RULE_A_003, &p->tok, "'%.*s' cannot stand outside an entry", BC_STR(word));
}

/* Nothing else is called so, whatever braces may be missing before it. */
static bool may_start_item(const bc_parser *p, unsigned braces)
{
    (void)braces;
    tv_str word = bc_without_prefix(p->tok.name);
    return (p->tok.kind == BC_TOK_WORD || p->tok.kind == BC_TOK_STRING) && p->tok.first_on_line
           && (bc_str_is(word, "entry") || bc_str_is(word, "global") || is_module(word));
}

static bool parse_items(bc_parser *p, unsigned depth)
{
    while (p->tok.kind != BC_TOK_END && !bc_is_punct(p, '}')) {
        const char *start = p->tok.ptr;
        if (!parse_item(p, depth))
            bc_recover(p, start, may_start_item);
        bc_scope_unwind(&p->names, 0);
        p->value_count = p->type_count = p->arg_count = p->result_count = p->size_count = 0;
        p->region_depth = p->type_depth = p->attr_depth = p->debug_depth = 0;
        p->function = NULL;
        p->op = NULL;
    }
    return true;
}

static void parse_text(bc_parser *p)
{
    if (!bc_find_aliases(p))
        return;
    while (parse_items(p, 0) && p->tok.kind != BC_TOK_END) {
        bc_expected(p, "'entry', 'global' or 'module'"); /* a } too many */
        p->panic = false;
        bc_next(p);
    }
}

static tv_status usage(tv_sink sink, unsigned minor)
{
    char message[64];
    int len = snprintf(message, sizeof message, "there is no version 13.%u", minor);
    tv_diag diag = {.severity = TV_ERROR,
                    .rule = bc_rules[BC_RULE_A_016].id,
                    .offset = TV_NO_OFFSET,
                    .message = {message, (size_t)len}};
    if (sink.report)
        sink.report(sink.user, &diag);
    return TV_USAGE;
}

/* Gives the module its version and its tables the order that an export would make. */
static tv_status finish(bc_module *m, unsigned minor, tv_sink sink)
{
    bc_version version = (bc_version)minor;
    TV_TRY(bc_module_compact(m));
    if (!minor)
        TV_TRY(bc_lowest_version(m, &version));
    return tv_module_convert(m, (unsigned)version, sink);
}

static tv_status parse_whole(const char *text, size_t size, unsigned minor, const tv_open_options *options,
                             tv_sink sink, tv_module **out_module)
{
    if (minor > BC_NEWEST)
        return usage(sink, minor);
    bc_module *m = bc_module_new(options, BC_NEWEST);
    if (!m)
        return TV_NO_MEMORY;
    m->from_text = true;
    bc_parser p = {.m = m, .sink = sink, .text = text, .end = text + size, .at = text};
    bc_arena_init(&p.scratch, &m->arena.allocator, options ? options->memory_limit : 0);
    p.formats.arena = p.names.arena = p.aliases.arena = &p.scratch;
    tv_status status = TV_OK;
    if (size > UINT32_MAX)
        bc_parse_fail(&p, BC_RULE_A_014, &(bc_token){.ptr = text}, "the text is larger than 4 GiB");
    else
        parse_text(&p);
    bc_arena_release(&p.scratch);
    if (p.no_memory)
        status = TV_NO_MEMORY;
    else if (p.errors)
        status = TV_INVALID;
    else
        status = finish(m, minor, sink);
    if (status != TV_OK) {
        tv_module_close(m);
        return status;
    }
    *out_module = m;
    return TV_OK;
}

tv_status tv_module_parse(const char *text, size_t size, unsigned minor, const tv_open_options *options, tv_sink sink,
                          tv_module **out_module)
{
    TV_RETURN_COMPUTED(parse_whole(text, size, minor, options, sink, out_module));
}
