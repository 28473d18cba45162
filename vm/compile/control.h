/* Regions that are being compiled. */
#ifndef TILEVM_VM_COMPILE_CONTROL_H
#define TILEVM_VM_COMPILE_CONTROL_H

#include "vm/compile/emit.h"

/* Storage that the edges into a region, or out of it, write. VM_NO_STORAGE: not needed. */
typedef struct vm_target_slots {
    vm_storage *storage;
    vm_storage *exact; /* of exact elements; NULL where there are none */
    uint32_t count;
} vm_target_slots;

typedef struct vm_region_state vm_region_state;

struct vm_region_state {
    vm_region_state *outer;
    const bc_op *op;
    vm_inst *header;         /* the instruction that enters it */
    bool is_loop;            /* for, loop */
    bool is_body;            /* of a reduce or scan, run once per element */
    vm_target_slots args;    /* block arguments of loops, without the induction variable */
    vm_target_slots results; /* of if and loop, or what a body yields */
    vm_storage iv, start;    /* of a for: its induction variable, and what that was first */
};

#endif
