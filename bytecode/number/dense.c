/* Constant records as elements. A record holds one element for all, or every element; i1 is packed by the bit, its
   splat is one byte, 00 or FF. Source: format reference, section 5. */
#include "bytecode/number/dense.h"

#include <string.h>

#include "bytecode/number/number.h"

bool bc_dense_cache_init(bc_dense_cache *cache, bc_arena *scratch, const bc_module *m)
{
    cache->of = bc_new(scratch, bc_dense, m->constant_count);
    cache->type = bc_new(scratch, const bc_type *, m->constant_count);
    return cache->of && cache->type;
}

static bool all_bits_same(const bc_dense *d)
{
    const uint8_t *p = d->blob->ptr;
    uint8_t byte = p[0] & 1 ? 0xff : 0;
    for (uint64_t i = 0; i < d->count / 8; i++)
        if (p[i] != byte)
            return false;
    unsigned rest = (unsigned)(d->count % 8), mask = (1u << rest) - 1;
    return rest == 0 || (p[d->count / 8] & mask) == (byte & mask);
}

static void look_at_bits(bc_dense *d)
{
    const bc_blob *b = d->blob;
    bool splat_byte = b->len == 1 && (b->ptr[0] == 0 || b->ptr[0] == 0xff);
    d->full = !splat_byte;
    d->valid = splat_byte || b->len == (d->count + 7) / 8;
    d->splat = splat_byte || (d->valid && all_bits_same(d));
}

static bc_dense look(const bc_type *type, const bc_blob *blob)
{
    bc_dense d = {.blob = blob, .kind = bc_elem_kind(type)};
    int64_t count = bc_is_tile(type) ? bc_shape_elems(type->shape, type->rank) : -1;
    if (count < 0 || !bc_kind_in(d.kind, BC_SET_NUMBER))
        return d;
    d.count = (uint64_t)count;
    if (d.kind == BC_I1) {
        look_at_bits(&d);
        return d;
    }
    size_t size = bc_kind_constant_bytes(d.kind);
    d.full = blob->len != size;
    d.valid = blob->len == size || blob->len == size * d.count;
    d.splat = d.valid && (!d.full || memcmp(blob->ptr, blob->ptr + size, blob->len - size) == 0);
    return d;
}

bc_dense bc_dense_of(bc_dense_cache *cache, const bc_type *type, const bc_blob *blob)
{
    if (!cache->of || blob->index == BC_IN_NO_TABLE)
        return look(type, blob);
    if (cache->type[blob->index] != type) {
        cache->of[blob->index] = look(type, blob);
        cache->type[blob->index] = type;
    }
    return cache->of[blob->index];
}

uint64_t bc_dense_get(const bc_dense *d, uint64_t index)
{
    if (!d->full)
        index = 0;
    const uint8_t *p = d->blob->ptr;
    if (d->kind == BC_I1)
        return d->full ? p[index / 8] >> (index % 8) & 1 : p[0] != 0;
    size_t size = bc_kind_constant_bytes(d->kind);
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits |= (uint64_t)p[index * size + i] << 8 * i;
    return bits & bc_int_mask(bc_kind_bits(d->kind));
}
