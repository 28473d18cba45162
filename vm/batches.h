/* The batches of an entry: how many tile blocks run at once, and the code for them, which is kept from run to run. */
#ifndef TILEVM_VM_BATCHES_H
#define TILEVM_VM_BATCHES_H

#include "vm/run/schedule.h"

typedef struct vm_batches {
    bc_arena arena; /* of the wide function */
    vm_code code;
    bool made;
    bool refused[3]; /* by axis: the entry cannot be widened */
} vm_batches;

/* The code that runs blocks of this grid by batches; NULL: they run one by one. */
const vm_code *vm_batches_for(const tv_vm *vm, vm_batches *batches, const vm_code *single, const uint32_t grid[3]);
void vm_batches_release(vm_batches *batches);

#endif
