/* Kernels made to be spread over clusters (codegen/passes/cluster.c), whatever their hints say. */
#ifndef TILEVM_TESTS_COMMON_SPREAD_H
#define TILEVM_TESTS_COMMON_SPREAD_H

#include "tilevm/tilevm.h"

/* Every kernel of the module asks for so many thread blocks a tile block, and how many tile blocks there are, as those
   do that are started with as many as the device runs at once. To be verified again. False: out of memory. */
bool spread_kernels(tv_module *m, unsigned blocks);

#endif
