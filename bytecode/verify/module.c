/* Rules of the module as a whole: globals and their values, kernels and their parameters. Source: format reference,
   sections 7 and 8. */
#include "bytecode/verify/verify.h"

/* ---- globals ---- */

static void check_global_value(bc_verifier *v, const bc_global *g)
{
    if (!bc_is_tile(g->type) || !bc_kind_in((bc_kind)g->type->elem->kind, BC_SET_NUMBER)) {
        bc_wrong_at(v, g->offset, BC_RULE_F_047, TV_ERROR,
                    "global '%.*s' is %s; it must be a tile of integers or floats", (int)g->name->s.len, g->name->s.ptr,
                    bc_type_words(v, g->type));
        return;
    }
    if (g->type->rank != 1)
        bc_wrong_at(v, g->offset, BC_RULE_F_055, TV_ERROR, "global '%.*s' is %s; it must have one dimension",
                    (int)g->name->s.len, g->name->s.ptr, bc_type_words(v, g->type));
    if (bc_constant_size_fits(g->type, g->value->len))
        return;
    bc_text text;
    bc_text_init(&text, &v->allocator);
    bc_wrong_at(v, g->offset, BC_RULE_F_048, TV_ERROR, "the value of global '%.*s' has %zu bytes; %s takes %s",
                (int)g->name->s.len, g->name->s.ptr, g->value->len, bc_type_words(v, g->type),
                bc_constant_size_words(&text, g->type));
    bc_text_release(&text);
}

static void check_global(bc_verifier *v, const bc_global *g)
{
    if (g->name->s.len == 0)
        bc_wrong_at(v, g->offset, BC_RULE_F_051, TV_ERROR, "a global has no name");
    if (bc_check_global_type(v, g))
        check_global_value(v, g);
    if (g->alignment & (g->alignment - 1))
        bc_wrong_at(v, g->offset, BC_RULE_V_GLB_04, v->strict ? TV_ERROR : TV_WARNING,
                    "global '%.*s' is aligned to %llu bytes, which is no power of two", (int)g->name->s.len,
                    g->name->s.ptr, (unsigned long long)g->alignment);
    if ((g->constant || g->visibility != BC_SymbolVisibility_public) && v->m->version < BC_13_3)
        bc_wrong_at(v, g->offset, BC_RULE_W_01, TV_ERROR,
                    "global '%.*s' is %s, which needs version 13.3; the module is 13.%d", (int)g->name->s.len,
                    g->name->s.ptr, g->constant ? "constant" : "private", v->m->version);
}

/* ---- kernels ---- */

static bool is_identifier(tv_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return s.len > 0;
}

/* Compilers fail on other names, and verifiers take them; but a zero byte ends a name where C programs look for it, and
   the kernel would be found by another one. */
static void check_name(bc_verifier *v, const bc_function *f)
{
    if (f->name->s.len == 0)
        bc_wrong_function(v, BC_RULE_F_059, TV_ERROR, "has no name");
    else if (memchr(f->name->s.ptr, 0, f->name->s.len))
        bc_wrong_function(v, BC_RULE_V_ENT_08, TV_ERROR, "has a name with a zero byte");
    else if (!is_identifier(f->name->s))
        bc_wrong_function(v, BC_RULE_V_ENT_08, v->strict || v->reference ? TV_ERROR : TV_WARNING,
                          "has a name that is no identifier");
}

/* One report for each run of parameters of one wrong type. */
static void check_signature(bc_verifier *v, const bc_function *f)
{
    if (f->type->result_count)
        bc_wrong_function(v, BC_RULE_V_ENT_01, TV_ERROR, "has %u result%s; a kernel has none", f->type->result_count,
                          bc_plural(f->type->result_count));
    const bc_type *reported = NULL;
    for (uint32_t i = 0; i < f->type->rank; i++) {
        const bc_type *t = f->type->members[i];
        if (!bc_check_type(v, NULL, BC_NO_ROW, i, t) || bc_is_scalar(t))
            continue;
        if (t != reported)
            bc_wrong_function(v, BC_RULE_V_ENT_02, TV_ERROR,
                              "parameter %u is %s; a parameter is a tile without dimensions", i, bc_type_words(v, t));
        reported = t;
        if (f->body)
            bc_suspect_value(v, &f->body->args[i]);
    }
}

static void check_attributes(bc_verifier *v, const bc_function *f)
{
    bc_check_entry_hints(v, f);
    for (uint32_t i = 0; f->arg_attrs && i < f->arg_attrs->u.array.count; i++)
        if (f->arg_attrs->u.array.items[i].tag != BC_TAG_DICTIONARY)
            bc_wrong_function(v, BC_RULE_F_067, TV_ERROR, "has argument attributes %u that are no dictionary", i);
}

static void check_body_end(bc_verifier *v, const bc_function *f)
{
    const bc_op *last = f->body ? f->body->last : NULL;
    if (!last || !(bc_info(last)->traits & BC_TERMINATOR))
        bc_wrong_function(v, BC_RULE_F_087, TV_ERROR, "must end with return");
    else if (last->opcode != OP_return)
        bc_wrong(v, last, BC_NO_ROW, 0, BC_RULE_V_ENT_04, "ends the kernel; only return can");
}

static void check_function(bc_verifier *v, const bc_function *f)
{
    unsigned errors = v->errors;
    v->function = f;
    v->refused = 0;
    check_name(v, f);
    if (f->flags & BC_FUNC_PRIVATE)
        bc_wrong_function(v, BC_RULE_F_066, TV_ERROR, "is private; the host could not find it");
    check_signature(v, f);
    check_attributes(v, f);
    bc_check_debug_function(v, f);
    bc_check_body(v, f);
    check_body_end(v, f);
    if (v->errors == errors)
        bc_check_tokens(v, f);
    v->function = NULL;
}

void bc_check_module(bc_verifier *v)
{
    bc_check_target_name(v);
    if (!bc_add_symbols(v))
        return;
    for (size_t i = 0; i < v->m->global_count && !v->done; i++)
        check_global(v, &v->m->globals[i]);
    for (size_t i = 0; i < v->m->function_count && !v->done; i++)
        check_function(v, &v->m->functions[i]);
    if (v->strict)
        bc_check_unused_types(v);
}
