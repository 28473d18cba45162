/* How element-wise ops are made of kernels: types narrower than a kernel's are widened, directed rounding and flushing
   go around it. */
#ifndef TILEVM_VM_COMPILE_MAP_H
#define TILEVM_VM_COMPILE_MAP_H

#include "vm/compile/emit.h"

static inline bool vm_is_wide_float(bc_kind kind)
{
    return kind == BC_F32 || kind == BC_F64;
}

/* A kernel on elements as they are. */
vm_map vm_map_plain(vm_emit *e, vm_kernel_id id, unsigned operands, unsigned out_bytes, unsigned in_bytes);

/* An integer op: the member of the family for the kind (i1 goes as i8). */
vm_map vm_map_int(vm_emit *e, vm_kernel_id i8, bc_kind kind, unsigned operands);

/* A float op: f32 and f64 have kernels, f16 and bf16 go through f32 (whose kernel is `narrow_id` where rounding twice
   would show, VM_K_NONE where it does not). */
vm_map vm_map_float(vm_emit *e, vm_kernel_id f32, vm_kernel_id odd, bc_kind kind, unsigned operands,
                    bc_RoundingMode mode, bool flush);

/* A float comparison: the result is i1. */
vm_map vm_map_compare(vm_emit *e, vm_kernel_id f32, bc_kind kind);

/* Conversion of floats and integers. signedness and saturating as the ops have them. */
vm_map vm_map_convert(vm_emit *e, bc_kind from, bc_kind to, bc_RoundingMode mode, bool is_signed, bool saturating);

/* Makes map go through widen, core, narrow; needed after those were set by hand. */
void vm_map_make_wide(vm_map *map);

/* The kernel that gives 32 or 64-bit integers from narrower ones; NULL when they are that wide. */
vm_kernel *vm_widen_int(vm_emit *e, bc_kind from, unsigned to_bytes, bool is_signed);

#endif
