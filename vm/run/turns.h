/* Tile blocks that take turns on one thread. A block runs until it ends, or until it has made so many strong accesses
   that it may be waiting for another block; then others get their turn. The order of turns depends on nothing but the
   program and the order of the blocks, so every run is the same. */
#ifndef TILEVM_VM_RUN_TURNS_H
#define TILEVM_VM_RUN_TURNS_H

#include "vm/run/schedule.h"

enum {
    VM_TURN = 16,            /* strong accesses of a turn */
    VM_MAX_STARTED = 1 << 16 /* blocks under way at a time */
};

/* A tile block under way; owners store their own data after it. */
typedef struct vm_started {
    vm_worker worker;
    const vm_inst *next;      /* instruction to go on with */
    struct vm_started *later; /* in the queue, or in the list of free ones */
} vm_started;

typedef struct vm_turns vm_turns;

struct vm_turns {
    vm_run *run;
    vm_started *(*open)(vm_turns *t);          /* a frame; NULL: out of memory */
    void (*begin)(vm_turns *t, vm_started *s); /* s becomes a block that starts */
    vm_started *first, *last;                  /* queue of those that wait for their turn */
    vm_started *idle;                          /* ended: frames to use again */
    size_t under_way;
    uint64_t next_block;
};

/* The next block: one that has not begun if there is room for it, else the one that has waited longest. NULL: all have
   ended, or there is no room for any. */
vm_started *vm_turns_next(vm_turns *t);
void vm_turns_queue(vm_turns *t, vm_started *s);
/* The block has ended; its frame is free. */
void vm_turns_end(vm_turns *t, vm_started *s);
/* A frame of the queue, or a free one; NULL: none is left. */
vm_started *vm_turns_take(vm_turns *t);

#endif
