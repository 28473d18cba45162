/* The sorted list of ranges that kernels may touch. */
#include "vm/run/memory.h"

#include <string.h>

/* Index of the first region that starts after the address. */
static size_t after(const vm_regions *r, uint64_t address)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->items[middle].start > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

vm_region *vm_regions_at(vm_regions *r, uint64_t address, uint64_t size)
{
    size_t i = after(r, address);
    if (i == 0)
        return NULL;
    vm_region *region = &r->items[i - 1];
    return address < region->end && size <= region->end - address ? region : NULL;
}

const vm_region *vm_regions_find(const vm_regions *r, uint64_t address, uint64_t size)
{
    return vm_regions_at((vm_regions *)(uintptr_t)r, address, size);
}

const vm_region *vm_regions_nearest(const vm_regions *r, uint64_t address)
{
    size_t i = after(r, address);
    const vm_region *below = i ? &r->items[i - 1] : NULL, *above = i < r->count ? &r->items[i] : NULL;
    if (!below || !above)
        return below ? below : above;
    uint64_t down = address < below->end ? 0 : address - below->end;
    return down <= above->start - address ? below : above;
}

tv_status vm_regions_add(vm_regions *r, const tv_allocator *a, vm_region region)
{
    size_t i = after(r, region.start);
    if ((i && r->items[i - 1].end > region.start) || (i < r->count && r->items[i].start < region.end))
        return TV_USAGE;
    if (r->count == r->capacity) {
        size_t larger = r->capacity ? r->capacity * 2 : 16;
        vm_region *items = a->alloc(a->user, larger * sizeof *items);
        if (!items)
            return TV_NO_MEMORY;
        if (r->count)
            memcpy(items, r->items, r->count * sizeof *items);
        if (r->items)
            a->release(a->user, r->items, r->capacity * sizeof *items);
        r->items = items;
        r->capacity = larger;
    }
    memmove(&r->items[i + 1], &r->items[i], (r->count - i) * sizeof *r->items);
    r->items[i] = region;
    r->count++;
    return TV_OK;
}

void vm_regions_remove(vm_regions *r, uint64_t start)
{
    size_t i = after(r, start);
    if (i == 0 || r->items[i - 1].start != start)
        return;
    memmove(&r->items[i - 1], &r->items[i], (r->count - i) * sizeof *r->items);
    r->count--;
}

void vm_regions_release(vm_regions *r, const tv_allocator *a)
{
    if (r->items)
        a->release(a->user, r->items, r->capacity * sizeof *r->items);
    *r = (vm_regions){0};
}
