/* Open addressing over a stack of bindings. */
#include "bytecode/print/scope.h"

#include "bytecode/base/text.h"

static uint32_t hash_name(tv_str s)
{
    uint32_t h = 0x811c9dc5u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (uint8_t)s.ptr[i]) * 0x01000193u;
    return h ^ h >> 15;
}

/* Slot that holds the name, or the free one where it belongs. */
static uint32_t *slot_of(const bc_scope *s, tv_str name, uint32_t hash)
{
    size_t i = hash & (s->slot_count - 1);
    while (s->slots[i]) {
        const bc_binding *b = &s->bindings[s->slots[i] - 1];
        if (b->hash == hash && bc_str_eq(b->name, name))
            break;
        i = (i + 1) & (s->slot_count - 1);
    }
    return &s->slots[i];
}

bc_binding *bc_scope_find(const bc_scope *s, tv_str name)
{
    if (!s->slot_count)
        return NULL;
    uint32_t index = *slot_of(s, name, hash_name(name));
    return index ? &s->bindings[index - 1] : NULL;
}

static bool grow(bc_scope *s)
{
    size_t larger = s->slot_count ? s->slot_count * 2 : 64;
    uint32_t *slots = bc_new(s->arena, uint32_t, larger);
    if (!slots)
        return false;
    s->slots = slots;
    s->slot_count = larger;
    for (size_t i = 0; i < s->count; i++)
        *slot_of(s, s->bindings[i].name, s->bindings[i].hash) = (uint32_t)i + 1;
    return true;
}

bool bc_scope_add(bc_scope *s, tv_str name, void *value, uint32_t count)
{
    if (s->count * 2 >= s->slot_count && !grow(s))
        return false;
    bc_binding *grown = bc_grow(s->arena, s->bindings, s->count, &s->capacity, bc_binding);
    if (!grown)
        return false;
    s->bindings = grown;
    uint32_t hash = hash_name(name);
    uint32_t *slot = slot_of(s, name, hash);
    s->bindings[s->count++] = (bc_binding){name, hash, count, value};
    *slot = (uint32_t)s->count;
    return true;
}

void bc_scope_unwind(bc_scope *s, size_t count)
{
    while (s->count > count) { /* the last one in ends its probe sequence, so its slot can simply be freed */
        const bc_binding *b = &s->bindings[s->count - 1];
        *slot_of(s, b->name, b->hash) = 0;
        s->count--;
    }
}
