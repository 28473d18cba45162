/* Storage for alloca that contains its own bookkeeping: copying the bytes copies the allocator, so the same op gets the
   same address when the run is repeated. Pieces have sizes of powers of two, and there is a list of free pieces for
   each size. */
#include <string.h>

#include "vm/debug/state.h"

enum { CLASSES = 40, SMALLEST = 5 };

/* The first bytes of the arena. */
typedef struct header {
    uint64_t used;          /* bytes, with this header */
    uint64_t free[CLASSES]; /* by size 2^i: offset of the first free piece, which has that of the next; 0: none */
} header;

struct dbg_arena {
    unsigned char *bytes;
    size_t size;
};

enum { ARENA_BYTES = 256 << 20 };

struct dbg_arena *dbg_arena_new(const tv_allocator *a)
{
    struct dbg_arena *arena = a->alloc(a->user, sizeof *arena);
    if (!arena)
        return NULL;
    arena->size = ARENA_BYTES;
    arena->bytes = a->alloc(a->user, arena->size);
    if (!arena->bytes) {
        a->release(a->user, arena, sizeof *arena);
        return NULL;
    }
    memset(arena->bytes, 0, DBG_PAGE);
    ((header *)(void *)arena->bytes)->used = DBG_PAGE;
    return arena;
}

void dbg_arena_free(struct dbg_arena *arena, const tv_allocator *a)
{
    if (!arena)
        return;
    a->release(a->user, arena->bytes, arena->size);
    a->release(a->user, arena, sizeof *arena);
}

static unsigned class_of(size_t size)
{
    unsigned c = SMALLEST;
    while (c < CLASSES - 1 && (size_t)1 << c < size)
        c++;
    return c;
}

static void *take(void *user, size_t size)
{
    struct dbg_arena *arena = user;
    header *h = (header *)(void *)arena->bytes;
    unsigned c = class_of(size);
    size_t piece = (size_t)1 << c;
    uint64_t at = h->free[c];
    if (size > piece)
        return NULL;
    if (at) {
        memcpy(&h->free[c], arena->bytes + at, sizeof h->free[c]);
        return arena->bytes + at;
    }
    if (piece > arena->size - h->used)
        return NULL;
    at = h->used;
    h->used += piece;
    return arena->bytes + at;
}

static void give_back(void *user, void *memory, size_t size)
{
    struct dbg_arena *arena = user;
    header *h = (header *)(void *)arena->bytes;
    unsigned c = class_of(size);
    memcpy(memory, &h->free[c], sizeof h->free[c]);
    h->free[c] = (uint64_t)((unsigned char *)memory - arena->bytes);
}

tv_allocator dbg_arena_allocator(struct dbg_arena *arena)
{
    return (tv_allocator){arena, take, give_back};
}

unsigned char *dbg_arena_bytes(struct dbg_arena *arena, size_t *out_size)
{
    *out_size = arena->size;
    return arena->bytes;
}

size_t dbg_arena_used(const struct dbg_arena *arena)
{
    return ((const header *)(const void *)arena->bytes)->used;
}

void dbg_swap_allocator(vm_debug *d, bool arena)
{
    if (d->allocas)
        d->vm->allocator = arena ? dbg_arena_allocator(d->allocas) : d->normal;
}
