/* Deflate in pieces that zlib's counters can hold. */
#include "tools/tilevm/cli/deflate.h"

#include <zlib.h>

static uInt step_of(size_t left)
{
    const size_t most = (size_t)1 << 30;
    return (uInt)(left < most ? left : most);
}

bool deflate_bytes(tv_str from, int level, bc_text *out)
{
    z_stream z = {0};
    size_t done = 0, before = out->len;
    unsigned char buffer[1 << 14];
    if (deflateInit2(&z, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        out->failed = true;
        return false;
    }
    int status = Z_OK;
    while (status == Z_OK && !out->failed) {
        if (z.avail_in == 0 && done < from.len) {
            z.next_in = (unsigned char *)(uintptr_t)from.ptr + done;
            z.avail_in = step_of(from.len - done);
            done += z.avail_in;
        }
        z.next_out = buffer;
        z.avail_out = sizeof buffer;
        status = deflate(&z, done == from.len ? Z_FINISH : Z_NO_FLUSH);
        bc_text_bytes(out, buffer, sizeof buffer - z.avail_out);
    }
    deflateEnd(&z);
    return status == Z_STREAM_END && !out->failed && out->len - before < from.len - from.len / 16;
}

uint32_t deflate_crc(tv_str bytes)
{
    uLong crc = 0;
    for (size_t done = 0; done < bytes.len; done += step_of(bytes.len - done))
        crc = crc32(crc, (const unsigned char *)bytes.ptr + done, step_of(bytes.len - done));
    return (uint32_t)crc;
}
