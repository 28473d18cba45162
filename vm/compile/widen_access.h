/* Widening loads and stores. */
#ifndef TILEVM_VM_COMPILE_WIDEN_ACCESS_H
#define TILEVM_VM_COMPILE_WIDEN_ACCESS_H

#include "vm/compile/widen_build.h"

/* Makes the access of all blocks; a store waits in w->stores. False: not possible, or out of memory. */
bool vm_widen_load(vm_widener *w, const bc_op *op);
bool vm_widen_store(vm_widener *w, const bc_op *op);

#endif
