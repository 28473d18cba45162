/* zstd and LZ4, each where its library was there when this was built (TV_HAVE_zstd, TV_HAVE_lz4). */
#include "container/unpack.h"

#include <limits.h>
#include <string.h>

#if defined(TV_HAVE_zstd)
#include <zstd.h>
#endif
#if defined(TV_HAVE_lz4)
#include <lz4.h>
#endif

const char *co_packing_name(co_packing packing)
{
    static const char *const names[] = {[CO_PLAIN] = "plain",
                                        [CO_ZSTD] = "zstd",
                                        [CO_LZ4] = "LZ4",
                                        [CO_PACKING_UNKNOWN] = "compressed by an unknown method"};
    return names[packing];
}

const char *co_packing_refusal(co_packing packing)
{
    switch (packing) {
    case CO_PLAIN: return NULL;
    case CO_ZSTD:
#if defined(TV_HAVE_zstd)
        return NULL;
#else
        return "it is compressed with zstd, and this tilevm was built without libzstd";
#endif
    case CO_LZ4:
#if defined(TV_HAVE_lz4)
        return NULL;
#else
        return "it is compressed with LZ4, and this tilevm was built without liblz4";
#endif
    case CO_PACKING_UNKNOWN: break;
    }
    return "it is compressed by an unknown method";
}

static bool unpack_zstd(tv_str packed, void *out, size_t size)
{
#if defined(TV_HAVE_zstd)
    return ZSTD_decompress(out, size, packed.ptr, packed.len) == size;
#else
    (void)packed, (void)out, (void)size;
    return false;
#endif
}

static bool unpack_lz4(tv_str packed, void *out, size_t size)
{
#if defined(TV_HAVE_lz4)
    return packed.len <= INT_MAX && size <= INT_MAX
           && LZ4_decompress_safe(packed.ptr, out, (int)packed.len, (int)size) == (int)size;
#else
    (void)packed, (void)out, (void)size;
    return false;
#endif
}

const char *co_unpack(co_packing packing, tv_str packed, void *out, size_t size)
{
    const char *refusal = co_packing_refusal(packing);
    if (refusal)
        return refusal;
    if (packing == CO_PLAIN) {
        if (packed.len != size)
            return "its size is wrong";
        memcpy(out, packed.ptr, size);
        return NULL;
    }
    bool good = packing == CO_ZSTD ? unpack_zstd(packed, out, size) : unpack_lz4(packed, out, size);
    return good ? NULL : "its compressed data is damaged";
}
