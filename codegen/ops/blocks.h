/* Persistent thread blocks, which compute several tile blocks (codegen/groups/persist.c). */
#ifndef TILEVM_CODEGEN_OPS_BLOCKS_H
#define TILEVM_CODEGEN_OPS_BLOCKS_H

#include "codegen/kernel/kernel.h"

/* The most tile blocks of a grid that are shared. In a larger grid, each thread block computes its own. */
enum { CG_MOST_SHARED = 1 << 30 };

/* The start of such a kernel: finds the tile blocks of its thread block. Thread blocks beyond the number of
   multiprocessors exit. */
void cg_share_begin(cg_func *c);

#endif
