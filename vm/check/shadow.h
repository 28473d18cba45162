/* The events that wrote each element of memory last, and that have read it since. Records are created on demand, for
   chunks of 4 KiB of memory. A chunk has a cell for each element of the smallest size that was accessed in it. */
#ifndef TILEVM_VM_CHECK_SHADOW_H
#define TILEVM_VM_CHECK_SHADOW_H

#include "vm/check/clock.h"

enum { VM_CHUNK_BITS = 12, VM_MAX_READERS = 4 };

typedef struct vm_cell {
    uint32_t writer;  /* event, or 0: never written */
    uint32_t readers; /* set of readers since then; 0: none */
} vm_cell;

typedef struct vm_chunk {
    uint64_t key;  /* address >> VM_CHUNK_BITS */
    uint8_t shift; /* a cell has 2^shift bytes */
    vm_cell cells[];
} vm_chunk;

/* A set of readers: the first and the last read of one op in one tile block, and the set of other readers. */
typedef struct vm_readers {
    uint32_t first, last; /* events */
    uint32_t next;        /* set, or 0 */
} vm_readers;

typedef struct vm_shadow {
    vm_chunk **chunks; /* hashed by key; NULL is free */
    size_t chunk_count, chunk_capacity;
    vm_chunk *hit;    /* that was found last */
    vm_readers *sets; /* by id - 1; equal sets exist once */
    uint32_t set_count;
    size_t set_capacity;
    uint32_t *set_hash; /* ids; 0 is free */
    size_t set_hash_size;
} vm_shadow;

/* The cells of [address, address + bytes); bytes is 1, 2, 4 or 8 and divides address. NULL: out of memory. */
vm_cell *vm_shadow_cells(vm_shadow *shadow, const tv_allocator *memory, uint64_t address, unsigned bytes,
                         unsigned *out_count);
/* Forgets all accesses to memory that is reused. */
void vm_shadow_forget(vm_shadow *shadow, uint64_t start, uint64_t bytes);

static inline const vm_readers *vm_shadow_readers(const vm_shadow *shadow, uint32_t set)
{
    return &shadow->sets[set - 1];
}
/* The set of count readers, at most VM_MAX_READERS; 0 with *out_failed: out of memory. Their `next` is ignored. */
uint32_t vm_shadow_set(vm_shadow *shadow, const tv_allocator *memory, const vm_readers *items, unsigned count,
                       bool *out_failed);

void vm_shadow_release(vm_shadow *shadow, const tv_allocator *memory);

#endif
