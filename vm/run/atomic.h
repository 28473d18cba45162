/* Atomic updates of single elements. */
#ifndef TILEVM_VM_RUN_ATOMIC_H
#define TILEVM_VM_RUN_ATOMIC_H

#include "bytecode/op.h"

/* Applies mode with arg to the element at address and gives the pattern that was there. kind: i32, i64, f16, bf16, f32
   or f64. addf of f32 flushes subnormals, as GPUs do. */
uint64_t vm_atomic_update(uint64_t address, bc_kind kind, bc_AtomicRMWMode mode, uint64_t arg,
                          bc_MemoryOrderingSemantics order);

/* Stores value if the element's bits are those of expected; gives the pattern that was there. 4 or 8 bytes. */
uint64_t vm_atomic_exchange_if(uint64_t address, unsigned bytes, uint64_t expected, uint64_t value,
                               bc_MemoryOrderingSemantics order);

#endif
