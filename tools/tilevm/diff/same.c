/* Equality by content, and the hashes that go with it. Trees are as deep as the reader allows, dictionaries as large.
 */
#include "tools/tilevm/diff/same.h"

#include <string.h>

#include "bytecode/base/text.h"
#include "bytecode/number/dense.h"

static bool same_ints(const int64_t *a, const int64_t *b, uint32_t count)
{
    return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

bool same_type(const bc_type *a, const bc_type *b)
{
    if (a == b || !a || !b)
        return a == b;
    if (a->kind != b->kind || a->padding != b->padding || a->ptr_attr != b->ptr_attr || a->rank != b->rank
        || a->result_count != b->result_count || a->stride_count != b->stride_count || a->sparse_dim != b->sparse_dim)
        return false;
    if (!same_type(a->elem, b->elem) || (a->shape && !same_ints(a->shape, b->shape, a->rank)))
        return false;
    uint32_t strides = a->kind == BC_STRIDED_VIEW ? a->stride_count : a->result_count;
    if ((a->strides && !same_ints(a->strides, b->strides, strides))
        || (a->dim_map && !same_ints(a->dim_map, b->dim_map, a->result_count)))
        return false;
    for (uint32_t i = 0; a->members && i < a->rank + a->result_count; i++)
        if (!same_type(a->members[i], b->members[i]))
            return false;
    return true;
}

/* ---- tagged attributes ---- */

/* A bool and an integer of type i1 are one attribute: MLIR has no other bool, and writers differ in which tag they use.
 */
static bool is_truth(const bc_tagged *a)
{
    return a->tag == BC_TAG_BOOL || (a->tag == BC_TAG_INTEGER && a->type && a->type->kind == BC_I1);
}

static bool same_lists(const bc_list *a, const bc_list *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!same_tagged(&a->items[i], &b->items[i]))
            return false;
    return true;
}

static const bc_tagged *find_key(const bc_dict *dict, tv_str key)
{
    for (uint32_t i = 0; i < dict->count; i++)
        if (bc_str_eq(dict->entries[i].key->s, key))
            return &dict->entries[i].value;
    return NULL;
}

/* No key stands twice in a dictionary. */
static bool same_dicts(const bc_dict *a, const bc_dict *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!same_tagged(&a->entries[i].value, find_key(b, a->entries[i].key->s)))
            return false;
    return true;
}

bool same_tagged(const bc_tagged *a, const bc_tagged *b)
{
    if (a == b || !a || !b)
        return a == b;
    if (is_truth(a) && is_truth(b))
        return a->u.bits == b->u.bits;
    if (a->tag != b->tag || a->has_a != b->has_a || a->has_b != b->has_b || a->a != b->a || a->b != b->b
        || !same_type(a->type, b->type))
        return false;
    switch ((bc_tag)a->tag) {
    case BC_TAG_STRING: return bc_str_eq(a->u.string->s, b->u.string->s);
    case BC_TAG_ARRAY: return same_lists(&a->u.array, &b->u.array);
    case BC_TAG_DICTIONARY:
    case BC_TAG_HINTS: return same_dicts(&a->u.dict, &b->u.dict);
    case BC_TAG_SAME_ELEMENTS:
        return a->u.ints.count == b->u.ints.count && same_ints(a->u.ints.ptr, b->u.ints.ptr, a->u.ints.count);
    case BC_TAG_INTEGER:
    case BC_TAG_FLOAT:
    case BC_TAG_BOOL:
    case BC_TAG_DIV_BY: return a->u.bits == b->u.bits;
    case BC_TAG_TYPE:
    case BC_TAG_DENSE:
    case BC_TAG_BOUNDED: return true;
    }
    return false;
}

/* ---- constants ---- */

static bc_dense dense_of(const bc_type *type, const bc_blob *blob)
{
    return type ? bc_dense_of(&(bc_dense_cache){0}, type, blob) : (bc_dense){0};
}

bool same_constant(const bc_type *type, const bc_blob *a, const bc_blob *b)
{
    if (a->len == b->len && memcmp(a->ptr, b->ptr, a->len) == 0)
        return true;
    bc_dense x = dense_of(type, a), y = dense_of(type, b);
    if (!x.valid || !y.valid || x.splat != y.splat)
        return false;
    for (uint64_t i = 0; i < (x.splat ? 1 : x.count); i++)
        if (bc_dense_get(&x, i) != bc_dense_get(&y, i))
            return false;
    return true;
}

/* ---- attributes of ops ---- */

static bool all_zero(const bc_ints *ints)
{
    for (uint32_t i = 0; ints && i < ints->count; i++)
        if (ints->ptr[i])
            return false;
    return true;
}

bool same_attr(const bc_row *row, const bc_type *type, const bc_attr *a, const bc_attr *b)
{
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_STRING: return bc_str_eq(a->string->s, b->string->s);
    case BC_ENC_CONST: return same_constant(type, a->blob, b->blob);
    case BC_ENC_TAGGED:
    case BC_ENC_HINTS:
    case BC_ENC_ATTRS: return same_tagged(a->tagged, b->tagged);
    case BC_ENC_BOOLS: /* absent means all false */
        if (!a->ints || !b->ints)
            return all_zero(a->ints) && all_zero(b->ints);
        return a->ints->count == b->ints->count && same_ints(a->ints->ptr, b->ints->ptr, a->ints->count);
    case BC_ENC_I32S: return a->ints->count == b->ints->count && same_ints(a->ints->ptr, b->ints->ptr, a->ints->count);
    case BC_ENC_UNIT:
    case BC_ENC_ENUM:
    case BC_ENC_VARINT32:
    case BC_ENC_VARINT64:
    case BC_ENC_BOOL: return a->u == b->u;
    case BC_ENC_NONE: break;
    }
    return true;
}

/* ---- hashes ---- */

uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t mix_bytes(uint64_t h, const void *ptr, size_t len)
{
    const uint8_t *p = ptr;
    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x100000001B3u;
    return mix(h, len);
}

static uint64_t mix_ints(uint64_t h, const int64_t *p, uint32_t count)
{
    for (uint32_t i = 0; p && i < count; i++)
        h = mix(h, (uint64_t)p[i]);
    return mix(h, count);
}

uint64_t mix_type(uint64_t h, const bc_type *t)
{
    if (!t)
        return mix(h, 1);
    h = mix(mix(h, (uint64_t)t->kind << 16 | (uint64_t)t->padding << 8 | t->ptr_attr), t->sparse_dim);
    h = mix_ints(h, t->shape, t->shape ? t->rank : 0);
    h = mix_ints(h, t->strides, t->strides ? (t->kind == BC_STRIDED_VIEW ? t->stride_count : t->result_count) : 0);
    h = mix_ints(h, t->dim_map, t->dim_map ? t->result_count : 0);
    for (uint32_t i = 0; t->members && i < t->rank + t->result_count; i++)
        h = mix_type(h, t->members[i]);
    return mix_type(h, t->elem);
}

static uint64_t mix_tagged(uint64_t h, const bc_tagged *a);

/* A sum, so that the order of the keys does not count. */
static uint64_t mix_dict(uint64_t h, const bc_dict *dict)
{
    uint64_t sum = dict->count;
    for (uint32_t i = 0; i < dict->count; i++) {
        tv_str key = dict->entries[i].key->s;
        sum += mix_tagged(mix_bytes(0, key.ptr, key.len), &dict->entries[i].value);
    }
    return mix(h, sum);
}

static uint64_t mix_tagged(uint64_t h, const bc_tagged *a)
{
    if (!a)
        return mix(h, 1);
    if (is_truth(a))
        return mix(mix(h, BC_TAG_BOOL), a->u.bits);
    h = mix(mix_type(mix(h, a->tag), a->type), (uint64_t)a->a ^ (uint64_t)a->b << 1);
    switch ((bc_tag)a->tag) {
    case BC_TAG_STRING: return mix_bytes(h, a->u.string->s.ptr, a->u.string->s.len);
    case BC_TAG_SAME_ELEMENTS: return mix_ints(h, a->u.ints.ptr, a->u.ints.count);
    case BC_TAG_ARRAY:
        for (uint32_t i = 0; i < a->u.array.count; i++)
            h = mix_tagged(h, &a->u.array.items[i]);
        return h;
    case BC_TAG_DICTIONARY:
    case BC_TAG_HINTS: return mix_dict(h, &a->u.dict);
    case BC_TAG_INTEGER:
    case BC_TAG_FLOAT:
    case BC_TAG_BOOL:
    case BC_TAG_DIV_BY: return mix(h, a->u.bits);
    case BC_TAG_TYPE:
    case BC_TAG_DENSE:
    case BC_TAG_BOUNDED: break;
    }
    return h;
}

static uint64_t mix_constant(uint64_t h, const bc_type *type, const bc_blob *blob)
{
    bc_dense d = dense_of(type, blob);
    if (!d.valid)
        return mix_bytes(h, blob->ptr, blob->len);
    for (uint64_t i = 0; i < (d.splat ? 1 : d.count); i++)
        h = mix(h, bc_dense_get(&d, i));
    return mix(h, d.splat);
}

uint64_t mix_attr(uint64_t h, const bc_row *row, const bc_type *type, const bc_attr *a)
{
    switch ((bc_encoding)row->encoding) {
    case BC_ENC_STRING: return mix_bytes(h, a->string->s.ptr, a->string->s.len);
    case BC_ENC_CONST: return mix_constant(h, type, a->blob);
    case BC_ENC_TAGGED:
    case BC_ENC_HINTS:
    case BC_ENC_ATTRS: return mix_tagged(h, a->tagged);
    case BC_ENC_I32S: return mix_ints(h, a->ints->ptr, a->ints->count);
    case BC_ENC_BOOLS: /* trailing and absent false count for nothing */
        for (uint32_t i = 0; a->ints && i < a->ints->count; i++)
            if (a->ints->ptr[i])
                h = mix(h, i);
        return h;
    case BC_ENC_UNIT:
    case BC_ENC_ENUM:
    case BC_ENC_VARINT32:
    case BC_ENC_VARINT64:
    case BC_ENC_BOOL: return mix(h, a->u);
    case BC_ENC_NONE: break;
    }
    return h;
}
