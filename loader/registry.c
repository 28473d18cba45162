/* A hash table with open addressing. Entries are removed by building the table again, which happens at unloads only. */
#include "loader/registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct item {
    const void *handle;      /* NULL: free */
    const void *owner;       /* itself for an owner */
    ld_image *image;         /* owners; one use */
    ld_jit *jit;             /* owners; NULL for cubins */
    const ld_record *record; /* functions */
} item;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static item *items;
static size_t capacity, count; /* a power of two or 0; at most half full */

static void release(item *one)
{
    ld_image_release(one->image);
    free(one->jit);
}

static size_t place_of(const item *table, size_t size, const void *handle)
{
    uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio: spreads addresses */
    size_t at = (size_t)(hash >> 32) & (size - 1);
    while (table[at].handle && table[at].handle != handle)
        at = (at + 1) & (size - 1);
    return at;
}

static item *find(const void *handle)
{
    if (!capacity || !handle)
        return NULL;
    item *found = &items[place_of(items, capacity, handle)];
    return found->handle ? found : NULL;
}

/* Moves what `keep` keeps to a table of that size; what the rest owns is released. */
static bool rebuild(size_t size, bool (*keep)(const item *, const void *), const void *handle)
{
    item *table = calloc(size, sizeof *table);
    if (!table)
        return false;
    size_t kept = 0;
    for (size_t i = 0; i < capacity; i++) {
        if (!items[i].handle)
            continue;
        if (keep(&items[i], handle)) {
            table[place_of(table, size, items[i].handle)] = items[i];
            kept++;
        } else {
            release(&items[i]);
        }
    }
    free(items);
    items = table;
    capacity = size;
    count = kept;
    return true;
}

static bool keep_all(const item *one, const void *handle)
{
    (void)one;
    (void)handle;
    return true;
}

static bool keep_others(const item *one, const void *handle)
{
    return one->handle != handle && one->owner != handle;
}

/* With the write lock. Without memory for a smaller table what is removed is only marked. */
static void forget(const void *handle)
{
    if (!find(handle) || rebuild(capacity, keep_others, handle))
        return;
    for (size_t i = 0; i < capacity; i++)
        if (items[i].handle && !keep_others(&items[i], handle)) {
            release(&items[i]);
            items[i] = (item){.handle = items[i].handle};
        }
}

/* With the write lock. */
static bool add(item one)
{
    item *known = find(one.handle);
    if (known) {
        *known = one;
        return true;
    }
    enum { FIRST = 64 };
    if (2 * (count + 1) > capacity && !rebuild(capacity ? 2 * capacity : FIRST, keep_all, NULL))
        return false;
    items[place_of(items, capacity, one.handle)] = one;
    count++;
    return true;
}

static bool add_locked(item one)
{
    pthread_rwlock_wrlock(&lock);
    bool added = add(one);
    pthread_rwlock_unlock(&lock);
    return added;
}

bool ld_registry_add_owner(const void *handle, ld_image *image, ld_jit *jit)
{
    item owner = {.handle = handle, .owner = handle, .image = image, .jit = jit};
    pthread_rwlock_wrlock(&lock);
    forget(handle);
    bool added = add(owner);
    pthread_rwlock_unlock(&lock);
    if (!added)
        release(&owner);
    return added;
}

bool ld_registry_add_alias(const void *handle, const void *owner)
{
    return handle == owner || add_locked((item){.handle = handle, .owner = owner});
}

bool ld_registry_add_function(const void *function, const void *owner, const ld_record *record)
{
    return add_locked((item){.handle = function, .owner = owner, .record = record});
}

const void *ld_registry_owner(const void *handle)
{
    pthread_rwlock_rdlock(&lock);
    const item *found = find(handle);
    const void *owner = found ? found->owner : NULL;
    pthread_rwlock_unlock(&lock);
    return owner;
}

const ld_record *ld_registry_entry_at(const void *owner, size_t index)
{
    pthread_rwlock_rdlock(&lock);
    const item *found = find(owner);
    const ld_image *image = found ? found->image : NULL;
    const ld_record *record = image && index < image->record_count ? &image->records[index] : NULL;
    pthread_rwlock_unlock(&lock);
    return record;
}

const ld_record *ld_registry_entry(const void *owner, const char *name)
{
    const ld_record *record;
    for (size_t i = 0; (record = ld_registry_entry_at(owner, i)) != NULL; i++)
        if (strcmp(record->name, name) == 0)
            return record;
    return NULL;
}

bool ld_registry_find(const void *function, ld_record *out)
{
    pthread_rwlock_rdlock(&lock);
    const item *found = find(function);
    bool ours = found && found->record;
    if (ours)
        *out = *found->record;
    pthread_rwlock_unlock(&lock);
    return ours;
}

bool ld_registry_jit_failed(const void *handle, tvResult code)
{
    if (!ld_jit_is_refusal(code))
        return false;
    bc_text words;
    bc_text_init(&words, NULL);
    pthread_rwlock_rdlock(&lock);
    const item *found = find(handle), *owner = found ? find(found->owner) : NULL;
    bool ours = owner && owner->jit;
    if (ours)
        ld_jit_explain(owner->jit, (tv_str){.ptr = (const char *)owner->image->bytes, .len = owner->image->size},
                       &words);
    pthread_rwlock_unlock(&lock);
    if (ours)
        ld_jit_fail(code, &words);
    bc_text_release(&words);
    return ours;
}

void ld_registry_forget(const void *handle)
{
    pthread_rwlock_rdlock(&lock);
    bool known = find(handle) != NULL;
    pthread_rwlock_unlock(&lock);
    if (!known)
        return;
    pthread_rwlock_wrlock(&lock);
    forget(handle);
    pthread_rwlock_unlock(&lock);
}
