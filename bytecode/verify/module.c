/* Rules of the module as a whole: names, kernels and their parameters, globals and their values, get_global, block
   coordinates. Source: format reference, sections 7 and 8; core operation reference, section 8. */
#include "bytecode/verify/verify.h"

/* ---- names: one space for globals and functions ---- */

/* Open addressing; a name's slot holds 1 + its number, globals first, then functions. */
static uint32_t name_hash(tv_str s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (uint8_t)s.ptr[i]) * 16777619u;
    return h ^ h >> 15;
}

static tv_str symbol_name(const bc_module *m, uint32_t number)
{
    return number < m->global_count ? m->globals[number].name->s : m->functions[number - m->global_count].name->s;
}

static uint32_t *find_symbol(const bc_verifier *v, tv_str name)
{
    size_t mask = v->symbol_slots - 1;
    size_t at = name_hash(name) & mask;
    while (v->symbols[at] && !bc_str_eq(symbol_name(v->m, v->symbols[at] - 1), name))
        at = (at + 1) & mask;
    return &v->symbols[at];
}

static bool new_symbols(bc_verifier *v)
{
    size_t count = v->m->global_count + v->m->function_count;
    v->symbol_slots = 8;
    while (v->symbol_slots < count * 2)
        v->symbol_slots *= 2;
    v->symbols = v->allocator.alloc(v->allocator.user, v->symbol_slots * sizeof *v->symbols);
    if (v->symbols)
        memset(v->symbols, 0, v->symbol_slots * sizeof *v->symbols);
    return v->symbols != NULL;
}

void bc_release_symbols(bc_verifier *v)
{
    if (v->symbols)
        v->allocator.release(v->allocator.user, v->symbols, v->symbol_slots * sizeof *v->symbols);
}

static void add_symbol(bc_verifier *v, uint32_t number, uint64_t offset)
{
    tv_str name = symbol_name(v->m, number);
    uint32_t *slot = find_symbol(v, name);
    if (*slot == 0)
        *slot = number + 1;
    else if (name.len) /* several empty names are reported one by one */
        bc_wrong_at(v, offset, BC_RULE_F_054, TV_ERROR, "'%.*s' is already the name of a %s", (int)name.len, name.ptr,
                    *slot - 1 < v->m->global_count ? "global" : "kernel");
}

bool bc_add_symbols(bc_verifier *v)
{
    if (!new_symbols(v)) {
        v->no_memory = true;
        return false;
    }
    uint32_t number = 0;
    for (size_t i = 0; i < v->m->global_count; i++)
        add_symbol(v, number++, v->m->globals[i].offset);
    for (size_t i = 0; i < v->m->function_count; i++)
        add_symbol(v, number++, v->m->functions[i].offset);
    return true;
}

/* ---- constants ---- */

bool bc_constant_size_fits(const bc_type *tile, size_t size)
{
    int64_t elements = bc_shape_elems(tile->shape, tile->rank);
    if (elements < 0)
        return false;
    if (tile->elem->kind == BC_I1)
        return size == ((size_t)elements + 7) / 8 || (size == 1 && elements > 8);
    size_t each = bc_kind_constant_bytes((bc_kind)tile->elem->kind);
    return size == each || size == each * (size_t)elements;
}

/* What the value of a tile takes, in words. */
static const char *size_words(bc_text *text, const bc_type *tile)
{
    int64_t elements = bc_shape_elems(tile->shape, tile->rank);
    unsigned each = bc_kind_constant_bytes((bc_kind)tile->elem->kind);
    if (tile->elem->kind == BC_I1)
        bc_text_printf(text, elements > 8 ? "1 or %lld" : "%lld", (long long)(elements + 7) / 8);
    else if (elements == 1)
        bc_text_printf(text, "%u", each);
    else
        bc_text_printf(text, "%u or %lld", each, (long long)elements * each);
    return bc_text_words(text);
}

void verify_constant(bc_verifier *v, const bc_op *op)
{
    const bc_blob *value = bc_attr_of(op, F_constant_value)->blob;
    const bc_type *t = bc_type_of(op, F_constant_result);
    if (TV_LIKELY(bc_constant_size_fits(t, value->len)))
        return;
    bc_text text;
    bc_text_init(&text, &v->allocator);
    bc_wrong(v, op, F_constant_value, 0, BC_RULE_F_048, "has %zu bytes; %s takes %s", value->len, bc_type_words(v, t),
             size_words(&text, t));
    bc_text_release(&text);
}

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
                size_words(&text, g->type));
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

void verify_get_global(bc_verifier *v, const bc_op *op)
{
    tv_str name = bc_attr_of(op, F_get_global_name)->string->s;
    uint32_t number = *find_symbol(v, name);
    if (number == 0 || number > v->m->global_count) {
        bc_wrong(v, op, F_get_global_name, 0, BC_RULE_F_089,
                 number     ? "'%.*s' is a kernel, not a global"
                 : name.len ? "'%.*s' is not the name of a global"
                            : "is empty%.*s",
                 (int)name.len, name.ptr);
        return;
    }
    const bc_type *global = v->m->globals[number - 1].type;
    const bc_type *pointer = bc_type_of(op, F_get_global_result);
    if (bc_is_tile(global) && global->elem != pointer->elem->elem)
        bc_wrong(v, op, F_get_global_result, 0, BC_RULE_V_GGL_02, "points to %s, but global '%.*s' holds %s",
                 bc_type_words(v, pointer->elem->elem), (int)name.len, name.ptr, bc_type_words(v, global->elem));
}

BC_VERIFY_NOTHING(get_tile_block_id)
BC_VERIFY_NOTHING(get_num_tile_blocks)

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

/* Compilers fail on other names, and verifiers take them. */
static void check_name(bc_verifier *v, const bc_function *f)
{
    if (f->name->s.len == 0)
        bc_wrong_function(v, BC_RULE_F_059, TV_ERROR, "has no name");
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
