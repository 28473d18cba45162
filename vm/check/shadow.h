/* For every element in memory: which event wrote it last, and which have read it since. Made on demand, by chunks of
   4 KiB of memory; a chunk has a cell for each element of the smallest size that was used in it. */
#ifndef TILEVM_VM_CHECK_SHADOW_H
#define TILEVM_VM_CHECK_SHADOW_H

#include "vm/check/clock.h"

enum { VM_CHUNK_BITS = 12, VM_MAX_READERS = 4 };

typedef struct vm_cell {
    uint32_t writer;  /* event, or 0: nothing has written it */
    uint32_t readers; /* set of readers; 0: nobody since it was written */
} vm_cell;

typedef struct vm_chunk {
    uint64_t key;  /* address >> VM_CHUNK_BITS */
    uint8_t shift; /* a cell has 2^shift bytes */
    vm_cell cells[];
} vm_chunk;

/* Reads of one op in one tile block, the first and the last of them; and the other readers. */
typedef struct vm_readers {
    uint32_t first, last; /* events */
    uint32_t next;        /* set, or 0 */
} vm_readers;

typedef struct vm_shadow {
    vm_chunk **chunks; /* hashed by key; NULL is free */
    size_t chunk_count, chunk_capacity;
    vm_chunk *hit;    /* found last */
    vm_readers *sets; /* by id - 1; every set is there once */
    uint32_t set_count;
    size_t set_capacity;
    uint32_t *set_hash; /* ids; 0 is free */
    size_t set_hash_size;
} vm_shadow;

/* The cells of [address, address + bytes), bytes 1, 2, 4 or 8 and address a multiple of it. NULL: out of memory. */
vm_cell *vm_shadow_cells(vm_shadow *shadow, const tv_allocator *memory, uint64_t address, unsigned bytes,
                         unsigned *out_count);
/* Memory that begins a new life: nothing has written it. */
void vm_shadow_forget(vm_shadow *shadow, uint64_t start, uint64_t bytes);

static inline const vm_readers *vm_shadow_readers(const vm_shadow *shadow, uint32_t set)
{
    return &shadow->sets[set - 1];
}
/* The set of count readers, at most VM_MAX_READERS; 0 with *out_failed: out of memory. Their next is not looked at. */
uint32_t vm_shadow_set(vm_shadow *shadow, const tv_allocator *memory, const vm_readers *items, unsigned count,
                       bool *out_failed);

void vm_shadow_release(vm_shadow *shadow, const tv_allocator *memory);

#endif
