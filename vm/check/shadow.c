/* The records of memory, and sets of readers. */
#include "vm/check/shadow.h"

#include <string.h>

/* ---- chunks ---- */

static size_t chunk_bytes(unsigned shift)
{
    return sizeof(vm_chunk) + ((size_t)1 << VM_CHUNK_BITS >> shift) * sizeof(vm_cell);
}

/* The slot of the chunk, or the free one for it. */
static vm_chunk **place_of(const vm_shadow *s, uint64_t key)
{
    size_t i = (size_t)(key * 0x9e3779b97f4a7c15u >> 24) & (s->chunk_capacity - 1);
    while (s->chunks[i] && s->chunks[i]->key != key)
        i = (i + 1) & (s->chunk_capacity - 1);
    return &s->chunks[i];
}

static vm_chunk *find_chunk(vm_shadow *s, uint64_t key)
{
    if (s->hit && s->hit->key == key)
        return s->hit;
    vm_chunk *chunk = s->chunk_capacity ? *place_of(s, key) : NULL;
    if (chunk)
        s->hit = chunk;
    return chunk;
}

static bool make_room(vm_shadow *s, const tv_allocator *memory)
{
    if (s->chunk_count * 2 < s->chunk_capacity)
        return true;
    vm_shadow larger = {.chunk_capacity = s->chunk_capacity ? 2 * s->chunk_capacity : 256};
    larger.chunks = memory->alloc(memory->user, larger.chunk_capacity * sizeof(vm_chunk *));
    if (!larger.chunks)
        return false;
    for (size_t i = 0; i < larger.chunk_capacity; i++)
        larger.chunks[i] = NULL;
    for (size_t i = 0; i < s->chunk_capacity; i++)
        if (s->chunks[i])
            *place_of(&larger, s->chunks[i]->key) = s->chunks[i];
    if (s->chunks)
        memory->release(memory->user, s->chunks, s->chunk_capacity * sizeof(vm_chunk *));
    s->chunks = larger.chunks;
    s->chunk_capacity = larger.chunk_capacity;
    return true;
}

static vm_chunk *new_chunk(const tv_allocator *memory, uint64_t key, unsigned shift)
{
    vm_chunk *chunk = memory->alloc(memory->user, chunk_bytes(shift));
    if (!chunk)
        return NULL;
    memset(chunk, 0, chunk_bytes(shift));
    chunk->key = key;
    chunk->shift = (uint8_t)shift;
    return chunk;
}

/* Replaces the chunk by one with smaller cells, each with the contents of the larger cell that contained it. */
static vm_chunk *refine(vm_shadow *s, const tv_allocator *memory, vm_chunk *coarse, unsigned shift)
{
    vm_chunk *fine = new_chunk(memory, coarse->key, shift);
    if (!fine)
        return NULL;
    for (size_t i = 0; i < (size_t)1 << VM_CHUNK_BITS >> shift; i++)
        fine->cells[i] = coarse->cells[i << shift >> coarse->shift];
    *place_of(s, coarse->key) = fine;
    memory->release(memory->user, coarse, chunk_bytes(coarse->shift));
    s->hit = fine;
    return fine;
}

static unsigned shift_of(unsigned bytes)
{
    unsigned shift = 0;
    while (bytes >> (shift + 1))
        shift++;
    return shift;
}

vm_cell *vm_shadow_cells(vm_shadow *s, const tv_allocator *memory, uint64_t address, unsigned bytes,
                         unsigned *out_count)
{
    uint64_t key = address >> VM_CHUNK_BITS;
    unsigned shift = shift_of(bytes);
    vm_chunk *chunk = find_chunk(s, key);
    if (!chunk) {
        chunk = make_room(s, memory) ? new_chunk(memory, key, shift) : NULL;
        if (!chunk)
            return NULL;
        *place_of(s, key) = s->hit = chunk;
        s->chunk_count++;
    } else if (chunk->shift > shift) {
        chunk = refine(s, memory, chunk, shift);
        if (!chunk)
            return NULL;
    }
    *out_count = bytes >> chunk->shift;
    return &chunk->cells[(address & (((uint64_t)1 << VM_CHUNK_BITS) - 1)) >> chunk->shift];
}

void vm_shadow_forget(vm_shadow *s, uint64_t start, uint64_t bytes)
{
    for (uint64_t at = start; at < start + bytes;) {
        uint64_t end = ((at >> VM_CHUNK_BITS) + 1) << VM_CHUNK_BITS;
        vm_chunk *chunk = find_chunk(s, at >> VM_CHUNK_BITS);
        if (end > start + bytes)
            end = start + bytes;
        if (chunk) {
            size_t first = (size_t)(at - (chunk->key << VM_CHUNK_BITS)) >> chunk->shift;
            size_t last = (size_t)(end - 1 - (chunk->key << VM_CHUNK_BITS)) >> chunk->shift;
            memset(&chunk->cells[first], 0, (last - first + 1) * sizeof(vm_cell));
        }
        at = end;
    }
}

/* ---- sets of readers ---- */

static size_t hash_set(const vm_readers *r)
{
    uint64_t x = ((uint64_t)r->first << 32 | r->last) * 0x9e3779b97f4a7c15u ^ (uint64_t)r->next * 0xc2b2ae3d27d4eb4fu;
    return (size_t)(x >> 24);
}

static uint32_t *set_place(const vm_shadow *s, const vm_readers *wanted)
{
    size_t i = hash_set(wanted) & (s->set_hash_size - 1);
    for (; s->set_hash[i]; i = (i + 1) & (s->set_hash_size - 1)) {
        const vm_readers *r = vm_shadow_readers(s, s->set_hash[i]);
        if (r->first == wanted->first && r->last == wanted->last && r->next == wanted->next)
            break;
    }
    return &s->set_hash[i];
}

static bool make_set_room(vm_shadow *s, const tv_allocator *memory)
{
    if (s->set_count < s->set_capacity)
        return true;
    size_t larger = s->set_capacity ? 2 * s->set_capacity : 256;
    vm_readers *sets = larger < UINT32_MAX ? memory->alloc(memory->user, larger * sizeof *sets) : NULL;
    uint32_t *hash = sets ? memory->alloc(memory->user, 2 * larger * sizeof *hash) : NULL;
    if (!hash) {
        if (sets)
            memory->release(memory->user, sets, larger * sizeof *sets);
        return false;
    }
    memset(hash, 0, 2 * larger * sizeof *hash);
    if (s->sets) {
        memcpy(sets, s->sets, s->set_count * sizeof *sets);
        memory->release(memory->user, s->sets, s->set_capacity * sizeof *sets);
        memory->release(memory->user, s->set_hash, s->set_hash_size * sizeof *hash);
    }
    s->sets = sets;
    s->set_capacity = larger;
    s->set_hash = hash;
    s->set_hash_size = 2 * larger;
    for (uint32_t id = 1; id <= s->set_count; id++)
        *set_place(s, vm_shadow_readers(s, id)) = id;
    return true;
}

uint32_t vm_shadow_set(vm_shadow *s, const tv_allocator *memory, const vm_readers *items, unsigned count,
                       bool *out_failed)
{
    uint32_t set = 0;
    for (unsigned i = count; i-- > 0;) {
        vm_readers wanted = {items[i].first, items[i].last, set};
        if (!make_set_room(s, memory)) {
            *out_failed = true;
            return 0;
        }
        uint32_t *place = set_place(s, &wanted);
        if (!*place) {
            s->sets[s->set_count++] = wanted;
            *place = s->set_count;
        }
        set = *place;
    }
    return set;
}

void vm_shadow_release(vm_shadow *s, const tv_allocator *memory)
{
    for (size_t i = 0; i < s->chunk_capacity; i++)
        if (s->chunks[i])
            memory->release(memory->user, s->chunks[i], chunk_bytes(s->chunks[i]->shift));
    if (s->chunks)
        memory->release(memory->user, s->chunks, s->chunk_capacity * sizeof(vm_chunk *));
    if (s->sets) {
        memory->release(memory->user, s->sets, s->set_capacity * sizeof *s->sets);
        memory->release(memory->user, s->set_hash, s->set_hash_size * sizeof *s->set_hash);
    }
    *s = (vm_shadow){0};
}
