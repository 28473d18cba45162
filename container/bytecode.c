/* A header of 12 bytes; sections: id, whose high bit says that an alignment follows, length, alignment, padding, bytes;
   a zero. */
#include "container/bytecode.h"

#include <string.h>

bool co_is_bytecode(tv_str bytes)
{
    return bytes.len >= 8 && memcmp(bytes.ptr, "\177TileIR", 8) == 0;
}

/* A number of seven bits in each byte, low first. False when it is larger than limit or ends behind it. */
static bool take_number(const unsigned char *bytes, size_t *at, size_t limit, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 35 && *at < limit; shift += 7) {
        unsigned char byte = bytes[(*at)++];
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return *out <= limit;
    }
    return false;
}

size_t co_bytecode_size(const void *image, size_t limit)
{
    enum { HEADER = 12, MOST = 256 }; /* sections: there are 16 kinds */
    const unsigned char *bytes = image;
    size_t at = HEADER;
    for (unsigned i = 0; i < MOST && at < limit; i++) {
        unsigned id = bytes[at++];
        if (id == 0)
            return at;
        uint64_t length, align = 1;
        if ((id & 0x7f) > 0x0f || !take_number(bytes, &at, limit, &length))
            return 0;
        if (id & 0x80 && (!take_number(bytes, &at, limit, &align) || !align || (align & (align - 1))))
            return 0;
        uint64_t next = ((uint64_t)at + align - 1) / align * align + length;
        if (next > limit)
            return 0;
        at = (size_t)next;
    }
    return 0;
}
