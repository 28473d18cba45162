/* Clocks, events, and the clocks of locations. */
#include "vm/check/clock.h"

#include <string.h>

/* ---- clocks ---- */

static int compare_ops(uint32_t block, uint32_t op, const vm_span *s)
{
    if (block != s->block)
        return block < s->block ? -1 : 1;
    if (op != s->op)
        return op < s->op ? -1 : 1;
    return 0;
}

/* Does a span of the op contain the number? */
static bool has_number(const vm_clock *clock, uint32_t block, uint32_t op, uint32_t number)
{
    uint32_t low = 0, high = clock->count; /* searches the first span that ends at or after the number */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const vm_span *s = &clock->spans[middle];
        int order = compare_ops(block, op, s);
        if (order < 0 || (order == 0 && number <= s->last))
            high = middle;
        else
            low = middle + 1;
    }
    return low < clock->count && compare_ops(block, op, &clock->spans[low]) == 0 && number >= clock->spans[low].first;
}

bool vm_clock_has(const vm_clock *clock, const vm_event *e)
{
    for (; clock; clock = clock->others)
        if (has_number(clock, e->block, e->op, e->instance) || has_number(clock, e->block, VM_ALL_OPS, e->sequence))
            return true;
    return false;
}

static vm_clock *new_clock(bc_arena *arena, const vm_clock *others, size_t spans)
{
    vm_clock *clock = bc_arena_alloc(arena, sizeof(vm_clock) + spans * sizeof(vm_span), alignof(vm_clock));
    if (clock)
        clock->others = others;
    return clock;
}

/* Adds a span that begins after all others, or continues the last one. */
static void append(vm_clock *clock, const vm_span *s)
{
    vm_span *last = clock->count ? &clock->spans[clock->count - 1] : NULL;
    if (last && compare_ops(s->block, s->op, last) == 0 && s->first <= last->last + 1) {
        if (s->last > last->last)
            last->last = s->last;
    } else {
        clock->spans[clock->count++] = *s;
    }
}

static bool begins_before(const vm_span *a, const vm_span *b)
{
    int order = compare_ops(a->block, a->op, b);
    return order < 0 || (order == 0 && a->first < b->first);
}

/* Is every span of b inside a span of a? `others` are ignored. */
static bool covers(const vm_clock *a, const vm_clock *b)
{
    uint32_t i = 0;
    for (uint32_t k = 0; k < b->count; k++) {
        const vm_span *s = &b->spans[k];
        while (i < a->count && begins_before(&a->spans[i], s)
               && (compare_ops(s->block, s->op, &a->spans[i]) != 0 || a->spans[i].last < s->first))
            i++;
        if (i == a->count || compare_ops(s->block, s->op, &a->spans[i]) != 0 || a->spans[i].first > s->first
            || a->spans[i].last < s->last)
            return false;
    }
    return true;
}

/* The spans of both. */
static vm_clock *merge(bc_arena *arena, const vm_clock *a, const vm_clock *b, const vm_clock *others)
{
    vm_clock *out = new_clock(arena, others, (size_t)a->count + b->count);
    if (!out)
        return NULL;
    for (uint32_t i = 0, k = 0; i < a->count || k < b->count;) {
        bool take_a = k == b->count || (i < a->count && begins_before(&a->spans[i], &b->spans[k]));
        append(out, take_a ? &a->spans[i++] : &b->spans[k++]);
    }
    return out;
}

/* The union of two clocks without others. */
static const vm_clock *join_flat(bc_arena *arena, const vm_clock *a, const vm_clock *b)
{
    if (!b || a == b || (a && covers(a, b)))
        return a;
    if (!a || covers(b, a))
        return b;
    return merge(arena, a, b, NULL);
}

const vm_clock *vm_clock_join(bc_arena *arena, const vm_clock *a, const vm_clock *b)
{
    if (!b || a == b)
        return a;
    if (!a)
        return b;
    const vm_clock *others = join_flat(arena, a->others, b->others);
    if (others == a->others && covers(a, b))
        return a;
    if (others == b->others && covers(b, a))
        return b;
    return arena->failed ? NULL : merge(arena, a, b, others);
}

const vm_clock *vm_clock_with(bc_arena *arena, const vm_clock *clock, const vm_event *e)
{
    vm_clock *single = new_clock(arena, clock ? clock->others : NULL, 1);
    if (!single)
        return NULL;
    append(single, &(vm_span){e->block, e->op, e->instance, e->instance});
    return vm_clock_join(arena, clock, single);
}

const vm_clock *vm_clock_acquire(bc_arena *arena, const vm_clock *clock, const vm_clock *acquired)
{
    const vm_clock *others = join_flat(arena, clock ? clock->others : NULL, acquired);
    if (arena->failed || others == (clock ? clock->others : NULL))
        return clock;
    const vm_clock none = {0};
    return merge(arena, clock ? clock : &none, &none, others);
}

/* Does the clock contain every event of its block so far? */
static bool is_complete(const vm_clock *clock, const uint32_t *instances, uint32_t op_count)
{
    uint32_t i = 0;
    for (uint32_t op = 0; op < op_count; op++) {
        if (!instances[op])
            continue;
        while (i < clock->count && clock->spans[i].op < op)
            i++;
        if (i == clock->count || clock->spans[i].op != op || clock->spans[i].first != 0
            || clock->spans[i].last + 1 != instances[op])
            return false;
    }
    return true;
}

const vm_clock *vm_clock_publish(bc_arena *arena, const vm_clock *clock, uint32_t block, const uint32_t *instances,
                                 uint32_t op_count, uint32_t sequence)
{
    const vm_clock none = {0};
    const vm_clock *others = clock->others ? clock->others : &none;
    if (sequence == 0 || !is_complete(clock, instances, op_count))
        return merge(arena, clock, others, NULL);
    vm_clock *all = new_clock(arena, NULL, 1);
    if (!all)
        return NULL;
    append(all, &(vm_span){block, VM_ALL_OPS, 0, sequence - 1});
    return merge(arena, all, others, NULL);
}

/* ---- events ---- */

uint32_t vm_events_add(vm_events *events, const tv_allocator *memory, vm_event event)
{
    if (events->count == events->capacity) {
        size_t larger = events->capacity ? 2 * events->capacity : 1024;
        vm_event *items = larger <= UINT32_MAX ? memory->alloc(memory->user, larger * sizeof *items) : NULL;
        if (!items)
            return 0;
        if (events->count)
            memcpy(items, events->items, events->count * sizeof *items);
        vm_events_release(&(vm_events){.items = events->items, .capacity = events->capacity}, memory);
        events->items = items;
        events->capacity = larger;
    }
    events->items[events->count++] = event;
    return events->count;
}

void vm_events_release(vm_events *events, const tv_allocator *memory)
{
    if (events->items)
        memory->release(memory->user, events->items, events->capacity * sizeof *events->items);
    *events = (vm_events){0};
}

/* ---- locations ---- */

/* The entry of an address, or the free one for it. */
static vm_sync *sync_of(const vm_syncs *syncs, uint64_t address)
{
    size_t i = (size_t)(address * 0x9e3779b97f4a7c15u >> 20) & (syncs->capacity - 1);
    while (syncs->items[i].address && syncs->items[i].address != address)
        i = (i + 1) & (syncs->capacity - 1);
    return &syncs->items[i];
}

const vm_clock *vm_syncs_get(const vm_syncs *syncs, uint64_t address)
{
    return syncs->count ? sync_of(syncs, address)->clock : NULL;
}

static bool make_room(vm_syncs *syncs, const tv_allocator *memory)
{
    if (syncs->count * 2 < syncs->capacity)
        return true;
    vm_syncs larger = {.capacity = syncs->capacity ? 2 * syncs->capacity : 64};
    larger.items = memory->alloc(memory->user, larger.capacity * sizeof *larger.items);
    if (!larger.items)
        return false;
    memset(larger.items, 0, larger.capacity * sizeof *larger.items);
    for (size_t i = 0; i < syncs->capacity; i++)
        if (syncs->items[i].clock) {
            *sync_of(&larger, syncs->items[i].address) = syncs->items[i];
            larger.count++;
        }
    vm_syncs_release(syncs, memory);
    *syncs = larger;
    return true;
}

bool vm_syncs_set(vm_syncs *syncs, const tv_allocator *memory, uint64_t address, const vm_clock *clock)
{
    if (!clock && !syncs->count)
        return true;
    if (clock && !make_room(syncs, memory))
        return false;
    vm_sync *sync = sync_of(syncs, address);
    if (!clock) {
        sync->clock = NULL;
        return true;
    }
    syncs->count += sync->address == 0;
    *sync = (vm_sync){address, clock};
    return true;
}

void vm_syncs_release(vm_syncs *syncs, const tv_allocator *memory)
{
    if (syncs->items)
        memory->release(memory->user, syncs->items, syncs->capacity * sizeof *syncs->items);
    *syncs = (vm_syncs){0};
}
