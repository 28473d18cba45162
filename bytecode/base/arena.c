/* Arena: a list of blocks from the caller's allocator, each at least as large as half of what is held so far. */
#include "bytecode/base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bc_arena_block {
    bc_arena_block *older;
    size_t size; /* of the whole block, this header included */
};

enum { FIRST_BLOCK = 1024, LARGEST_STEP = 1 << 20, HEADER = 64 };

static void *default_alloc(void *user, size_t size)
{
    (void)user;
    return malloc(size);
}

static void default_release(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

tv_allocator bc_default_allocator(void)
{
    return (tv_allocator){.alloc = default_alloc, .release = default_release};
}

void bc_arena_init(bc_arena *arena, const tv_allocator *allocator, size_t limit)
{
    *arena = (bc_arena){
        .allocator = allocator ? *allocator : bc_default_allocator(),
        .limit = limit ? limit : SIZE_MAX,
    };
}

void bc_arena_release(bc_arena *arena)
{
    bc_arena_block *block = arena->blocks;
    while (block) {
        bc_arena_block *older = block->older;
        arena->allocator.release(arena->allocator.user, block, block->size);
        block = older;
    }
    arena->blocks = NULL;
    arena->next = arena->end = NULL;
    arena->held = 0;
}

static bool add_block(bc_arena *arena, size_t need)
{
    size_t step = arena->held / 2 < FIRST_BLOCK ? FIRST_BLOCK : arena->held / 2;
    if (step > LARGEST_STEP)
        step = LARGEST_STEP;
    if (need > SIZE_MAX - 2 * HEADER)
        return false;
    need += HEADER;
    size_t size = need > step ? need : step;
    if (size > arena->limit - arena->held)
        return false;
    bc_arena_block *block = arena->allocator.alloc(arena->allocator.user, size);
    if (!block)
        return false;
    block->older = arena->blocks;
    block->size = size;
    arena->blocks = block;
    arena->held += size;
    arena->next = (unsigned char *)(block + 1);
    arena->end = (unsigned char *)block + size;
    return true;
}

void bc_arena_reserve(bc_arena *arena, size_t size)
{
    add_block(arena, size); /* failing is fine: allocations will try again */
}

void *bc_arena_fail(bc_arena *arena)
{
    arena->failed = true;
    if (arena->tells)
        *(bool *)((char *)arena + arena->tells) = true;
    return NULL;
}

void *bc_arena_alloc(bc_arena *arena, size_t size, size_t align)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        if (arena->next) {
            size_t pad = (size_t)(-(uintptr_t)arena->next & (align - 1));
            size_t left = (size_t)(arena->end - arena->next);
            if (pad <= left && size <= left - pad) {
                void *memory = arena->next + pad;
                arena->next += pad + size;
                return memset(memory, 0, size);
            }
        }
        if (arena->failed || !add_block(arena, size))
            break;
    }
    return bc_arena_fail(arena);
}

void *bc_arena_array(bc_arena *arena, size_t count, size_t size, size_t align)
{
    if (size && count > SIZE_MAX / size)
        return bc_arena_fail(arena);
    return bc_arena_alloc(arena, count * size, align);
}

void *bc_arena_grow(bc_arena *arena, void *items, size_t count, size_t *capacity, size_t size, size_t align)
{
    if (count < *capacity)
        return items;
    size_t larger = *capacity ? *capacity * 2 : 8;
    void *copy = larger > *capacity ? bc_arena_array(arena, larger, size, align) : NULL;
    if (!copy)
        return bc_arena_fail(arena);
    if (count)
        memcpy(copy, items, count * size);
    *capacity = larger;
    return copy;
}

tv_str bc_arena_dup(bc_arena *arena, tv_str s)
{
    char *copy = bc_arena_alloc(arena, s.len + 1, 1);
    if (!copy)
        return (tv_str){0};
    if (s.len)
        memcpy(copy, s.ptr, s.len);
    return (tv_str){copy, s.len};
}
