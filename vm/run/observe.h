/* Watching a run: what a tile block does when, which block saw what another one released, and pairs of accesses that
   nothing orders. Commands that draw runs use it; it costs nothing on a machine without an observer. */
#ifndef TILEVM_VM_RUN_OBSERVE_H
#define TILEVM_VM_RUN_OBSERVE_H

#include "tilevm/vm.h"

/* Ops are named by their position in the function, in pre-order from 0. */
#define VM_WHOLE_BLOCK UINT32_MAX

/* The time that a tile block took for an op, or for all of its ops. Ops that run as one are reported as the last of
   them. */
typedef struct vm_spent {
    uint32_t block[3];
    uint32_t op;     /* or VM_WHOLE_BLOCK, after all ops of the block */
    double from, to; /* seconds since the run began */
} vm_spent;

/* An execution of an op that accesses memory. */
typedef struct vm_access_of {
    uint32_t block[3];
    uint32_t op;
    uint32_t time; /* how often the op had run in the block before */
    bool reads, writes;
} vm_access_of;

/* A block runs until the op has run this often. */
typedef struct vm_step {
    uint32_t block[3];
    uint32_t op;
    uint32_t times;
} vm_step;

/* With checks: an acquire read what another block had released, so that everything before the release happens before
   everything after the acquire. Reported once for each pair of ops and blocks. */
typedef struct vm_seen {
    vm_access_of release, acquire;
} vm_seen;

/* With checks: two conflicting accesses that nothing orders; called before the finding is reported. */
typedef struct vm_conflict {
    const char *rule;           /* "X-RAC-01" */
    const char *place;          /* "element [0] of 'b', f32[8]" */
    vm_access_of first, second; /* in the order in which they ran */
    /* The shortest schedule: what has to run, in a possible order, before both accesses can be next. It contains only
       what each of the two blocks does before its access, and what other blocks must have released for that. */
    const vm_step *steps;
    size_t step_count;
    bool first_ran; /* the steps include the first access, because another needed step comes after it */
    bool cut;       /* there are more steps */
} vm_conflict;

/* Any of the functions may be NULL. They are called by workers, one call at a time. */
typedef struct vm_observer {
    void *user;
    void (*spent)(void *user, const vm_spent *spent);
    void (*seen)(void *user, const vm_seen *seen);
    void (*conflict)(void *user, const vm_conflict *conflict);
} vm_observer;

/* From now on the machine's runs are watched. The observer is borrowed until the machine is freed. */
void vm_observe(tv_vm *vm, const vm_observer *observer);

/* ---- for the machine ---- */

struct vm_frame;
struct bc_op;
struct bc_function;

/* Positions of ops, for the run that begins. False: out of memory. */
bool vm_observe_begin(tv_vm *vm, const struct bc_function *function);
void vm_observe_end(tv_vm *vm);
uint32_t vm_observe_position(const tv_vm *vm, const struct bc_op *op);
/* Reports the time that the block took for an op, or (NULL) for all ops, in vm_seconds. */
void vm_observe_spent(const struct vm_frame *f, const struct bc_op *op, double from, double to);

#endif
