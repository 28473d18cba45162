/* The order of events. An event is one execution of an op that accesses memory. Events are ordered by tokens inside a
   tile block, and from a release to the acquire that reads its value between tile blocks.

   A clock is a set of events: all that happened before some point. Every token has one. It contains the events of
   its own tile block, as spans of executions of one op: most kernels need one or two spans per op, however often
   their loops run. Events acquired from other blocks are in a clock of their own, which many tokens share. */
#ifndef TILEVM_VM_CHECK_CLOCK_H
#define TILEVM_VM_CHECK_CLOCK_H

#include "bytecode/base/arena.h"

typedef struct vm_event {
    uint32_t block, op;
    uint32_t instance; /* executions of the op in the block before this one */
    uint32_t sequence; /* events of the block before this one */
} vm_event;

#define VM_ALL_OPS UINT32_MAX

/* Executions first to last of an op in a block; with VM_ALL_OPS: events of the block, by sequence. */
typedef struct vm_span {
    uint32_t block, op, first, last;
} vm_span;

/* Spans are sorted and do not overlap. A clock never changes. NULL is the empty one. */
typedef struct vm_clock vm_clock;
struct vm_clock {
    const vm_clock *others; /* acquired from other blocks: a clock without others, or NULL */
    uint32_t count;
    vm_span spans[];
};

bool vm_clock_has(const vm_clock *clock, const vm_event *event);
/* The union, in the arena unless it is one of the two. NULL with arena->failed: out of memory. */
const vm_clock *vm_clock_join(bc_arena *arena, const vm_clock *a, const vm_clock *b);
const vm_clock *vm_clock_with(bc_arena *arena, const vm_clock *clock, const vm_event *event);
/* The clock with an acquired one added to its others. */
const vm_clock *vm_clock_acquire(bc_arena *arena, const vm_clock *clock, const vm_clock *acquired);
/* The clock that a release publishes: without others, and entirely in the arena. instances: the number of executions
   of each of the op_count ops in the block; sequence: its events so far. If the clock contains all of them, they
   become one span. */
const vm_clock *vm_clock_publish(bc_arena *arena, const vm_clock *clock, uint32_t block, const uint32_t *instances,
                                 uint32_t op_count, uint32_t sequence);

/* All events of a run. Ids start at 1. */
typedef struct vm_events {
    vm_event *items;
    uint32_t count;
    size_t capacity;
} vm_events;

/* The id of a new event; 0: out of memory. */
uint32_t vm_events_add(vm_events *events, const tv_allocator *memory, vm_event event);
void vm_events_release(vm_events *events, const tv_allocator *memory);

static inline const vm_event *vm_event_at(const vm_events *events, uint32_t id)
{
    return &events->items[id - 1];
}

/* The clock that an acquire of an address obtains: that of the release (sequence) that wrote it. */
typedef struct vm_sync {
    uint64_t address;
    const vm_clock *clock;
} vm_sync;

typedef struct vm_syncs {
    vm_sync *items; /* hashed by address; address 0 is free */
    size_t count, capacity;
} vm_syncs;

/* NULL: there is none. */
const vm_clock *vm_syncs_get(const vm_syncs *syncs, uint64_t address);
/* Sets the clock of an address; NULL removes it. False: out of memory. */
bool vm_syncs_set(vm_syncs *syncs, const tv_allocator *memory, uint64_t address, const vm_clock *clock);
void vm_syncs_release(vm_syncs *syncs, const tv_allocator *memory);

#endif
