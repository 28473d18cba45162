/* Self-describing attributes (section 6.2): a tag, then what it says. */
#include "bytecode/base/text.h"
#include "bytecode/read/read.h"

static tv_status read_integer(bc_reader *r, bc_cursor *c, bc_tagged *out)
{
    uint64_t at = bc_cursor_offset(c);
    TV_TRY(bc_read_type_index(r, c, "type of the integer", &out->type));
    const bc_kind_info *kind = &bc_kinds[out->type->kind];
    if (kind->kind_class != BC_CLASS_INTEGER)
        return bc_fail(r, BC_RULE_F_091, at, "an integer attribute of type %s", kind->text);
    uint64_t value_at = bc_cursor_offset(c);
    out->u.bits = kind->bits == 1 ? bc_u8(c, "integer") != 0 : bc_varint(c, "integer");
    if (kind->bits < 64 && out->u.bits >> kind->bits)
        return bc_fail(r, BC_RULE_F_081, value_at, "integer 0x%llx does not fit %s", (unsigned long long)out->u.bits,
                       kind->text);
    return bc_check(r, c);
}

static tv_status read_float(bc_reader *r, bc_cursor *c, bc_tagged *out)
{
    uint64_t at = bc_cursor_offset(c);
    TV_TRY(bc_read_type_index(r, c, "type of the float", &out->type));
    const bc_kind_info *kind = &bc_kinds[out->type->kind];
    if (kind->kind_class != BC_CLASS_FLOAT)
        return bc_fail(r, BC_RULE_F_091, at, "a float attribute of type %s", kind->text);
    uint64_t value_at = bc_cursor_offset(c);
    if (kind->bits <= 8) {
        out->u.bits = bc_u8(c, "float");
    } else {
        unsigned high = 0;
        out->u.bits = (uint64_t)bc_zigzag(bc_varint_slow(c, "float", &high));
        if (high && !c->failed) {
            out->lost_sign = true;
            bc_place place = {.offset = value_at, .function = r->function, .row = BC_NO_ROW, .reading = r->reading};
            bc_report(r->m, r->sink, &place, BC_RULE_F_024,
                      "a negative f64 attribute was written in 65 bits; readers see the positive number");
        }
    }
    if (kind->bits < 64 && out->u.bits >> kind->bits)
        return bc_fail(r, BC_RULE_F_091, value_at, "float pattern 0x%llx is wider than %s",
                       (unsigned long long)out->u.bits, kind->text);
    return bc_check(r, c);
}

static tv_status read_array(bc_reader *r, bc_cursor *c, unsigned depth, bc_list *out)
{
    size_t count = bc_count(c, 2, BC_RULE_F_081, "attribute array");
    TV_TRY(bc_check(r, c));
    bc_tagged *items = bc_new(&r->m->arena, bc_tagged, count);
    if (!items)
        return bc_no_memory(r);
    for (size_t i = 0; i < count; i++)
        TV_TRY(bc_read_tagged(r, c, depth + 1, &items[i]));
    *out = (bc_list){items, (uint32_t)count};
    return TV_OK;
}

/* Real dictionaries have a handful of keys; more than this are refused, which keeps the check for twins cheap. */
enum { MAX_KEYS = 256 };

tv_status bc_read_dict(bc_reader *r, bc_cursor *c, unsigned depth, bc_dict *out)
{
    uint64_t at = bc_cursor_offset(c);
    size_t count = bc_count(c, 3, BC_RULE_F_081, "dictionary");
    TV_TRY(bc_check(r, c));
    if (count > MAX_KEYS)
        return bc_fail(r, BC_RULE_F_091, at, "a dictionary of %zu keys; at most %d are read", count, MAX_KEYS);
    bc_entry *entries = bc_new(&r->m->arena, bc_entry, count);
    if (!entries)
        return bc_no_memory(r);
    for (size_t i = 0; i < count; i++) {
        uint64_t key_at = bc_cursor_offset(c);
        TV_TRY(bc_read_string(r, c, "dictionary key", &entries[i].key));
        tv_str key = entries[i].key->s;
        if (key.len == 0)
            return bc_fail(r, BC_RULE_F_091, key_at, "empty dictionary key");
        for (size_t j = 0; j < i; j++)
            if (bc_str_eq(entries[j].key->s, key))
                return bc_fail(r, BC_RULE_F_091, key_at, "key '%.*s' occurs twice in a dictionary", (int)key.len,
                               key.ptr);
        TV_TRY(bc_read_tagged(r, c, depth + 1, &entries[i].value));
    }
    *out = (bc_dict){entries, (uint32_t)count};
    return TV_OK;
}

static tv_status read_bounds(bc_reader *r, bc_cursor *c, bc_tagged *out)
{
    uint64_t at = bc_cursor_offset(c);
    uint8_t flags = bc_u8(c, "predicate flags");
    if (flags & ~3u)
        return bc_fail(r, BC_RULE_F_081, at, "predicate flags 0x%02x; bits 0 and 1 are defined", flags);
    out->has_a = flags & 1;
    out->has_b = flags >> 1 & 1;
    out->a = out->has_a ? bc_svarint(c, "predicate value") : 0;
    out->b = out->has_b ? bc_svarint(c, "predicate value") : 0;
    return bc_check(r, c);
}

static tv_status read_same_elements(bc_reader *r, bc_cursor *c, bc_ints *out)
{
    size_t count = bc_count(c, 8, BC_RULE_F_023, "same_elements list");
    TV_TRY(bc_check(r, c));
    int64_t *values = bc_new(&r->m->arena, int64_t, count);
    if (!values)
        return bc_no_memory(r);
    for (size_t i = 0; i < count; i++, c->p += 8)
        values[i] = (int64_t)bc_le(c->p, 8);
    *out = (bc_ints){values, (uint32_t)count};
    return TV_OK;
}

tv_status bc_read_tagged(bc_reader *r, bc_cursor *c, unsigned depth, bc_tagged *out)
{
    uint64_t at = bc_cursor_offset(c);
    uint64_t tag = bc_varint(c, "attribute tag");
    TV_TRY(bc_check(r, c));
    if (depth > BC_MAX_ATTR_DEPTH)
        return bc_fail(r, BC_RULE_F_091, at, "attributes are nested deeper than %d", BC_MAX_ATTR_DEPTH);
    *out = (bc_tagged){.tag = (uint8_t)tag};
    switch (tag) {
    case BC_TAG_INTEGER: return read_integer(r, c, out);
    case BC_TAG_FLOAT: return read_float(r, c, out);
    case BC_TAG_BOOL: out->u.bits = bc_u8(c, "bool") != 0; return bc_check(r, c);
    case BC_TAG_TYPE: return bc_read_type_index(r, c, "type attribute", &out->type);
    case BC_TAG_STRING: return bc_read_string(r, c, "string attribute", &out->u.string);
    case BC_TAG_ARRAY: return read_array(r, c, depth, &out->u.array);
    case BC_TAG_DIV_BY: out->u.bits = bc_varint(c, "divisor"); return read_bounds(r, c, out);
    case BC_TAG_SAME_ELEMENTS: return read_same_elements(r, c, &out->u.ints);
    case BC_TAG_DICTIONARY:
    case BC_TAG_HINTS: return bc_read_dict(r, c, depth, &out->u.dict);
    case BC_TAG_BOUNDED: return read_bounds(r, c, out);
    default: return bc_fail(r, BC_RULE_F_091, at, "unknown attribute tag %llu", (unsigned long long)tag);
    }
}
