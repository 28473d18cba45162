/* What the ops on memory share while an entry is compiled. */
#ifndef TILEVM_VM_COMPILE_ACCESS_H
#define TILEVM_VM_COMPILE_ACCESS_H

#include "vm/compile/emit.h"
#include "vm/run/view.h"

/* Elements from one index of dimension t of a view to the next, and the dimension of the tensor that it walks. */
int64_t vm_view_step(const bc_type *view, uint32_t t);
uint32_t vm_view_dim(const bc_type *view, uint32_t t);

/* Sees that the index operands of an access can be bound. */
void vm_need_indices(vm_emit *e, bc_value *const *indices, uint32_t count);
/* Fills in info for an access of a tile view and binds its operands to inst. */
void vm_bind_access(vm_emit *e, vm_inst *inst, vm_access_info *info, const bc_value *view, bc_value *const *indices,
                    bc_MemoryOrderingSemantics order);

#endif
