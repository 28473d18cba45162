/* What cubins say about their kernels: the sections `.nv.info.<kernel>` of attributes. Hostile, as everything here. */
#ifndef TILEVM_CONTAINER_CUBIN_H
#define TILEVM_CONTAINER_CUBIN_H

#include "container/elf.h"

/* Calls visit for each kernel that must be launched with a certain block (.reqntid of PTX); false ends it. */
typedef bool co_block_visit(void *user, tv_str kernel, const uint32_t block[3]);
bool co_cubin_blocks(const co_elf *cubin, co_block_visit *visit, void *user);

/* The size of a cubin in memory of which only the beginning is known, from where its parts say that they end; 0 if it
   is none, or larger than limit. Reads what its header and the table of its sections take. */
size_t co_cubin_size(const void *cubin, size_t limit);

#endif
