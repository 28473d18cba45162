/* Code for batches of tile blocks: the wide function of an entry, compiled, with notes of what it touches. */
#ifndef TILEVM_VM_COMPILE_BATCH_H
#define TILEVM_VM_COMPILE_BATCH_H

#include "vm/compile/emit.h"

/* Before an op of a wide function: the notes that come before it. */
void vm_emit_notes(vm_emit *e, const bc_op *op);

#endif
