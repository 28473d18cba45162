/* The names of a module, and the ops that refer to constants, globals and the grid. Source: format reference, sections
   7 and 8; core operation reference, section 8. */
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

const char *bc_constant_size_words(bc_text *text, const bc_type *tile)
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
             bc_constant_size_words(&text, t));
    bc_text_release(&text);
}

/* ---- get_global, block coordinates ---- */

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
