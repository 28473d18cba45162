/* The attributes of kernels in cubins: the sections `.nv.info.<kernel>`. They are untrusted, like all input here. */
#ifndef TILEVM_CONTAINER_CUBIN_H
#define TILEVM_CONTAINER_CUBIN_H

#include "container/elf.h"

/* Calls visit for each kernel that must be launched with a certain block (.reqntid of PTX); false ends it. */
typedef bool co_block_visit(void *user, tv_str kernel, const uint32_t block[3]);
bool co_cubin_blocks(const co_elf *cubin, co_block_visit *visit, void *user);

/* The size of a cubin in memory of which only the start is known, computed from the ends of its parts; 0 if it is not a
   cubin, or larger than limit. Reads only its header and section table. */
size_t co_cubin_size(const void *cubin, size_t limit);

#endif
