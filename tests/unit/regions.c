/* The ranges that kernels may touch, beside a map of the bytes. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/compiler.h"
#include "tests/unit/test.h"
#include "vm/run/memory.h"

enum { BYTES = 64, ROUNDS = 400 };

static size_t held; /* bytes that were allocated and not released */

static void *allocate(void *user, size_t size)
{
    CHECK(user == &held);
    held += size;
    return malloc(size);
}

static void release(void *user, void *memory, size_t size)
{
    CHECK(user == &held);
    held -= size;
    free(memory);
}

static const tv_allocator allocator = {.alloc = allocate, .release = release, .user = &held};

/* owner[i]: the start of the region that has byte i, plus one; 0: none. */
typedef struct model {
    uint8_t owner[BYTES + 1];
    uint64_t base; /* address of byte 0 */
} model;

static bool is_free(const model *m, unsigned start, unsigned end)
{
    for (unsigned i = start; i < end; i++)
        if (m->owner[i])
            return false;
    return true;
}

static bool has(const model *m, unsigned at, uint64_t size)
{
    if (!m->owner[at])
        return false;
    for (uint64_t i = 0; i < size; i++)
        if (at + i >= BYTES || m->owner[at + i] != m->owner[at])
            return false;
    return true;
}

static void check_find(const vm_regions *r, const model *m)
{
    static const uint64_t huge[] = {BYTES + 1, UINT64_MAX - BYTES, UINT64_MAX};
    for (unsigned at = 0; at < BYTES; at++) {
        for (uint64_t size = 0; size <= BYTES; size++) {
            const vm_region *found = vm_regions_find(r, m->base + at, size);
            CHECK_MSG((found != NULL) == has(m, at, size), "byte %u, %u bytes", at, (unsigned)size);
            CHECK(!found || found->start == m->base + m->owner[at] - 1);
        }
        for (size_t i = 0; i < TV_COUNT(huge); i++) /* address + size may not wrap around */
            CHECK(!vm_regions_find(r, m->base + at, huge[i]));
    }
}

/* The distance of a byte from a region: between the byte and the nearest one of the region. */
static uint64_t distance(const vm_region *region, uint64_t address)
{
    return address < region->start ? region->start - address : address < region->end ? 0 : address - region->end;
}

static void check_nearest(const vm_regions *r, const model *m)
{
    for (unsigned at = 0; at < BYTES; at++) {
        const vm_region *nearest = vm_regions_nearest(r, m->base + at);
        CHECK((nearest != NULL) == (r->count != 0));
        for (size_t i = 0; i < r->count; i++)
            CHECK(nearest && distance(nearest, m->base + at) <= distance(&r->items[i], m->base + at));
    }
}

static void add(vm_regions *r, model *m, unsigned start, unsigned end)
{
    bool fits = is_free(m, start, end);
    tv_status status = vm_regions_add(r, &allocator, (vm_region){.start = m->base + start, .end = m->base + end});
    CHECK_MSG(status == (fits ? TV_OK : TV_USAGE), "[%u, %u): %d", start, end, (int)status);
    if (fits)
        memset(m->owner + start, (int)start + 1, end - start);
}

static void drop(vm_regions *r, model *m, unsigned start)
{
    vm_regions_remove(r, m->base + start);
    bool starts = m->owner[start] == start + 1;
    for (unsigned i = start; starts && i < BYTES && m->owner[i] == start + 1; i++)
        m->owner[i] = 0;
}

static void check_random(uint64_t base)
{
    vm_regions r = {0};
    model m = {.base = base};
    uint32_t state = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        state = state * 1664525u + 1013904223u;
        unsigned start = state >> 8 & (BYTES - 1), size = 1 + (state >> 16 & 7);
        if (state >> 24 & 1 && start + size <= BYTES)
            add(&r, &m, start, start + size);
        else
            drop(&r, &m, start);
        if (round % 8 == 0 || round < 8) {
            check_find(&r, &m);
            check_nearest(&r, &m);
        }
    }
    vm_regions_release(&r, &allocator);
    CHECK(!r.items && !r.count && !r.capacity);
}

/* More of them than the list has room for at first, and neighbours without a gap. */
static void check_many(void)
{
    vm_regions r = {0};
    model m = {.base = 4096};
    for (unsigned i = 0; i < BYTES; i += 2)
        add(&r, &m, BYTES - 2 - i, BYTES - i);
    CHECK(r.count == BYTES / 2);
    check_find(&r, &m);
    vm_regions_release(&r, &allocator);
}

int main(void)
{
    check_random(4096);
    check_random(0);
    check_random(UINT64_MAX - BYTES);
    check_many();
    CHECK(held == 0);
    return TEST_END("regions");
}
