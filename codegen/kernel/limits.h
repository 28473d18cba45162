/* The numbers of codegen/kernel/limits.def. */
#ifndef TILEVM_CODEGEN_KERNEL_LIMITS_H
#define TILEVM_CODEGEN_KERNEL_LIMITS_H

enum {
#define HARDWARE(name, value, what) CG_##name = (value),
#define BOUND(name, value, what) CG_##name = (value),
#define FITTED(name, value, what) CG_##name = (value),
#include "codegen/kernel/limits.def"
};

#endif
