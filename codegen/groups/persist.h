/* Persistent kernels: a thread block computes several tile blocks. */
#ifndef TILEVM_CODEGEN_GROUPS_PERSIST_H
#define TILEVM_CODEGEN_GROUPS_PERSIST_H

#include "codegen/groups/groups_find.h"

/* Makes a kernel persistent if a multiprocessor holds one of its blocks at a time, or would if the kernel hid its waits
   itself: as many thread blocks as there are multiprocessors compute all tile blocks in a loop, and the others exit at
   once. While the results of one tile block are stored, the operands of the next are being copied. x has the results of
   the analysis of the kernel, if it was analysed, and is updated for the loop. True: the kernel is to be divided into
   groups of warps. */
bool cg_take_over_blocks(cg_splitting *x, bool found);

/* Is a tensor outside of loops that one reads not the same for all tile blocks? A map is built once in a thread block,
   before the first of its tile blocks. */
bool cg_tensors_differ(cg_func *c);

#endif
