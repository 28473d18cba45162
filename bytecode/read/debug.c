/* The debug section: slots of functions and ops, and the attributes they point at. Ranges, kinds of references and
   cycles are checked here, so walking debug attributes is safe afterwards. Source: format reference, section 9. */
#include "bytecode/read/read.h"

static const char *const tag_names[BC_DI_TAG_COUNT] = {
    "unknown", "di_compile_unit", "di_file", "di_lexical_block", "di_loc", "di_subprogram", "callsite",
};

static tv_status read_reference(bc_reader *r, bc_cursor *c, const char *noun, uint32_t *out)
{
    *out = (uint32_t)bc_index(c, r->m->debug_count + 1, BC_RULE_F_097, noun);
    return bc_check(r, c);
}

static uint32_t read_u32(bc_cursor *c, const char *noun)
{
    return (uint32_t)bc_index(c, (uint64_t)UINT32_MAX + 1, BC_RULE_F_097, noun);
}

static tv_status read_attribute(bc_reader *r, bc_cursor *c, bc_di *d)
{
    d->offset = (uint32_t)bc_cursor_offset(c);
    uint64_t tag = bc_varint(c, "debug tag");
    if (tag >= BC_DI_TAG_COUNT) {
        if (r->m->strict)
            return bc_fail(r, BC_RULE_F_098, d->offset, "unknown debug tag %llu", (unsigned long long)tag);
        tag = BC_DI_UNKNOWN;
    }
    d->tag = (uint8_t)tag;
    switch ((bc_di_tag)tag) {
    case BC_DI_COMPILE_UNIT: TV_TRY(read_reference(r, c, "file of the compile unit", &d->a)); break;
    case BC_DI_FILE:
        TV_TRY(bc_read_string(r, c, "name of the file", &d->name));
        TV_TRY(bc_read_string(r, c, "directory of the file", &d->other));
        break;
    case BC_DI_LEXICAL_BLOCK:
        TV_TRY(read_reference(r, c, "scope of the lexical block", &d->a));
        TV_TRY(read_reference(r, c, "file of the lexical block", &d->b));
        d->line = read_u32(c, "line");
        d->column = read_u32(c, "column");
        break;
    case BC_DI_LOC:
        TV_TRY(read_reference(r, c, "scope of the location", &d->a));
        TV_TRY(bc_read_string(r, c, "file of the location", &d->name));
        d->line = read_u32(c, "line");
        d->column = read_u32(c, "column");
        break;
    case BC_DI_SUBPROGRAM:
        TV_TRY(read_reference(r, c, "file of the subprogram", &d->a));
        d->line = read_u32(c, "line");
        TV_TRY(bc_read_string(r, c, "name of the subprogram", &d->name));
        TV_TRY(bc_read_string(r, c, "linkage name of the subprogram", &d->other));
        TV_TRY(read_reference(r, c, "compile unit of the subprogram", &d->b));
        d->column = read_u32(c, "scope line");
        if (r->m->version >= BC_13_5)
            d->flags = read_u32(c, "flags of the subprogram");
        break;
    case BC_DI_CALL_SITE:
        TV_TRY(read_reference(r, c, "callee of the call site", &d->a));
        TV_TRY(read_reference(r, c, "caller of the call site", &d->b));
        break;
    case BC_DI_UNKNOWN:
    case BC_DI_TAG_COUNT: break;
    }
    return bc_check(r, c);
}

enum {
    REF_FILE = 1 << BC_DI_FILE,
    REF_UNIT = 1 << BC_DI_COMPILE_UNIT,
    REF_SCOPE = 1 << BC_DI_SUBPROGRAM | 1 << BC_DI_LEXICAL_BLOCK,
    REF_LOC = 1 << BC_DI_UNKNOWN | 1 << BC_DI_LOC | 1 << BC_DI_CALL_SITE
};

/* What references a and b of an attribute may name. */
static const struct {
    uint8_t a, b;
} allowed[BC_DI_TAG_COUNT] = {
    [BC_DI_COMPILE_UNIT] = {REF_FILE, 0},   [BC_DI_LEXICAL_BLOCK] = {REF_SCOPE, REF_FILE},
    [BC_DI_LOC] = {REF_SCOPE, 0},           [BC_DI_SUBPROGRAM] = {REF_FILE, REF_UNIT},
    [BC_DI_CALL_SITE] = {REF_LOC, REF_LOC},
};

static tv_status check_reference(bc_reader *r, const bc_di *d, uint32_t ref, unsigned tags)
{
    if (!tags)
        return TV_OK;
    static const bc_di unknown = {.tag = BC_DI_UNKNOWN};
    const bc_di *to = ref ? &r->m->debug[ref - 1] : &unknown;
    if (to->tag == BC_DI_UNKNOWN && tags != REF_LOC)
        return bc_fail(r, BC_RULE_F_097, d->offset, "a %s lacks an attribute that it needs", tag_names[d->tag]);
    if (!(tags >> to->tag & 1))
        return bc_fail(r, BC_RULE_F_097, d->offset, "a %s refers to a %s", tag_names[d->tag], tag_names[to->tag]);
    return TV_OK;
}

enum { FRESH, BUSY, DONE, MAX_CHAIN = 1000 };

/* Depth-first walk for cycles; state has one byte an attribute. */
static tv_status check_chain(bc_reader *r, uint8_t *state, uint32_t ref, unsigned depth)
{
    if (!ref || state[ref - 1] == DONE)
        return TV_OK;
    const bc_di *d = &r->m->debug[ref - 1];
    if (state[ref - 1] == BUSY)
        return bc_fail(r, BC_RULE_F_097, d->offset, "a %s refers to itself", tag_names[d->tag]);
    if (depth > MAX_CHAIN)
        return bc_fail(r, BC_RULE_F_097, d->offset, "debug attributes are nested deeper than %d", MAX_CHAIN);
    state[ref - 1] = BUSY;
    TV_TRY(check_reference(r, d, d->a, allowed[d->tag].a));
    TV_TRY(check_reference(r, d, d->b, allowed[d->tag].b));
    TV_TRY(check_chain(r, state, d->a, depth + 1));
    TV_TRY(check_chain(r, state, d->b, depth + 1));
    state[ref - 1] = DONE;
    return TV_OK;
}

static tv_status read_attributes(bc_reader *r, bc_cursor *c, const uint8_t *base)
{
    bc_module *m = r->m;
    bc_table table;
    TV_TRY(bc_read_table(r, c, base, 4, "table of debug attributes", &table));
    if (table.count == 0 && c->p == c->end)
        return bc_fail(r, BC_RULE_F_096, bc_cursor_offset(c), "the debug section has an empty attribute table");
    m->debug = bc_new(&m->arena, bc_di, table.count);
    uint8_t *state = bc_new(&m->arena, uint8_t, table.count);
    if (!m->debug || !state)
        return bc_no_memory(r);
    m->debug_count = m->debug_capacity = table.count;
    for (size_t i = 0; i < table.count; i++) {
        bc_cursor item;
        TV_TRY(bc_table_item(r, &table, i, "debug attribute", &item));
        TV_TRY(read_attribute(r, &item, &m->debug[i]));
    }
    for (size_t i = 0; i < table.count; i++)
        TV_TRY(check_chain(r, state, (uint32_t)i + 1, 0));
    return TV_OK;
}

tv_status bc_read_debug(bc_reader *r)
{
    bc_span section = r->sections[BC_SECTION_DEBUG];
    r->m->has_debug_section = section.present;
    if (!section.present)
        return TV_OK;
    const uint8_t *base = section.ptr;
    bc_cursor c = bc_cursor_at(r, base, section.size);
    r->debug_functions = bc_count(&c, 4, BC_RULE_F_096, "number of functions with debug information");
    bc_skip_padding(r, &c, base, 4, BC_RULE_F_096);
    r->first_index = bc_take(&c, r->debug_functions * 4, "debug slots of functions");
    r->op_index_count = bc_count(&c, 8, BC_RULE_F_096, "number of debug slots");
    bc_skip_padding(r, &c, base, 8, BC_RULE_F_096);
    r->op_index = bc_take(&c, r->op_index_count * 8, "debug slots of ops");
    if (c.failed && c.fault == BC_RULE_F_090)
        c.fault = BC_RULE_F_096;
    TV_TRY(bc_check(r, &c));
    return read_attributes(r, &c, base);
}
