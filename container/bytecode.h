/* Tile IR bytecode as a sequence of sections, for callers that only need to know where it ends. */
#ifndef TILEVM_CONTAINER_BYTECODE_H
#define TILEVM_CONTAINER_BYTECODE_H

#include "tilevm/tilevm.h"

/* Do the bytes begin like bytecode? */
bool co_is_bytecode(tv_str bytes);
/* The size of bytecode whose size is not given, found by walking its sections; 0 if they are malformed or extend beyond
   limit bytes, which are the most that are read. */
size_t co_bytecode_size(const void *bytes, size_t limit);

#endif
