/* Text of types and attributes, spelled as MLIR's printer does. Types and attributes of any shape are printed: a tile
   of tiles, sizes below zero. The reader bounds how deep they are nested. */
#include "bytecode/print/print.h"

#include <stdlib.h>
#include <string.h>

#include "bytecode/number/number.h"

/* ---- words ---- */

void bc_print_i64(bc_text *out, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        digits[--at] = '-';
    bc_text_bytes(out, digits + at, sizeof digits - at);
}

static void print_ints(bc_text *out, const int64_t *ints, uint32_t count, const char *between)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            bc_text_puts(out, between);
        bc_print_i64(out, ints[i]);
    }
}

static void print_bools(bc_text *out, const bc_ints *ints)
{
    for (uint32_t i = 0; i < ints->count; i++) {
        if (i)
            bc_text_puts(out, ", ");
        bc_text_puts(out, ints->ptr[i] ? "true" : "false");
    }
}

void bc_print_elements(bc_text *out, bc_encoding encoding, const bc_ints *ints)
{
    if (ints && encoding == BC_ENC_BOOLS)
        print_bools(out, ints);
    else if (ints)
        print_ints(out, ints->ptr, ints->count, ", ");
}

void bc_print_string(bc_text *out, tv_str s)
{
    static const char hex[] = "0123456789ABCDEF";
    bc_text_char(out, '"');
    size_t plain = 0; /* start of the bytes that stand for themselves */
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
            continue;
        bc_text_bytes(out, s.ptr + plain, i - plain);
        plain = i + 1;
        char escape[3] = {'\\', c == '\\' ? '\\' : hex[c >> 4], hex[c & 15]};
        bc_text_bytes(out, escape, c == '\\' ? 2 : 3);
    }
    bc_text_bytes(out, s.ptr + plain, s.len - plain);
    bc_text_char(out, '"');
}

bool bc_is_identifier(tv_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool later = (c >= '0' && c <= '9') || c == '.' || c == '$';
        if (!letter && !(later && i))
            return false;
    }
    return s.len > 0;
}

static void print_key(bc_text *out, tv_str s)
{
    if (bc_is_identifier(s))
        bc_text_str(out, s);
    else
        bc_print_string(out, s);
}

void bc_print_symbol(bc_text *out, tv_str s)
{
    bc_text_char(out, '@');
    print_key(out, s);
}

void bc_print_enum_word(bc_text *out, bc_enum_id id)
{
    if (id == BC_ENUM_RoundingMode || id == BC_ENUM_IntegerOverflow) {
        bc_text_puts(out, id == BC_ENUM_RoundingMode ? "rounding" : "overflow");
        return;
    }
    const char *name = bc_enum_name(id); /* MemoryScope becomes memory_scope */
    for (size_t i = 0; name[i]; i++) {
        bool upper = name[i] >= 'A' && name[i] <= 'Z';
        if (upper && i && !(name[i - 1] >= 'A' && name[i - 1] <= 'Z'))
            bc_text_char(out, '_');
        bc_text_char(out, upper ? (char)(name[i] - 'A' + 'a') : name[i]);
    }
}

void bc_print_enum_attr(bc_text *out, bc_enum_id id, uint64_t number)
{
    bc_text_puts(out, "#cuda_tile.");
    bc_print_enum_word(out, id);
    bc_text_printf(out, "<%s>", bc_enum_text(id, number));
}

/* ---- types ---- */

static void print_size(bc_text *out, int64_t size)
{
    if (size == BC_DYNAMIC)
        bc_text_char(out, '?');
    else
        bc_print_i64(out, size);
}

static void print_shape(bc_text *out, const bc_type *t)
{
    for (uint32_t d = 0; d < t->rank; d++) {
        print_size(out, t->shape[d]);
        bc_text_char(out, 'x');
    }
}

static void print_tensor_view(bc_text *out, const bc_type *t)
{
    print_shape(out, t);
    bc_print_type(out, t->elem, false);
    if (t->rank || t->result_count) {
        bc_text_puts(out, ", strides=[");
        for (uint32_t d = 0; d < t->result_count; d++) {
            if (d)
                bc_text_char(out, ',');
            print_size(out, t->strides[d]);
        }
        bc_text_char(out, ']');
    }
}

static bool is_identity(const int64_t *map, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (map[i] != i)
            return false;
    return true;
}

static void print_tile_view(bc_text *out, const bc_type *t)
{
    bc_text_puts(out, "tile=(");
    print_ints(out, t->shape, t->rank, "x");
    bc_text_puts(out, "), ");
    if (t->kind == BC_STRIDED_VIEW) {
        bc_text_puts(out, "traversal_strides=[");
        print_ints(out, t->strides, t->stride_count, ",");
        bc_text_puts(out, "], ");
    }
    if (t->padding != BC_NO_PADDING) {
        bc_text_puts(out, "padding_value = ");
        bc_text_puts(out, bc_enum_text(BC_ENUM_PaddingValue, t->padding));
        bc_text_puts(out, ", ");
    }
    bc_print_type(out, t->elem, false);
    if (t->kind == BC_GATHER_SCATTER_VIEW) {
        bc_text_puts(out, ", sparse_dim=");
        bc_print_i64(out, t->sparse_dim);
    } else if (t->result_count != t->rank || !is_identity(t->dim_map, t->result_count)) {
        bc_text_puts(out, ", dim_map=[");
        print_ints(out, t->dim_map, t->result_count, ", ");
        bc_text_char(out, ']');
    }
}

static void print_function_type(bc_text *out, const bc_type *t)
{
    uint32_t count = t->rank + t->result_count;
    bc_text_char(out, '(');
    for (uint32_t i = 0; i < count; i++) {
        bc_text_puts(out, i == t->rank ? ") -> (" : i ? ", " : "");
        bc_print_type(out, t->members[i], false);
    }
    bc_text_puts(out, t->result_count ? ")" : ") -> ()");
}

static void print_payload(bc_text *out, const bc_type *t)
{
    if (t->kind == BC_PTR)
        bc_print_type(out, t->elem, false);
    else if (t->kind == BC_TENSOR_VIEW)
        print_tensor_view(out, t);
    else if (t->kind != BC_TILE)
        print_tile_view(out, t);
    else {
        print_shape(out, t);
        bc_print_type(out, t->elem, false);
    }
    if ((t->kind != BC_PTR && t->kind != BC_TENSOR_VIEW) || t->ptr_attr == BC_NO_PTR_ATTR)
        return;
    bc_text_puts(out, t->kind == BC_PTR ? ", " : ", #cuda_tile.ptr_attr");
    bc_text_printf(out, "<%s>", bc_enum_text(BC_ENUM_PtrAttr, t->ptr_attr));
}

void bc_print_type(bc_text *out, const bc_type *t, bool prefix)
{
    if (t->kind == BC_FUNCTION) {
        print_function_type(out, t);
        return;
    }
    bool composite = bc_kinds[t->kind].kind_class == BC_CLASS_COMPOSITE;
    if (prefix && (composite || t->kind == BC_TOKEN))
        bc_text_puts(out, "!cuda_tile.");
    bc_text_puts(out, bc_kinds[t->kind].text);
    if (!composite)
        return;
    bc_text_char(out, '<');
    print_payload(out, t);
    bc_text_char(out, '>');
}

/* ---- attributes ---- */

static bool is_number(const bc_type *t)
{
    return t && bc_kinds[t->kind].kind_class <= BC_CLASS_FLOAT;
}

/* The number without its type. */
static void print_number(bc_text *out, const bc_tagged *a)
{
    if (is_number(a->type))
        bc_print_number(out, (bc_kind)a->type->kind, a->u.bits);
    else
        bc_text_printf(out, "0x%llX", (unsigned long long)a->u.bits);
}

/* i64, i1 and f64 are left out, but not where an f64 is a bit pattern: 0x7FF0000000000000 alone is an integer. */
static void print_typed_number(bc_text *out, const bc_tagged *a)
{
    size_t start = out->len;
    print_number(out, a);
    bool pattern = out->len - start > 2 && out->ptr[start + 1] == 'x';
    bc_kind kind = a->type ? (bc_kind)a->type->kind : BC_KIND_COUNT;
    if (kind == BC_I1 || kind == BC_I64 || (kind == BC_F64 && !pattern))
        return;
    bc_text_puts(out, " : ");
    if (a->type)
        bc_print_type(out, a->type, true);
    else
        bc_text_puts(out, "none");
}

static void print_dict(bc_text *out, const bc_dict *dict, bool hints);

/* In hints an i32 goes without its type, elsewhere an i64. */
static void print_hint(bc_text *out, const bc_tagged *a)
{
    if (a->tag == BC_TAG_INTEGER && a->type && a->type->kind == BC_I32)
        print_number(out, a);
    else if (a->tag == BC_TAG_INTEGER && a->type && a->type->kind == BC_I64) {
        print_number(out, a);
        bc_text_puts(out, " : i64");
    } else if (a->tag == BC_TAG_DICTIONARY)
        print_dict(out, &a->u.dict, true);
    else
        bc_print_tagged(out, a);
}

static int by_key(const void *a, const void *b)
{
    tv_str x = (*(const bc_entry *const *)a)->key->s, y = (*(const bc_entry *const *)b)->key->s;
    int order = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    return order ? order : x.len < y.len ? -1 : x.len > y.len;
}

/* MLIR keeps dictionaries sorted by key, whatever the order in the file. */
static void print_entries(bc_text *out, const bc_dict *dict, bool hints)
{
    enum { FEW = 16 };
    const bc_entry *few[FEW], **sorted = few;
    size_t size = dict->count * sizeof *sorted;
    if (dict->count > FEW)
        sorted = out->allocator.alloc(out->allocator.user, size);
    if (!sorted) {
        out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < dict->count; i++)
        sorted[i] = &dict->entries[i];
    qsort(sorted, dict->count, sizeof *sorted, by_key);
    for (uint32_t i = 0; i < dict->count; i++) {
        if (i)
            bc_text_puts(out, ", ");
        print_key(out, sorted[i]->key->s);
        bc_text_puts(out, " = ");
        if (hints)
            print_hint(out, &sorted[i]->value);
        else
            bc_print_tagged(out, &sorted[i]->value);
    }
    if (sorted != few)
        out->allocator.release(out->allocator.user, sorted, size);
}

static void print_dict(bc_text *out, const bc_dict *dict, bool hints)
{
    bc_text_char(out, '{');
    print_entries(out, dict, hints);
    bc_text_char(out, '}');
}

void bc_print_hints(bc_text *out, const bc_tagged *hints)
{
    bc_text_char(out, '<');
    print_entries(out, &hints->u.dict, true);
    bc_text_char(out, '>');
}

static void print_bound(bc_text *out, bool has, int64_t value)
{
    if (has)
        bc_print_i64(out, value);
    else
        bc_text_char(out, '?');
}

static void print_div_by(bc_text *out, const bc_tagged *a)
{
    bc_text_printf(out, "div_by<%llu", (unsigned long long)a->u.bits);
    if (a->has_a || a->has_b)
        bc_text_char(out, ',');
    if (a->has_a)
        bc_text_printf(out, " every %lld", (long long)a->a);
    if (a->has_b)
        bc_text_printf(out, " along %lld", (long long)a->b);
    bc_text_char(out, '>');
}

static bool print_bare_predicate(bc_text *out, const bc_tagged *a)
{
    switch (a->tag) {
    case BC_TAG_DIV_BY: print_div_by(out, a); return true;
    case BC_TAG_SAME_ELEMENTS:
        bc_text_puts(out, "same_elements<[");
        print_ints(out, a->u.ints.ptr, a->u.ints.count, ", ");
        bc_text_puts(out, "]>");
        return true;
    case BC_TAG_BOUNDED:
        bc_text_puts(out, "bounded<");
        print_bound(out, a->has_a, a->a);
        bc_text_puts(out, ", ");
        print_bound(out, a->has_b, a->b);
        bc_text_char(out, '>');
        return true;
    default: return false;
    }
}

void bc_print_predicate(bc_text *out, const bc_tagged *a)
{
    if (!print_bare_predicate(out, a))
        bc_print_tagged(out, a);
}

void bc_print_tagged(bc_text *out, const bc_tagged *a)
{
    switch ((bc_tag)a->tag) {
    case BC_TAG_INTEGER:
    case BC_TAG_FLOAT: print_typed_number(out, a); break;
    case BC_TAG_BOOL: bc_text_puts(out, a->u.bits ? "true" : "false"); break;
    case BC_TAG_TYPE: bc_print_type(out, a->type, true); break;
    case BC_TAG_STRING: bc_print_string(out, a->u.string->s); break;
    case BC_TAG_ARRAY:
        bc_text_char(out, '[');
        for (uint32_t i = 0; i < a->u.array.count; i++) {
            if (i)
                bc_text_puts(out, ", ");
            bc_print_tagged(out, &a->u.array.items[i]);
        }
        bc_text_char(out, ']');
        break;
    case BC_TAG_DICTIONARY: print_dict(out, &a->u.dict, false); break;
    case BC_TAG_HINTS:
        bc_text_puts(out, "#cuda_tile.optimization_hints");
        bc_print_hints(out, a);
        break;
    case BC_TAG_DIV_BY:
    case BC_TAG_SAME_ELEMENTS:
    case BC_TAG_BOUNDED:
        bc_text_puts(out, "#cuda_tile.");
        print_bare_predicate(out, a);
        break;
    case BC_TAG_DENSE: /* the reader refuses it */ break;
    }
}

/* ---- constants ---- */

enum { HEX_ABOVE = 100 }; /* elements that are not all the same; MLIR's default */

static void print_byte(bc_text *out, uint8_t byte)
{
    static const char hex[] = "0123456789ABCDEF";
    char pair[2] = {hex[byte >> 4], hex[byte & 15]};
    bc_text_bytes(out, pair, 2);
}

void bc_print_hex(bc_text *out, const bc_blob *blob)
{
    bc_text_puts(out, "\"0x");
    for (size_t i = 0; i < blob->len; i++)
        print_byte(out, blob->ptr[i]);
    bc_text_char(out, '"');
}

/* The elements as bytes; MLIR gives an i1 a byte, the record a bit. */
static void print_hex_elements(bc_text *out, const bc_dense *d)
{
    if (d->kind != BC_I1) {
        bc_print_hex(out, d->blob);
        return;
    }
    bc_text_puts(out, "\"0x");
    for (uint64_t i = 0; i < d->count; i++)
        print_byte(out, (uint8_t)bc_dense_get(d, i));
    bc_text_char(out, '"');
}

static void print_elements(bc_text *out, const bc_dense *d, const bc_type *type)
{
    uint64_t inner[32], done = 0; /* elements in one entry of dimension k */
    uint32_t rank = type->rank;   /* sizes of 1 may make it large, though */
    uint64_t size = 1;
    for (uint32_t k = rank; k-- > 0;) {
        size *= (uint64_t)type->shape[k];
        if (k < 32)
            inner[k] = size;
    }
    for (; done < d->count; done++) {
        if (done)
            bc_text_puts(out, ", ");
        for (uint32_t k = 0; k < rank; k++)
            if (done % inner[k] == 0)
                bc_text_char(out, '[');
        bc_print_number(out, d->kind, bc_dense_get(d, done));
        for (uint32_t k = 0; k < rank; k++)
            if ((done + 1) % inner[k] == 0)
                bc_text_char(out, ']');
    }
}

void bc_print_constant(bc_text *out, bc_dense_cache *cache, const bc_type *type, const bc_blob *blob)
{
    bc_dense d = bc_dense_of(cache, type, blob);
    bc_text_char(out, '<');
    bc_print_type(out, bc_is_tile(type) ? type->elem : type, false);
    bc_text_puts(out, ": ");
    if (!d.valid)
        bc_print_hex(out, blob);
    else if (!d.splat && (d.count > HEX_ABOVE || type->rank > 32))
        print_hex_elements(out, &d);
    else if (d.splat)
        bc_print_number(out, d.kind, bc_dense_get(&d, 0));
    else
        print_elements(out, &d, type);
    bc_text_char(out, '>');
}
