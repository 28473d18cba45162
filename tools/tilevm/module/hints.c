/* Hints are dictionaries: target -> name -> value, with keys in order. They are rebuilt, since those of a module that
   was read may share memory with others. */
#include "tools/tilevm/module/hints.h"

#include <stdio.h>
#include <string.h>

#include "bytecode/base/text.h"

static const hints_kind kinds[HINTS_KINDS] = {{"occupancy", "occupancy"},
                                              {"num_cta_in_cga", "num_ctas"},
                                              {"num_worker_warps_per_cta", "num_worker_warps"}};

const hints_kind *hints_kind_at(size_t index)
{
    return index < HINTS_KINDS ? &kinds[index] : NULL;
}

const hints_kind *hints_kind_find(tv_str name)
{
    for (size_t i = 0; i < HINTS_KINDS; i++)
        if (bc_str_is(name, kinds[i].name) || bc_str_is(name, kinds[i].cutile))
            return &kinds[i];
    return NULL;
}

/* In the order of keys. */
static bool is_before(const bc_entry *a, const bc_entry *b)
{
    tv_str x = a->key->s, y = b->key->s;
    int order = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    return order ? order < 0 : x.len < y.len;
}

/* The dictionary with the entry put in its place among the keys, or in that of the same key. False: out of memory. */
static bool put_entry(bc_module *m, const bc_dict *old, const bc_entry *entry, bc_dict *out)
{
    bc_entry *entries = bc_new(&m->arena, bc_entry, (size_t)old->count + 1);
    uint32_t count = 0, i = 0;
    if (!entries)
        return false;
    while (i < old->count && is_before(&old->entries[i], entry))
        entries[count++] = old->entries[i++];
    entries[count++] = *entry;
    i += i < old->count && bc_str_eq(old->entries[i].key->s, entry->key->s);
    while (i < old->count)
        entries[count++] = old->entries[i++];
    *out = (bc_dict){entries, count};
    return true;
}

static const bc_entry *find_entry(const bc_dict *dict, tv_str key)
{
    for (uint32_t i = 0; i < dict->count; i++)
        if (bc_str_eq(dict->entries[i].key->s, key))
            return &dict->entries[i];
    return NULL;
}

bool hints_set(bc_module *m, bc_function *f, unsigned sm, const hints_kind *kind, int64_t value)
{
    static const bc_dict none = {NULL, 0};
    char target[16];
    snprintf(target, sizeof target, "sm_%u", sm);
    const bc_dict *all = f->hints ? &f->hints->u.dict : &none;
    const bc_entry *old = find_entry(all, bc_str(target));
    bc_entry of_target = {.key = bc_string_add(m, bc_str(target), true), .value = {.tag = BC_TAG_DICTIONARY}};
    bc_entry hint = {.key = bc_string_add(m, bc_str(kind->name), false),
                     .value = {.tag = BC_TAG_INTEGER, .type = bc_type_scalar(m, BC_I32), .u.bits = (uint64_t)value}};
    bc_tagged *hints = bc_new(&m->arena, bc_tagged, 1);
    if (!of_target.key || !hint.key || !hint.value.type || !hints)
        return false;
    const bc_dict *before = old && old->value.tag == BC_TAG_DICTIONARY ? &old->value.u.dict : &none;
    *hints = (bc_tagged){.tag = BC_TAG_HINTS};
    if (!put_entry(m, before, &hint, &of_target.value.u.dict) || !put_entry(m, all, &of_target, &hints->u.dict))
        return false;
    f->hints = hints;
    return true;
}
