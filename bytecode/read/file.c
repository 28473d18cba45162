/* The container: header, section walk, string / constant / global / function / producer sections.
   Trusts nothing. Finds all sections first, then decodes string, producer, type, constant, global, debug, function.
   Source: format reference, sections 1 to 3 and 5 to 8. */
#include "bytecode/read/read.h"

#include <stdio.h>

#include "bytecode/base/text.h"

static const uint8_t magic[8] = {0x7f, 'T', 'i', 'l', 'e', 'I', 'R', 0};

static const struct {
    const char *name;
    unsigned align;
} section_info[BC_SECTION_COUNT] = {
    [BC_SECTION_END] = {"end marker", 1},
    [BC_SECTION_STRING] = {"string section", 4},
    [BC_SECTION_FUNC] = {"function section", 8},
    [BC_SECTION_DEBUG] = {"debug section", 8},
    [BC_SECTION_CONSTANT] = {"constant section", 8},
    [BC_SECTION_TYPE] = {"type section", 4},
    [BC_SECTION_GLOBAL] = {"global section", 1},
    [BC_SECTION_PRODUCER] = {"producer section", 1},
};

/* ---- header and section walk ---- */

static tv_status read_header(bc_reader *r, bc_cursor *c)
{
    const uint8_t *m = bc_take(c, sizeof magic, "magic number");
    if (!m || memcmp(m, magic, sizeof magic) != 0)
        return bc_fail(r, BC_RULE_F_001, 0, "not Tile IR bytecode: the file does not start with 7f 'TileIR' 00");
    const uint8_t *v = bc_take(c, 4, "version");
    if (!v)
        return bc_fail(r, BC_RULE_F_002, 8, "the file ends inside the version");
    unsigned tag = (unsigned)bc_le(v + 2, 2);
    if (v[0] != 13 || v[1] < 1 || v[1] > BC_NEWEST)
        return bc_fail(r, BC_RULE_F_003, 8, "bytecode version %u.%u is not supported; this build reads 13.1 to 13.%d",
                       v[0], v[1], BC_NEWEST);
    r->m->version = (bc_version)v[1];
    if (tag & 1)
        return bc_fail(r, BC_RULE_F_005, 10, "the file announces preview content, which this build does not read");
    if (tag && (r->m->version >= BC_13_5 || r->m->strict))
        return bc_fail(r, BC_RULE_F_004, 10, "the version tag is 0x%04x; only 0 is defined", tag);
    return TV_OK;
}

static tv_status read_section_header(bc_reader *r, bc_cursor *c, unsigned *out_id)
{
    uint64_t at = bc_cursor_offset(c);
    if (c->p == c->end)
        return bc_fail(r, BC_RULE_F_006, at, "the file ends before the end marker");
    uint8_t byte = bc_u8(c, "section id");
    unsigned id = *out_id = byte & 0x7f;
    bool aligned = byte & 0x80;
    if (id == BC_SECTION_END)
        return aligned ? bc_fail(r, BC_RULE_F_007, at, "the end marker has its alignment bit set") : TV_OK;
    if (id >= BC_SECTION_COUNT)
        return bc_fail(r, BC_RULE_F_009, at, "unknown section %u", id);
    const char *name = section_info[id].name;
    size_t length = bc_count(c, 1, BC_RULE_F_010, "section length");
    TV_TRY(bc_check(r, c));
    uint64_t align = 1;
    if (aligned) {
        uint64_t align_at = bc_cursor_offset(c);
        align = bc_varint(c, "section alignment");
        if (c->failed || align == 0 || (align & (align - 1)) != 0)
            return bc_fail(r, BC_RULE_F_011, align_at, "the alignment of the %s is not a power of two", name);
        if (align > r->m->size)
            return bc_fail(r, BC_RULE_F_012, align_at, "the padding of the %s runs past the end of the file", name);
        bc_skip_padding(r, c, r->m->bytes, (size_t)align, BC_RULE_F_012);
        TV_TRY(bc_check(r, c));
    }
    if (align % section_info[id].align != 0)
        return bc_fail(r, BC_RULE_F_013, at, "the %s is aligned to %llu bytes; it needs a multiple of %u", name,
                       (unsigned long long)align, section_info[id].align);
    const uint8_t *payload = bc_take(c, length, name);
    if (!payload)
        return bc_fail(r, BC_RULE_F_010, at, "the %s is %zu bytes long, but the file ends before that", name, length);
    if (r->sections[id].present)
        return bc_fail(r, BC_RULE_F_016, at, "the file has a second %s", name);
    if (id == BC_SECTION_PRODUCER && r->m->version < BC_13_3 && r->m->strict)
        return bc_fail(r, BC_RULE_F_018, at, "a producer section in a 13.%d file; it came with 13.3", r->m->version);
    r->sections[id] = (bc_span){payload, length, true};
    return TV_OK;
}

static tv_status read_sections(bc_reader *r, bc_cursor *c)
{
    for (unsigned seen = 0;; seen++) {
        unsigned id = BC_SECTION_END;
        TV_TRY(read_section_header(r, c, &id));
        if (id == BC_SECTION_END)
            break;
        r->m->section_order[seen] = (uint8_t)id;
    }
    if (c->p != c->end)
        return bc_fail(r, BC_RULE_F_008, bc_cursor_offset(c), "%zu bytes follow the end marker", bc_cursor_left(c));
    if (!r->sections[BC_SECTION_STRING].present)
        return bc_fail(r, BC_RULE_F_014, TV_NO_OFFSET, "the file has no string section");
    if (!r->sections[BC_SECTION_FUNC].present)
        return bc_fail(r, BC_RULE_F_015, TV_NO_OFFSET, "the file has no function section");
    return TV_OK;
}

static bc_cursor section_cursor(bc_reader *r, unsigned id)
{
    return bc_cursor_at(r, r->sections[id].ptr, r->sections[id].size);
}

/* ---- strings, constants, globals, producer ---- */

static bool is_utf8(tv_str s)
{
    const uint8_t *p = (const uint8_t *)s.ptr, *end = p + s.len;
    while (p < end) {
        unsigned lead = *p++, more = lead < 0x80                   ? 0
                                     : lead >= 0xc2 && lead < 0xe0 ? 1
                                     : lead >= 0xe0 && lead < 0xf0 ? 2
                                     : lead >= 0xf0 && lead < 0xf5 ? 3
                                                                   : 9;
        if (more == 9 || more > (size_t)(end - p))
            return false;
        if (more
            && ((lead == 0xe0 && p[0] < 0xa0) || (lead == 0xed && p[0] > 0x9f) || (lead == 0xf0 && p[0] < 0x90)
                || (lead == 0xf4 && p[0] > 0x8f)))
            return false;
        for (; more; more--)
            if ((*p++ & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static tv_status read_strings(bc_reader *r)
{
    bc_module *m = r->m;
    bc_cursor c = section_cursor(r, BC_SECTION_STRING);
    bc_table table;
    TV_TRY(bc_read_table(r, &c, c.p, 4, "string table", &table));
    bc_string *entries = bc_new(&m->arena, bc_string, table.count);
    m->strings = bc_new(&m->arena, bc_string *, table.count);
    if (!entries || !m->strings)
        return bc_no_memory(r);
    m->string_capacity = table.count;
    for (size_t i = 0; i < table.count; i++) {
        bc_cursor item;
        TV_TRY(bc_table_item(r, &table, i, "string", &item));
        entries[i] = (bc_string){.s = {(const char *)item.p, bc_cursor_left(&item)}, .index = (uint32_t)i};
        if (m->strict && !is_utf8(entries[i].s))
            return bc_fail(r, BC_RULE_F_033, bc_cursor_offset(&item), "string %zu is not UTF-8", i);
        m->strings[i] = &entries[i];
    }
    m->string_count = table.count;
    return TV_OK;
}

static tv_status read_constants(bc_reader *r)
{
    bc_module *m = r->m;
    if (!r->sections[BC_SECTION_CONSTANT].present)
        return TV_OK;
    bc_cursor c = section_cursor(r, BC_SECTION_CONSTANT);
    bc_table table;
    TV_TRY(bc_read_table(r, &c, c.p, 8, "constant table", &table));
    bc_blob *entries = bc_new(&m->arena, bc_blob, table.count);
    m->constants = bc_new(&m->arena, bc_blob *, table.count);
    if (!entries || !m->constants)
        return bc_no_memory(r);
    m->constant_capacity = table.count;
    for (size_t i = 0; i < table.count; i++) {
        bc_cursor item;
        TV_TRY(bc_table_item(r, &table, i, "constant", &item));
        uint64_t at = bc_cursor_offset(&item);
        size_t len = bc_count(&item, 1, BC_RULE_F_045, "constant");
        if (item.failed)
            return bc_fail(r, BC_RULE_F_045, at, "constant %zu counts more bytes than its record holds", i);
        entries[i] = (bc_blob){.ptr = item.p, .len = len, .index = (uint32_t)i};
        if (m->strict && len != bc_cursor_left(&item))
            return bc_fail(r, BC_RULE_F_046, at, "%zu bytes follow constant %zu", bc_cursor_left(&item) - len, i);
        m->constants[i] = &entries[i];
    }
    m->constant_count = table.count;
    return TV_OK;
}

static tv_status read_global(bc_reader *r, bc_cursor *c, bc_global *g)
{
    g->offset = (uint32_t)bc_cursor_offset(c);
    TV_TRY(bc_read_string(r, c, "name of the global", &g->name));
    TV_TRY(bc_read_type_index(r, c, "type of the global", &g->type));
    uint64_t constant = bc_index(c, r->m->constant_count, BC_RULE_F_032, "value of the global");
    g->alignment = bc_varint(c, "alignment of the global");
    if (r->m->version >= BC_13_3) {
        uint64_t at = bc_cursor_offset(c);
        uint64_t visibility = bc_varint(c, "visibility of the global");
        if (visibility > 1)
            return bc_fail(r, BC_RULE_F_052, at, "visibility %llu; 0 is public, 1 private",
                           (unsigned long long)visibility);
        g->visibility = (uint8_t)visibility;
        at = bc_cursor_offset(c);
        uint64_t is_constant = bc_varint(c, "constant flag of the global");
        if (is_constant > 1 && r->m->strict)
            return bc_fail(r, BC_RULE_F_053, at, "constant flag %llu; 0 or 1 are defined",
                           (unsigned long long)is_constant);
        g->constant = is_constant != 0;
    }
    if (c->failed)
        c->fault = c->fault == BC_RULE_F_090 || c->fault == BC_RULE_F_021 ? BC_RULE_F_050 : c->fault;
    TV_TRY(bc_check(r, c));
    g->value = r->m->constants[constant];
    return TV_OK;
}

static tv_status read_globals(bc_reader *r)
{
    bc_module *m = r->m;
    if (!r->sections[BC_SECTION_GLOBAL].present)
        return TV_OK;
    bc_cursor c = section_cursor(r, BC_SECTION_GLOBAL);
    size_t count = bc_count(&c, m->version >= BC_13_3 ? 6 : 4, BC_RULE_F_049, "number of globals");
    TV_TRY(bc_check(r, &c));
    m->globals = bc_new(&m->arena, bc_global, count);
    if (!m->globals)
        return bc_no_memory(r);
    m->global_capacity = m->global_count = count;
    for (size_t i = 0; i < count; i++)
        TV_TRY(read_global(r, &c, &m->globals[i]));
    if (c.p != c.end && m->strict)
        return bc_fail(r, BC_RULE_F_056, bc_cursor_offset(&c), "%zu bytes follow the last global", bc_cursor_left(&c));
    return TV_OK;
}

static tv_status read_producer(bc_reader *r)
{
    if (!r->sections[BC_SECTION_PRODUCER].present)
        return TV_OK;
    bc_cursor c = section_cursor(r, BC_SECTION_PRODUCER);
    uint64_t i = bc_index(&c, r->m->string_count, BC_RULE_F_019, "producer string");
    if (c.failed)
        return bc_fail(r, BC_RULE_F_019, (uint64_t)(c.fault_at - c.file), "the producer names no string of the file");
    r->m->producer = r->m->strings[i];
    if (c.p != c.end && r->m->strict)
        return bc_fail(r, BC_RULE_F_020, bc_cursor_offset(&c), "bytes follow the producer");
    return TV_OK;
}

/* ---- functions (section 8) ---- */

static tv_status read_hints(bc_reader *r, bc_cursor *c, bc_rule rule, bc_tag tag, const char *noun,
                            const bc_tagged **out)
{
    uint64_t at = bc_cursor_offset(c);
    bc_tagged *attr = bc_new(&r->m->arena, bc_tagged, 1);
    if (!attr)
        return bc_no_memory(r);
    TV_TRY(bc_read_tagged(r, c, 0, attr));
    if (attr->tag != tag)
        return bc_fail(r, rule, at, "the %s have attribute tag %u, not %u", noun, attr->tag, tag);
    *out = attr;
    return TV_OK;
}

/* Points next_loc at the function's slots in the debug section. */
static tv_status find_debug(bc_reader *r, bc_function *f, uint64_t debug_index, uint64_t at)
{
    f->has_debug = debug_index != 0;
    r->next_loc = r->loc_limit = 0;
    if (!debug_index)
        return TV_OK;
    if (debug_index > r->debug_functions)
        return bc_fail(r, BC_RULE_F_094, at, "debug index %llu, but the debug section knows %zu functions",
                       (unsigned long long)debug_index, r->debug_functions);
    r->next_loc = (size_t)bc_le(r->first_index + (debug_index - 1) * 4, 4);
    r->loc_limit = r->op_index_count;
    return TV_OK;
}

static tv_status read_function(bc_reader *r, bc_cursor *c, bc_function *f)
{
    bc_module *m = r->m;
    f->offset = (uint32_t)bc_cursor_offset(c);
    TV_TRY(bc_read_string(r, c, "function name", &f->name));
    r->function = f;
    uint64_t at = bc_cursor_offset(c);
    TV_TRY(bc_read_type_index(r, c, "signature", &f->type));
    if (f->type->kind != BC_FUNCTION)
        return bc_fail(r, BC_RULE_F_060, at, "the signature is of type %s, not a function type",
                       bc_kinds[f->type->kind].text);
    at = bc_cursor_offset(c);
    f->flags = bc_u8(c, "function flags");
    if (c->failed)
        return bc_fail(r, BC_RULE_F_058, at, "the function section ends before the flags of '%.*s'",
                       (int)f->name->s.len, f->name->s.ptr);
    unsigned reserved = m->version >= BC_13_4 || m->strict ? 0xf8u : 0;
    if (f->flags & reserved)
        return bc_fail(r, BC_RULE_F_064, at, "function flags 0x%02x use reserved bits", f->flags);
    if (m->version >= BC_13_5 && f->flags & 4)
        return bc_fail(r, BC_RULE_F_065, at, "an external function, which is preview content");
    if (!(f->flags & BC_FUNC_KERNEL))
        return bc_fail(r, BC_RULE_F_063, at, "function '%.*s' is not a kernel; other functions are preview content",
                       (int)f->name->s.len, f->name->s.ptr);
    at = bc_cursor_offset(c);
    uint64_t debug_index = bc_varint(c, "debug index");
    TV_TRY(bc_check(r, c));
    TV_TRY(find_debug(r, f, debug_index, at));
    if (m->version >= BC_13_5 || f->flags & BC_FUNC_HINTS)
        TV_TRY(read_hints(r, c, BC_RULE_F_061, BC_TAG_HINTS, "optimization hints", &f->hints));
    if (m->version >= BC_13_5)
        TV_TRY(read_hints(r, c, BC_RULE_F_067, BC_TAG_ARRAY, "argument attributes", &f->arg_attrs));
    at = bc_cursor_offset(c);
    size_t length = bc_count(c, 1, BC_RULE_F_062, "body length");
    if (c->failed)
        return bc_fail(r, BC_RULE_F_062, at, "the body of '%.*s' is longer than the rest of its section",
                       (int)f->name->s.len, f->name->s.ptr);
    bc_cursor body = bc_cursor_at(r, c->p, length);
    TV_TRY(bc_read_body(r, &body, f));
    c->p += length;
    return TV_OK;
}

tv_status bc_read_functions(bc_reader *r)
{
    bc_module *m = r->m;
    bc_cursor c = section_cursor(r, BC_SECTION_FUNC);
    size_t count = bc_count(&c, 5, BC_RULE_F_057, "number of functions");
    TV_TRY(bc_check(r, &c));
    m->functions = bc_new(&m->arena, bc_function, count);
    if (!m->functions)
        return bc_no_memory(r);
    m->function_capacity = count;
    for (size_t i = 0; i < count; i++) {
        m->function_count = i + 1;
        TV_TRY(read_function(r, &c, &m->functions[i]));
    }
    r->function = NULL;
    if (m->strict)
        for (const uint8_t *p = c.p; p < c.end; p++)
            if (c.end - c.p > 7 || *p != 0xcb)
                return bc_fail(r, BC_RULE_F_068, bc_cursor_offset(&c), "%zu bytes follow the last function",
                               bc_cursor_left(&c));
    return TV_OK;
}

/* ---- entry point ---- */

static void report_oddities(bc_reader *r)
{
    const uint8_t *file = r->m->bytes;
    bc_place place = {.row = BC_NO_ROW};
    if (r->odd.high) {
        place.offset = (uint64_t)(r->odd.high - file);
        bc_report(r->m, r->sink, &place, BC_RULE_F_024, "a number has bits above 63, which readers drop");
    }
    if (r->odd.overlong) {
        place.offset = (uint64_t)(r->odd.overlong - file);
        bc_report(r->m, r->sink, &place, BC_RULE_F_025, "a number is not written in its shortest form");
    }
}

static tv_status read_module(bc_reader *r)
{
    bc_cursor c = bc_cursor_at(r, r->m->bytes, r->m->size);
    TV_TRY(read_header(r, &c));
    TV_TRY(read_sections(r, &c));
    TV_TRY(read_strings(r));
    TV_TRY(read_producer(r));
    TV_TRY(bc_read_types(r));
    TV_TRY(read_constants(r));
    TV_TRY(read_globals(r));
    TV_TRY(bc_read_debug(r));
    TV_TRY(bc_read_functions(r));
    if (r->m->strict)
        report_oddities(r);
    return TV_OK;
}

/* A module takes about ten times its file. */
enum { MEMORY_PER_BYTE = 8, LARGE_FILE = 1 << 20 };

static tv_status open_module(const void *bytes, size_t size, const tv_open_options *options, tv_sink sink,
                             tv_module **out_module)
{
    bc_module *m = bc_module_new(options, BC_NEWEST);
    if (!m)
        return TV_NO_MEMORY;
    static const uint8_t empty[1];
    m->bytes = size ? bytes : empty;
    m->size = size;
    bc_arena_reserve(&m->arena, size < LARGE_FILE ? size * MEMORY_PER_BYTE : size);
    bc_reader reader = {.m = m, .sink = sink};
    tv_status status = size > UINT32_MAX ? bc_fail(&reader, BC_RULE_F_010, 0, "the file is larger than 4 GiB")
                                         : read_module(&reader);
    if (status != TV_OK) {
        tv_module_close(m);
        return status;
    }
    *out_module = m;
    return TV_OK;
}

tv_status tv_module_open(const void *bytes, size_t size, const tv_open_options *options, tv_sink sink,
                         tv_module **out_module)
{
    TV_RETURN_COMPUTED(open_module(bytes, size, options, sink, out_module));
}
