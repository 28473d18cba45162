/* Unpacks compressed images of fat binaries, with the libraries that the build found. */
#ifndef TILEVM_CONTAINER_UNPACK_H
#define TILEVM_CONTAINER_UNPACK_H

#include "tilevm/tilevm.h"

typedef enum co_packing { CO_PLAIN, CO_ZSTD, CO_LZ4, CO_PACKING_UNKNOWN } co_packing;

const char *co_packing_name(co_packing packing); /* "zstd" */
/* Can this build unpack it? If not, why, in words; else NULL. */
const char *co_packing_refusal(co_packing packing);
/* Unpacks packed to exactly size bytes. NULL, or a message that says what is wrong. */
const char *co_unpack(co_packing packing, tv_str packed, void *out, size_t size);

#endif
