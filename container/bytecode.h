/* Tile IR bytecode as a row of sections, for those who have to know where it ends and nothing more. */
#ifndef TILEVM_CONTAINER_BYTECODE_H
#define TILEVM_CONTAINER_BYTECODE_H

#include "tilevm/tilevm.h"

/* Do the bytes begin like bytecode? */
bool co_is_bytecode(tv_str bytes);
/* Size of bytecode whose size nobody told, found by walking its sections as they claim to be; 0 if they make no sense
   or lead on beyond limit bytes, of which no more are read. */
size_t co_bytecode_size(const void *bytes, size_t limit);

#endif
