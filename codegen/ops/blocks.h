/* Thread blocks that compute the tile blocks of others, too (codegen/passes/persist.c). */
#ifndef TILEVM_CODEGEN_OPS_BLOCKS_H
#define TILEVM_CODEGEN_OPS_BLOCKS_H

#include "codegen/kernel/kernel.h"

/* Tile blocks of a grid that are shared; of a larger one each thread block computes its own. */
enum { CG_MOST_SHARED = 1 << 30 };

/* At the start of such a kernel: what its thread block computes; those that are beyond the multiprocessors end. */
void cg_share_begin(cg_func *c);

#endif
