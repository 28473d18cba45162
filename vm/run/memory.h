/* Global memory as kernels see it: the ranges they may touch, and checked access. */
#ifndef TILEVM_VM_RUN_MEMORY_H
#define TILEVM_VM_RUN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilevm/tilevm.h"

/* A range of addresses: a buffer, a global, or storage from alloca. */
typedef struct vm_region {
    uint64_t start, end; /* [start, end) */
    const char *name;
    bool writable;
    bool owned;     /* the name was copied */
    bool undefined; /* holds nothing until it is written: alloca, and arrays described so */
    bool described; /* arrays in it were described */
    bool gaps;      /* there are bytes between the elements of the arrays described in it */
} vm_region;

/* Sorted by start, without overlaps. */
typedef struct vm_regions {
    vm_region *items;
    size_t count, capacity;
} vm_regions;

/* The region that holds [address, address + size), or NULL. */
const vm_region *vm_regions_find(const vm_regions *regions, uint64_t address, uint64_t size);
vm_region *vm_regions_at(vm_regions *regions, uint64_t address, uint64_t size);
/* The region nearest to an address; NULL when there are none. */
const vm_region *vm_regions_nearest(const vm_regions *regions, uint64_t address);
/* TV_USAGE: overlaps another one. */
tv_status vm_regions_add(vm_regions *regions, const tv_allocator *allocator, vm_region region);
void vm_regions_remove(vm_regions *regions, uint64_t start);
void vm_regions_release(vm_regions *regions, const tv_allocator *allocator);

#endif
