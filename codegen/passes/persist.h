/* Thread blocks that compute the tile blocks of others, too. */
#ifndef TILEVM_CODEGEN_PASSES_PERSIST_H
#define TILEVM_CODEGEN_PASSES_PERSIST_H

#include "codegen/passes/groups_find.h"

/* A kernel of which a multiprocessor has one block at a time, or would if it hid waits by itself, becomes a loop over
   tile blocks, unless it is one: as many thread blocks as there are multiprocessors take all of them in turn, and the
   others end at once. While results of one tile block are stored the operands of the next are on their way. x is what
   was found of the kernel, if it was, and afterwards of the loop. True: it is split into groups of warps. */
bool cg_take_over_blocks(cg_splitting *x, bool found);

#endif
