/* Memory that is released all at once. Blocks grow with use, so small modules take little. */
#ifndef TILEVM_BYTECODE_BASE_ARENA_H
#define TILEVM_BYTECODE_BASE_ARENA_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

#include "tilevm/tilevm.h"

typedef struct bc_arena_block bc_arena_block;

typedef struct bc_arena {
    tv_allocator allocator;
    bc_arena_block *blocks;    /* newest first */
    unsigned char *next, *end; /* free part of the newest block */
    size_t held, limit;        /* bytes taken from the allocator; the most it may take (SIZE_MAX: no limit) */
    bool failed;               /* an allocation returned NULL; stays set */
    int32_t tells;             /* bytes from the arena to a bool beside it that is set, too; 0: there is none */
} bc_arena;

/* allocator NULL: malloc and free. limit 0: none. Allocates nothing yet. */
void bc_arena_init(bc_arena *arena, const tv_allocator *allocator, size_t limit);
void bc_arena_release(bc_arena *arena);
/* Takes one block with room for size bytes now; a guess that saves taking many small ones. */
void bc_arena_reserve(bc_arena *arena, size_t size);

/* Sets what says that an allocation has failed. Returns NULL. */
void *bc_arena_fail(bc_arena *arena);
/* Zeroed memory, or NULL (and failed is set). size 0 gives a valid pointer. align is a power of two up to 64. */
void *bc_arena_alloc(bc_arena *arena, size_t size, size_t align);
/* The same for count elements of size bytes; an overflowing product counts as out of memory. */
void *bc_arena_array(bc_arena *arena, size_t count, size_t size, size_t align);
/* Makes room in a growing array: returns items unchanged while count < *capacity, else a copy twice as large. */
void *bc_arena_grow(bc_arena *arena, void *items, size_t count, size_t *capacity, size_t size, size_t align);

#define bc_new(arena, T, n) ((T *)bc_arena_array((arena), (n), sizeof(T), alignof(T)))
#define bc_grow(arena, items, count, capacity, T) \
    ((T *)bc_arena_grow((arena), (items), (count), (capacity), sizeof(T), alignof(T)))

/* A copy of the bytes, followed by a zero byte. Empty strings give a valid pointer; out of memory gives ptr NULL, len
 * 0. */
tv_str bc_arena_dup(bc_arena *arena, tv_str s);

/* The allocator that NULL stands for. */
tv_allocator bc_default_allocator(void);

#endif
