/* The numbers of codegen/kernel/limits.def. */
#ifndef TILEVM_CODEGEN_KERNEL_LIMITS_H
#define TILEVM_CODEGEN_KERNEL_LIMITS_H

enum {
#define HARDWARE(name, value, what) CG_##name = (value),
#define BOUND(name, value, what) CG_##name = (value),
#define FITTED(name, value, what) CG_##name = (value),
#include "codegen/kernel/limits.def"
    CG_HALF_OF_REGISTERS = (CG_THREAD_REGISTERS + 1) / 2, /* of a thread */
    CG_WORD_BYTES = 4                                     /* of a register */
};

#endif
