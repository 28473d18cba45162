/* A run in the debugger that goes back and forth in time, and must have the same results as any other run. */
#ifndef TILEVM_TESTS_COMMON_DEBUGGED_H
#define TILEVM_TESTS_COMMON_DEBUGGED_H

#include "tilevm/tilevm.h"

/* In place of tv_vm_run. Goes to the end, back and forth, and to the end again. */
tv_status debugged_run(tv_vm *vm, const char *entry, const uint32_t grid[3], const void *const *params, size_t count,
                       tv_sink sink);

#endif
