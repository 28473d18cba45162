/* Reads little-endian numbers at any alignment from untrusted bytes. */
#ifndef TILEVM_CONTAINER_BYTES_H
#define TILEVM_CONTAINER_BYTES_H

#include "tilevm/tilevm.h"

/* size (1 to 8) bytes at p. */
static inline uint64_t co_number(const char *p, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)(unsigned char)p[i] << 8 * i;
    return value;
}

/* Does [at, at + size) lie in the bytes? */
static inline bool co_inside(tv_str bytes, uint64_t at, uint64_t size)
{
    return at <= bytes.len && size <= bytes.len - at;
}

#endif
