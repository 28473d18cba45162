/* Widening loads and stores. */
#ifndef TILEVM_VM_COMPILE_WIDEN_ACCESS_H
#define TILEVM_VM_COMPILE_WIDEN_ACCESS_H

#include "vm/compile/widen_build.h"

/* Creates the access for all blocks; stores wait in w->stores. False: it cannot be widened, or out of memory. */
bool vm_widen_load(vm_widener *w, const bc_op *op);
bool vm_widen_store(vm_widener *w, const bc_op *op);

#endif
