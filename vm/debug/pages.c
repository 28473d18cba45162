/* Versions of memory: all of it at the start, then the pages that changed between one snapshot and the next. */
#include <string.h>

#include "vm/debug/state.h"

static size_t pages_of(const dbg_range *r)
{
    return (r->bytes + DBG_PAGE - 1) / DBG_PAGE;
}

static size_t page_bytes(const dbg_range *r, size_t page)
{
    size_t left = r->bytes - page * DBG_PAGE;
    return left < DBG_PAGE ? left : DBG_PAGE;
}

static bool open_range(vm_debug *d, dbg_range *r, unsigned char *start, size_t bytes, bool copy)
{
    const tv_allocator *a = &d->normal;
    *r = (dbg_range){.start = start, .bytes = bytes};
    size_t table = pages_of(r) * sizeof *r->versions;
    r->versions = a->alloc(a->user, table);
    if (!r->versions)
        return false;
    memset(r->versions, 0, table);
    if (!copy)
        return true;
    r->first = a->alloc(a->user, bytes);
    if (r->first)
        memcpy(r->first, start, bytes);
    return r->first != NULL;
}

bool dbg_pages_open(vm_debug *d)
{
    const vm_regions *regions = &d->vm->regions;
    size_t size;
    d->pages.ranges = bc_new(&d->arena, dbg_range, regions->count + 1);
    if (!d->pages.ranges)
        return false;
    for (size_t i = 0; i < regions->count; i++) {
        const vm_region *r = &regions->items[i];
        if (r->writable
            && !open_range(d, &d->pages.ranges[d->pages.count++], (unsigned char *)(uintptr_t)r->start,
                           (size_t)(r->end - r->start), true))
            return false;
    }
    if (!d->allocas)
        return true;
    unsigned char *bytes = dbg_arena_bytes(d->allocas, &size);
    return open_range(d, &d->pages.ranges[d->pages.count++], bytes, size, false);
}

void dbg_pages_close(vm_debug *d)
{
    const tv_allocator *a = &d->normal;
    for (size_t i = 0; i < d->pages.count; i++) {
        dbg_range *r = &d->pages.ranges[i];
        for (size_t p = 0; r->versions && p < pages_of(r); p++)
            for (dbg_version *v = r->versions[p], *older; v; v = older) {
                older = v->older;
                a->release(a->user, v, sizeof *v);
            }
        if (r->versions)
            a->release(a->user, r->versions, pages_of(r) * sizeof *r->versions);
        if (r->first)
            a->release(a->user, r->first, r->bytes);
    }
    d->pages.count = 0;
}

/* Pages that may differ from zeros or from their contents at the start. Pages of the arena past its used part do not
   matter. */
static size_t pages_in_use(const vm_debug *d, const dbg_range *r)
{
    return r->first ? pages_of(r) : (dbg_arena_used(d->allocas) + DBG_PAGE - 1) / DBG_PAGE;
}

static bool is_zero(const unsigned char *bytes, size_t n)
{
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

static bool is_same(const dbg_range *r, size_t page, const unsigned char *now, size_t n)
{
    const dbg_version *v = r->versions[page];
    if (v)
        return memcmp(v->bytes, now, n) == 0;
    return r->first ? memcmp(r->first + page * DBG_PAGE, now, n) == 0 : is_zero(now, n);
}

bool dbg_pages_save(vm_debug *d, uint32_t snapshot, size_t most)
{
    const tv_allocator *a = &d->normal;
    for (size_t i = 0; i < d->pages.count; i++) {
        dbg_range *r = &d->pages.ranges[i];
        size_t count = pages_in_use(d, r);
        for (size_t p = 0; p < count; p++) {
            const unsigned char *now = r->start + p * DBG_PAGE;
            size_t n = page_bytes(r, p);
            if (is_same(r, p, now, n))
                continue;
            dbg_version *v = d->pages.held + sizeof *v <= most ? a->alloc(a->user, sizeof *v) : NULL;
            if (!v)
                return false;
            d->pages.held += sizeof *v;
            v->older = r->versions[p];
            v->since = snapshot;
            memcpy(v->bytes, now, n);
            r->versions[p] = v;
        }
    }
    return true;
}

void dbg_pages_restore(vm_debug *d, uint32_t snapshot)
{
    for (size_t i = 0; i < d->pages.count; i++) {
        dbg_range *r = &d->pages.ranges[i];
        for (size_t p = 0; p == 0 || p < pages_in_use(d, r); p++) { /* page 0 of the arena says how much is in use */
            const dbg_version *v = r->versions[p];
            unsigned char *now = r->start + p * DBG_PAGE;
            size_t n = page_bytes(r, p);
            while (v && v->since > snapshot)
                v = v->older;
            if (v)
                memcpy(now, v->bytes, n);
            else if (r->first)
                memcpy(now, r->first + p * DBG_PAGE, n);
            else
                memset(now, 0, n);
        }
    }
}

void dbg_pages_drop(vm_debug *d, uint32_t snapshot, uint32_t next)
{
    const tv_allocator *a = &d->normal;
    for (size_t i = 0; i < d->pages.count; i++) {
        dbg_range *r = &d->pages.ranges[i];
        for (size_t p = 0; p < pages_of(r); p++) {
            dbg_version **at = &r->versions[p], *newer = NULL;
            while (*at && (*at)->since > snapshot) {
                newer = *at;
                at = &newer->older;
            }
            dbg_version *v = *at;
            if (!v || v->since != snapshot)
                continue;
            if (!newer || newer->since > next) {
                v->since = next;
                continue;
            }
            *at = v->older;
            a->release(a->user, v, sizeof *v);
            d->pages.held -= sizeof *v;
        }
    }
}
