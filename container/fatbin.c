/* Fat binaries: containers and their entries. */
#include "container/fatbin.h"

#include <string.h>

#include "container/bytes.h"

enum {
    CONTAINER_SIZE = 16, /* magic, u16 version, u16 this size, u64 bytes of entries */
    ENTRY_SIZE = 64,     /* the least there is of an entry's header; options and the source's name follow */
    JOINED_SIZE = 80     /* of a header inside the header of joined images, after their count and size */
};
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000, FLAG_EXACT = 0x100000, FLAG_OTHER_PACKING = 0x1000 };

static const uint32_t container_magic = 0xba55ed50;

bool co_fatbin_at(tv_str bytes, size_t at, co_fatbin *out)
{
    if (!co_inside(bytes, at, CONTAINER_SIZE))
        return false;
    const char *h = bytes.ptr + at;
    if (co_number(h, 4) != container_magic || co_number(h + 4, 2) != 1 || co_number(h + 6, 2) != CONTAINER_SIZE)
        return false;
    uint64_t size = co_number(h + 8, 8), left = bytes.len - at - CONTAINER_SIZE;
    *out = (co_fatbin){.bytes = bytes, .begin = at, .at = at + CONTAINER_SIZE};
    out->end = out->at + (size_t)(size < left ? size : left);
    return true;
}

bool co_fatbin_scan(tv_str bytes, size_t *at, co_fatbin *out)
{
    for (; *at < bytes.len; *at += CO_FATBIN_ALIGNMENT) {
        if (!co_fatbin_at(bytes, *at, out))
            continue;
        *at = (out->end + CO_FATBIN_ALIGNMENT - 1) & ~(size_t)(CO_FATBIN_ALIGNMENT - 1);
        return true;
    }
    return false;
}

static co_packing packing_of(uint64_t flags)
{
    return flags & FLAG_ZSTD            ? CO_ZSTD
           : flags & FLAG_LZ4           ? CO_LZ4
           : flags & FLAG_OTHER_PACKING ? CO_PACKING_UNKNOWN
                                        : CO_PLAIN;
}

/* Joined images have a count, the size of what follows with these two words, and a header for each of them. */
static bool joins_tile_ir(tv_str header)
{
    uint64_t count = header.len >= ENTRY_SIZE + 8 ? co_number(header.ptr + ENTRY_SIZE, 4) : 0;
    for (uint64_t i = 0, at = ENTRY_SIZE + 8; i < count && co_inside(header, at, JOINED_SIZE); i++, at += JOINED_SIZE)
        if (co_number(header.ptr + at, 2) == CO_TILE_IR)
            return true;
    return false;
}

/* The name of the source: offset and length in the header, the length with its zero. */
static tv_str source_of(tv_str header)
{
    uint64_t at = co_number(header.ptr + 32, 4), size = co_number(header.ptr + 36, 4);
    if (!at || !size || !co_inside(header, at, size))
        return (tv_str){0};
    const char *name = header.ptr + at, *end = memchr(name, 0, (size_t)size);
    return (tv_str){name, end ? (size_t)(end - name) : (size_t)size};
}

/* The payload is padded; what of it is packed is said where something is. */
static void read_entry(tv_str header, tv_str payload, size_t offset, co_entry *out)
{
    const char *h = header.ptr;
    uint64_t flags = co_number(h + 40, 8), packed = co_number(h + 16, 4);
    *out = (co_entry){.kind = (unsigned)co_number(h, 2),
                      .sm = (unsigned)co_number(h + 28, 4),
                      .exact = flags & FLAG_EXACT,
                      .offset = offset,
                      .source = source_of(header),
                      .packing = packing_of(flags),
                      .packed = payload,
                      .size = payload.len};
    if (out->packing != CO_PLAIN) {
        out->packed.len = packed && packed < payload.len ? (size_t)packed : payload.len;
        out->size = co_number(h + 56, 8);
    }
    out->has_tile_ir = out->kind == CO_JOINED && joins_tile_ir(header);
}

bool co_fatbin_next(co_fatbin *fatbin, co_entry *out, const char **out_problem)
{
    tv_str rest = {fatbin->bytes.ptr + fatbin->at, fatbin->end - fatbin->at};
    *out_problem = NULL;
    if (rest.len == 0)
        return false;
    *out_problem = "the fat binary is damaged: an entry extends past its end";
    if (rest.len < ENTRY_SIZE)
        return false;
    uint64_t header = co_number(rest.ptr + 4, 4), payload = co_number(rest.ptr + 8, 8);
    if (header < ENTRY_SIZE || !co_inside(rest, header, payload))
        return false;
    *out_problem = NULL;
    read_entry((tv_str){rest.ptr, (size_t)header}, (tv_str){rest.ptr + header, (size_t)payload}, fatbin->at, out);
    fatbin->at += (size_t)(header + payload);
    return true;
}
