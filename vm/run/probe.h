/* Probes: instructions before the ops of an entry, at which a debugger counts and stops; and where values lie, for it
   to read them. Only code that was compiled with tv_vm.probed has them. */
#ifndef TILEVM_VM_RUN_PROBE_H
#define TILEVM_VM_RUN_PROBE_H

#include "vm/run/code.h"
#include "vm/run/layout.h"

/* State that the tile blocks of a run share. */
typedef struct vm_probes {
    uint64_t count;     /* ops begun, in all tile blocks */
    uint64_t until;     /* stops after this many ops */
    uint32_t turn_end;  /* stops when the tile block has made this many strong accesses */
    const uint8_t *hot; /* by position of the op: stops before it */
    const vm_inst *at;  /* the probe that stopped the block; NULL: it ended or trapped */
} vm_probes;

typedef struct vm_probe {
    vm_inst head;
    uint32_t position;                    /* of the op, in pre-order */
    const struct vm_access_check *access; /* what the op accesses; NULL: no memory */
} vm_probe;

vm_handler vm_probe_run;

typedef enum vm_placed_form { VM_PLACED_NOWHERE, VM_PLACED_TILE, VM_PLACED_RECORD } vm_placed_form;

/* Where a value lies in the frame, from the end of its op to the end of the block of ops that the op stands in. */
typedef struct vm_placed {
    uint8_t form; /* vm_placed_form */
    uint8_t elem_bytes;
    size_t at;
    vm_layout layout; /* TILE */
} vm_placed;

#endif
