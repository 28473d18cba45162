#include "tests/ptxsim/scope.h"

#include <stdlib.h>

static uint32_t hash_of(tv_str name)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char)name.ptr[i]) * 16777619u;
    return hash;
}

bool ps_scope_open(ps_scopes *s)
{
    if (s->depth == PS_MAX_SCOPES)
        return false;
    s->starts[s->depth++] = s->count;
    return true;
}

void ps_scope_close(ps_scopes *s)
{
    size_t start = s->starts[--s->depth];
    while (s->count > start) {
        const ps_symbol *symbol = &s->symbols[--s->count];
        s->buckets[symbol->hash % PS_BUCKETS] = symbol->next;
    }
}

void ps_scopes_release(ps_scopes *s)
{
    free(s->symbols);
}

ps_symbol *ps_scope_find(ps_scopes *s, tv_str name, bool label)
{
    uint32_t hash = hash_of(name);
    for (uint32_t i = s->buckets[hash % PS_BUCKETS]; i; i = s->symbols[i - 1].next) {
        ps_symbol *symbol = &s->symbols[i - 1];
        if (symbol->hash == hash && (symbol->kind == PS_SYMBOL_LABEL) == label && bc_str_eq(symbol->name, name))
            return symbol;
    }
    return NULL;
}

ps_symbol *ps_scope_add(ps_scopes *s, tv_str name, ps_symbol_kind kind)
{
    const ps_symbol *known = ps_scope_find(s, name, kind == PS_SYMBOL_LABEL);
    if (known && (size_t)(known - s->symbols) >= s->starts[s->depth - 1])
        return NULL;
    uint32_t hash = hash_of(name);
    s->symbols = ps_grow(s->symbols, s->count, &s->size, sizeof *s->symbols);
    ps_symbol *symbol = &s->symbols[s->count++];
    *symbol = (ps_symbol){.name = name, .kind = (uint8_t)kind, .hash = hash, .next = s->buckets[hash % PS_BUCKETS]};
    s->buckets[hash % PS_BUCKETS] = (uint32_t)s->count;
    return symbol;
}
