/* Chunks of cells, in a hash table with open addresses. */
#include "vm/precision/cells.h"

#include <string.h>

static size_t chunk_bytes(unsigned bytes)
{
    return sizeof(vm_kept_chunk) + ((size_t)1 << VM_KEPT_BITS) / bytes * sizeof(vm_kept);
}

/* The slot of a chunk, or the free one for it. */
static vm_kept_chunk **slot_of(vm_kept_chunk **chunks, size_t capacity, uint64_t key)
{
    size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) % capacity;
    while (chunks[i] && chunks[i]->key != key)
        i = i + 1 < capacity ? i + 1 : 0;
    return &chunks[i];
}

static vm_kept_chunk *find_chunk(vm_cells *c, uint64_t key)
{
    if (c->hit && c->hit->key == key)
        return c->hit;
    vm_kept_chunk *chunk = c->capacity ? *slot_of(c->chunks, c->capacity, key) : NULL;
    return chunk ? (c->hit = chunk) : NULL;
}

static bool grow(vm_cells *c, const tv_allocator *memory)
{
    size_t larger = c->capacity ? 2 * c->capacity : 64;
    vm_kept_chunk **chunks = memory->alloc(memory->user, larger * sizeof(vm_kept_chunk *));
    if (!chunks)
        return false;
    memset(chunks, 0, larger * sizeof(vm_kept_chunk *));
    for (size_t i = 0; i < c->capacity; i++)
        if (c->chunks[i])
            *slot_of(chunks, larger, c->chunks[i]->key) = c->chunks[i];
    if (c->chunks)
        memory->release(memory->user, c->chunks, c->capacity * sizeof(vm_kept_chunk *));
    c->chunks = chunks;
    c->capacity = larger;
    return true;
}

/* The chunk for elements of that size. Cells of another size are dropped: their elements are overwritten, or count as
   exact from now on. */
static vm_kept_chunk *make_chunk(vm_cells *c, const tv_allocator *memory, uint64_t key, unsigned bytes)
{
    vm_kept_chunk *chunk = memory->alloc(memory->user, chunk_bytes(bytes));
    if (!chunk)
        return NULL;
    memset(chunk, 0, chunk_bytes(bytes));
    chunk->key = key;
    chunk->bytes = bytes;
    vm_kept_chunk **slot = slot_of(c->chunks, c->capacity, key);
    if (*slot)
        memory->release(memory->user, *slot, chunk_bytes((*slot)->bytes));
    else
        c->count++;
    return c->hit = *slot = chunk;
}

static vm_kept *cell_in(vm_kept_chunk *chunk, uint64_t address)
{
    return &chunk->cells[(address & (((uint64_t)1 << VM_KEPT_BITS) - 1)) / chunk->bytes];
}

vm_kept *vm_cells_make(vm_cells *c, const tv_allocator *memory, uint64_t address, unsigned bytes)
{
    uint64_t key = address >> VM_KEPT_BITS;
    vm_kept_chunk *chunk = find_chunk(c, key);
    if (!chunk || chunk->bytes != bytes) {
        if (2 * c->count >= c->capacity && !grow(c, memory))
            return NULL;
        chunk = make_chunk(c, memory, key, bytes);
    }
    return chunk ? cell_in(chunk, address) : NULL;
}

const vm_kept *vm_cells_find(vm_cells *c, uint64_t address, unsigned bytes, uint64_t bits)
{
    vm_kept_chunk *chunk = find_chunk(c, address >> VM_KEPT_BITS);
    const vm_kept *kept = chunk && chunk->bytes == bytes ? cell_in(chunk, address) : NULL;
    return kept && kept->set && kept->bits == bits ? kept : NULL;
}

void vm_cells_release(vm_cells *c, const tv_allocator *memory)
{
    for (size_t i = 0; i < c->capacity; i++)
        if (c->chunks[i])
            memory->release(memory->user, c->chunks[i], chunk_bytes(c->chunks[i]->bytes));
    if (c->chunks)
        memory->release(memory->user, c->chunks, c->capacity * sizeof(vm_kept_chunk *));
    *c = (vm_cells){0};
}
