/* The type section. Records are decoded in order and interned; a reference to a later record decodes that first, and
   a record that is being decoded must not be referred to (a cycle). Whether a type makes sense (a tile of tiles, a
   size of -3) is the verifier's business. Source: format reference, section 4. */
#include "bytecode/read/read.h"

/* The payload of a composite type while it is being read. */
typedef struct type_record {
    bc_reader *r;
    bc_cursor c;
    bc_type t;
    uint64_t offset;
    unsigned depth;
    const char *noun;
} type_record;

static tv_status decode_type(bc_reader *r, size_t i, unsigned depth, const bc_type **out);

static tv_status read_member(type_record *rec, const char *noun, const bc_type **out)
{
    uint64_t i = bc_index(&rec->c, rec->r->type_count, BC_RULE_F_031, noun);
    TV_TRY(bc_check(rec->r, &rec->c));
    return decode_type(rec->r, (size_t)i, rec->depth + 1, out);
}

/* n, then n little-endian integers of `width` bytes, widened. Never NULL, so that a shape of rank 0 is a shape. */
static tv_status read_ints(type_record *rec, unsigned width, const char *noun, const int64_t **out, uint32_t *out_count)
{
    size_t n = bc_count(&rec->c, width, BC_RULE_F_038, noun);
    TV_TRY(bc_check(rec->r, &rec->c));
    int64_t *values = bc_new(&rec->r->m->arena, int64_t, n);
    if (!values)
        return bc_no_memory(rec->r);
    for (size_t i = 0; i < n; i++, rec->c.p += width) {
        uint64_t bits = bc_le(rec->c.p, width);
        values[i] = width == 8 ? (int64_t)bits : (int32_t)(uint32_t)bits;
    }
    *out = values;
    *out_count = (uint32_t)n;
    return TV_OK;
}

/* The flags field that announces one optional enum, from version `since` on. */
static tv_status read_flags(type_record *rec, bc_version since, bool *out_present)
{
    bc_reader *r = rec->r;
    *out_present = false;
    if (r->m->version < since)
        return TV_OK;
    uint64_t at = bc_cursor_offset(&rec->c);
    uint64_t flags = bc_varint(&rec->c, "type flags");
    if (flags > 1 && (r->m->version >= BC_13_5 || r->m->strict))
        return bc_fail(r, BC_RULE_F_043, at, "type flags 0x%llx; only bit 0 is defined", (unsigned long long)flags);
    *out_present = flags & 1;
    return bc_check(r, &rec->c);
}

static tv_status read_enum(type_record *rec, bc_enum_id id, uint8_t *out)
{
    bc_reader *r = rec->r;
    uint64_t at = bc_cursor_offset(&rec->c);
    uint64_t number = bc_varint(&rec->c, bc_enum_name(id));
    TV_TRY(bc_check(r, &rec->c));
    const bc_enum_value *value = bc_enum_find(id, number);
    if (!value)
        return bc_fail(r, BC_RULE_F_042, at, "unknown %s %llu", bc_enum_name(id), (unsigned long long)number);
    if (value->since > r->m->version)
        return bc_fail(r, BC_RULE_F_042, at, "%s '%s' needs version 13.%d; the file is 13.%d", bc_enum_name(id),
                       value->text, value->since, r->m->version);
    *out = value->number;
    return TV_OK;
}

static tv_status read_tensor_view_operand(type_record *rec)
{
    TV_TRY(read_member(rec, "tensor_view of the view", &rec->t.elem));
    if (rec->t.elem->kind != BC_TENSOR_VIEW)
        return bc_fail(rec->r, BC_RULE_F_040, rec->offset, "a %s over a type %s, which is not a tensor_view",
                       bc_kinds[rec->t.kind].text, bc_kinds[rec->t.elem->kind].text);
    return TV_OK;
}

/* Padding: bit 0 of the flags from 13.3 on; a presence byte after the rest before. */
static tv_status read_padding(type_record *rec, bool present)
{
    if (rec->r->m->version < BC_13_3)
        present = bc_u8(&rec->c, "padding presence") != 0;
    TV_TRY(bc_check(rec->r, &rec->c));
    return present ? read_enum(rec, BC_ENUM_PaddingValue, &rec->t.padding) : TV_OK;
}

static tv_status read_view(type_record *rec)
{
    bc_type *t = &rec->t;
    bool padded;
    TV_TRY(read_flags(rec, BC_13_3, &padded));
    TV_TRY(read_ints(rec, 4, "tile shape", &t->shape, &t->rank));
    if (t->kind == BC_STRIDED_VIEW)
        TV_TRY(read_ints(rec, 4, "traversal strides", &t->strides, &t->stride_count));
    TV_TRY(read_tensor_view_operand(rec));
    if (t->kind == BC_GATHER_SCATTER_VIEW)
        t->sparse_dim = (uint32_t)bc_index(&rec->c, (uint64_t)UINT32_MAX + 1, BC_RULE_F_041, "sparse_dim");
    else
        TV_TRY(read_ints(rec, 4, "dim_map", &t->dim_map, &t->result_count));
    TV_TRY(bc_check(rec->r, &rec->c));
    return read_padding(rec, padded);
}

static tv_status read_ptr(type_record *rec)
{
    bool has_attr;
    TV_TRY(read_flags(rec, BC_13_4, &has_attr));
    TV_TRY(read_member(rec, "pointee type", &rec->t.elem));
    return has_attr ? read_enum(rec, BC_ENUM_PtrAttr, &rec->t.ptr_attr) : TV_OK;
}

static tv_status read_tensor_view(type_record *rec)
{
    bool has_attr;
    TV_TRY(read_flags(rec, BC_13_4, &has_attr));
    TV_TRY(read_member(rec, "element type", &rec->t.elem));
    TV_TRY(read_ints(rec, 8, "tensor_view shape", &rec->t.shape, &rec->t.rank));
    TV_TRY(read_ints(rec, 8, "tensor_view strides", &rec->t.strides, &rec->t.result_count));
    return has_attr ? read_enum(rec, BC_ENUM_PtrAttr, &rec->t.ptr_attr) : TV_OK;
}

static tv_status read_function_type(type_record *rec)
{
    bc_reader *r = rec->r;
    bc_cursor ahead = rec->c; /* the two lists lie apart on the wire and together in memory */
    size_t inputs = bc_count(&ahead, 1, BC_RULE_F_038, "function inputs");
    for (size_t i = 0; i < inputs; i++)
        bc_varint(&ahead, "function input");
    size_t results = bc_count(&ahead, 1, BC_RULE_F_038, "function results");
    TV_TRY(bc_check(r, &ahead));
    if (inputs > BC_MAX_OPERANDS || results > BC_MAX_OPERANDS)
        return bc_fail(r, BC_RULE_F_022, rec->offset, "a function type of more than %d parameters", BC_MAX_OPERANDS);
    const bc_type **members = bc_new(&r->m->arena, const bc_type *, inputs + results);
    if (!members)
        return bc_no_memory(r);
    bc_varint(&rec->c, "function inputs");
    for (size_t i = 0; i < inputs; i++)
        TV_TRY(read_member(rec, "function input", &members[i]));
    bc_varint(&rec->c, "function results");
    for (size_t i = 0; i < results; i++)
        TV_TRY(read_member(rec, "function result", &members[inputs + i]));
    rec->t.members = members;
    rec->t.rank = (uint32_t)inputs;
    rec->t.result_count = (uint32_t)results;
    return TV_OK;
}

static tv_status read_payload(type_record *rec)
{
    switch ((bc_kind)rec->t.kind) {
    case BC_PTR: return read_ptr(rec);
    case BC_TILE:
        TV_TRY(read_member(rec, "element type", &rec->t.elem));
        return read_ints(rec, 8, "tile shape", &rec->t.shape, &rec->t.rank);
    case BC_TENSOR_VIEW: return read_tensor_view(rec);
    case BC_PARTITION_VIEW:
    case BC_STRIDED_VIEW:
    case BC_GATHER_SCATTER_VIEW: return read_view(rec);
    case BC_FUNCTION: return read_function_type(rec);
    default: return TV_OK; /* numbers and token have no payload */
    }
}

static tv_status read_kind(type_record *rec)
{
    bc_reader *r = rec->r;
    uint64_t tag = bc_varint(&rec->c, "type tag");
    if (rec->c.failed)
        return bc_fail(r, BC_RULE_F_034, rec->offset, "the type record is empty or its tag cannot be read");
    if (tag > 255)
        return bc_fail(r, BC_RULE_F_036, rec->offset, "type tag %llu does not fit a byte", (unsigned long long)tag);
    unsigned kind = 0;
    while (kind < BC_KIND_COUNT && bc_kinds[kind].tag != tag)
        kind++;
    if (kind == BC_KIND_COUNT)
        return bc_fail(r, BC_RULE_F_035, rec->offset, "unknown type tag %llu", (unsigned long long)tag);
    if (bc_kinds[kind].since > r->m->version)
        return bc_fail(r, BC_RULE_F_037, rec->offset, "type %s needs version 13.%d; the file is 13.%d",
                       bc_kinds[kind].text, bc_kinds[kind].since, r->m->version);
    rec->t.kind = (uint8_t)kind;
    return TV_OK;
}

static tv_status decode_type(bc_reader *r, size_t i, unsigned depth, const bc_type **out)
{
    if (r->types[i]) {
        *out = r->types[i];
        return TV_OK;
    }
    bc_table table = {.offsets = r->type_offsets,
                      .data = r->type_data,
                      .count = r->type_count,
                      .data_size = r->type_data_size,
                      .width = 4};
    type_record rec = {.r = r, .depth = depth, .t = {.padding = BC_NO_PADDING, .ptr_attr = BC_NO_PTR_ATTR}};
    TV_TRY(bc_table_item(r, &table, i, "type", &rec.c));
    rec.offset = bc_cursor_offset(&rec.c);
    if (r->type_busy[i])
        return bc_fail(r, BC_RULE_F_039, rec.offset, "type %zu refers to itself", i);
    if (depth > BC_MAX_TYPE_DEPTH)
        return bc_fail(r, BC_RULE_F_039, rec.offset, "types are nested deeper than %d", BC_MAX_TYPE_DEPTH);
    r->type_busy[i] = 1;
    TV_TRY(read_kind(&rec));
    TV_TRY(read_payload(&rec));
    TV_TRY(bc_check(r, &rec.c));
    if (rec.c.p != rec.c.end && (r->m->strict || rec.t.kind == BC_TILE))
        return bc_fail(r, BC_RULE_F_044, bc_cursor_offset(&rec.c), "%zu byte%s after the fields of type %zu",
                       bc_cursor_left(&rec.c), bc_cursor_left(&rec.c) == 1 ? "" : "s", i);
    r->type_busy[i] = 0;
    const char *problem = bc_type_problem(&rec.t);
    if (problem)
        return bc_fail(r, BC_RULE_F_039, rec.offset, "%s", problem);
    r->types[i] = bc_type_add(r->m, &rec.t);
    if (!r->types[i])
        return bc_no_memory(r);
    *out = r->types[i];
    return TV_OK;
}

tv_status bc_read_type_index(bc_reader *r, bc_cursor *c, const char *noun, const bc_type **out)
{
    uint64_t i = bc_index(c, r->type_count, BC_RULE_F_031, noun);
    TV_TRY(bc_check(r, c));
    *out = r->types[i];
    return TV_OK;
}

tv_status bc_read_types(bc_reader *r)
{
    bc_span section = r->sections[BC_SECTION_TYPE];
    if (!section.present)
        return TV_OK;
    bc_cursor c = bc_cursor_at(r, section.ptr, section.size);
    bc_table table;
    TV_TRY(bc_read_table(r, &c, c.p, 4, "type table", &table));
    r->type_offsets = table.offsets;
    r->type_data = table.data;
    r->type_data_size = table.data_size;
    r->type_count = table.count;
    r->types = bc_new(&r->m->arena, const bc_type *, table.count);
    r->type_busy = bc_new(&r->m->arena, uint8_t, table.count);
    if (!r->types || !r->type_busy)
        return bc_no_memory(r);
    for (size_t i = 0; i < table.count; i++) {
        const bc_type *ignored;
        TV_TRY(decode_type(r, i, 0, &ignored));
    }
    return TV_OK;
}
