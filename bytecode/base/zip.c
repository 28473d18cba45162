/* Zip records, both ways. */
#include "bytecode/base/zip.h"

#include <stdlib.h>
#include <string.h>

enum {
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR_SIZE = 20,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    LARGE_FIELD = 20, /* the zip64 field of a local header */
    MAX_COMMENT = 65535,
    NAMES_ARE_UTF8 = 0x800,
    DATE = 0x21 /* 1980-01-01, the first there is */
};

static const uint32_t NONE32 = 0xffffffff; /* "see the zip64 record" */
static const char damaged[] = "the directory of the archive is damaged";

/* ---- numbers ---- */

static uint32_t get16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const unsigned char *p)
{
    return get16(p) | get16(p + 2) << 16;
}

static uint64_t get64(const unsigned char *p)
{
    return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static void put(bc_text *out, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        bc_text_char(out, (char)(i < 8 ? value >> 8 * i : 0));
}

/* ---- the directory ---- */

static bool read_at(const bc_zip_source *source, uint64_t at, void *out, size_t size)
{
    return at <= source->size && size <= source->size - at && source->read(source->user, at, out, size);
}

/* The end record, looking back over a comment of up to comment bytes. */
static const char *find_end(const bc_zip_source *source, size_t comment, unsigned char *out, uint64_t *out_at)
{
    size_t size = source->size < comment + END_SIZE ? (size_t)source->size : comment + END_SIZE;
    unsigned char *tail = malloc(size ? size : 1);
    const char *problem = tail ? "not a zip archive: it has no end record" : "out of memory";
    if (tail && !read_at(source, source->size - size, tail, size))
        problem = "";
    for (size_t i = size; problem && problem[0] && tail && i >= END_SIZE; i--) {
        const unsigned char *p = tail + i - END_SIZE;
        if (get32(p) == 0x06054b50 && get16(p + 20) <= size - i) {
            memcpy(out, p, END_SIZE);
            *out_at = source->size - size + (i - END_SIZE);
            problem = NULL;
        }
    }
    free(tail);
    return problem;
}

/* Takes place, size and count from the zip64 record. */
static const char *read_end64(const bc_zip_source *source, uint64_t end_at, bc_zip_directory *out)
{
    unsigned char locator[LOCATOR_SIZE], end64[END64_SIZE];
    if (end_at < LOCATOR_SIZE || !read_at(source, end_at - LOCATOR_SIZE, locator, LOCATOR_SIZE)
        || get32(locator) != 0x07064b50)
        return out->at != NONE32 ? NULL : "the zip64 record is missing";
    if (!read_at(source, get64(locator + 8), end64, END64_SIZE) || get32(end64) != 0x06064b50)
        return "the zip64 record is damaged";
    *out = (bc_zip_directory){.count = get64(end64 + 32), .size = get64(end64 + 40), .at = get64(end64 + 48)};
    return NULL;
}

const char *bc_zip_find_directory(const bc_zip_source *source, bc_zip_directory *out)
{
    unsigned char end[END_SIZE] = {0};
    uint64_t end_at = 0;
    const char *problem = find_end(source, 0, end, &end_at);
    if (problem && problem[0])
        problem = find_end(source, MAX_COMMENT, end, &end_at);
    if (problem)
        return problem;
    *out = (bc_zip_directory){.count = get16(end + 10), .size = get32(end + 12), .at = get32(end + 16)};
    if (out->count == 0xffff || out->size == NONE32 || out->at == NONE32)
        problem = read_end64(source, end_at, out);
    if (problem)
        return problem;
    bool fits = out->at <= source->size && out->size <= source->size - out->at && out->count <= out->size / ENTRY_SIZE;
    return fits ? NULL : damaged;
}

/* Takes what did not fit the entry from its zip64 field: size, packed size, place, those that are NONE32. */
static bool read_zip64(const unsigned char *extra, size_t len, bc_zip_member *m)
{
    uint64_t *const fields[] = {&m->size, &m->packed, &m->local};
    while (len >= 4) {
        size_t id = get16(extra), field = get16(extra + 2);
        extra += 4;
        len -= 4;
        if (field > len)
            return false;
        if (id == 1) {
            for (size_t i = 0; i < TV_COUNT(fields); i++) {
                if (*fields[i] != NONE32)
                    continue;
                if (field < 8)
                    return false;
                *fields[i] = get64(extra);
                extra += 8;
                field -= 8;
            }
            return true;
        }
        extra += field;
        len -= field;
    }
    return m->size != NONE32 && m->packed != NONE32 && m->local != NONE32;
}

bool bc_zip_next(const unsigned char *directory, size_t size, size_t *at, bc_zip_member *out)
{
    if (*at > size || size - *at < ENTRY_SIZE || get32(directory + *at) != 0x02014b50)
        return false;
    const unsigned char *p = directory + *at;
    size_t name = get16(p + 28), extra = get16(p + 30), comment = get16(p + 32);
    if (name + extra + comment > size - *at - ENTRY_SIZE)
        return false;
    *out = (bc_zip_member){.name = {(const char *)p + ENTRY_SIZE, name},
                           .flags = get16(p + 8),
                           .method = get16(p + 10),
                           .crc = get32(p + 16),
                           .packed = get32(p + 20),
                           .size = get32(p + 24),
                           .local = get32(p + 42)};
    *at += ENTRY_SIZE + name + extra + comment;
    bool large = out->size == NONE32 || out->packed == NONE32 || out->local == NONE32;
    return !large || read_zip64(p + ENTRY_SIZE + name, extra, out);
}

const char *bc_zip_find_data(const bc_zip_source *source, const bc_zip_member *member, uint64_t *out_at)
{
    unsigned char local[LOCAL_SIZE];
    if (member->local > source->size || source->size - member->local < LOCAL_SIZE)
        return "the file is cut off";
    if (!source->read(source->user, member->local, local, LOCAL_SIZE))
        return "";
    if (get32(local) != 0x04034b50)
        return "the header of a member is damaged";
    *out_at = member->local + LOCAL_SIZE + get16(local + 26) + get16(local + 28);
    return *out_at > source->size || member->packed > source->size - *out_at ? "the file is cut off" : NULL;
}

/* ---- writing ---- */

static bool is_large(const bc_zip_member *m)
{
    return m->size >= NONE32 || m->packed >= NONE32 || m->local >= NONE32;
}

/* Fields that the local header and the directory entry share: version to length of the name. */
static void put_common(bc_text *out, const bc_zip_member *m)
{
    bool large = is_large(m);
    put(out, large ? 45 : 20, 2);
    put(out, NAMES_ARE_UTF8, 2);
    put(out, m->method, 2);
    put(out, 0, 2);
    put(out, DATE, 2);
    put(out, m->crc, 4);
    put(out, large ? NONE32 : m->packed, 4);
    put(out, large ? NONE32 : m->size, 4);
    put(out, m->name.len, 2);
}

uint64_t bc_zip_local_size(const bc_zip_member *m)
{
    return LOCAL_SIZE + m->name.len + (is_large(m) ? LARGE_FIELD : 0);
}

void bc_zip_put_local(bc_text *out, const bc_zip_member *m)
{
    bool large = is_large(m);
    put(out, 0x04034b50, 4);
    put_common(out, m);
    put(out, large ? LARGE_FIELD : 0, 2);
    bc_text_str(out, m->name);
    if (large) {
        put(out, 1, 2);
        put(out, LARGE_FIELD - 4, 2);
        put(out, m->size, 8);
        put(out, m->packed, 8);
    }
}

void bc_zip_put_entry(bc_text *out, const bc_zip_member *m)
{
    bool large = is_large(m);
    put(out, 0x02014b50, 4);
    put(out, large ? 45 : 20, 2);
    put_common(out, m);
    put(out, large ? 28 : 0, 2);
    put(out, 0, 2 + 2 + 2 + 4); /* no comment, disk, attributes */
    put(out, large ? NONE32 : m->local, 4);
    bc_text_str(out, m->name);
    if (large) {
        put(out, 1, 2);
        put(out, 24, 2);
        put(out, m->size, 8);
        put(out, m->packed, 8);
        put(out, m->local, 8);
    }
}

void bc_zip_put_end(bc_text *out, uint64_t count, uint64_t size, uint64_t at)
{
    bool large = count >= 0xffff || size >= NONE32 || at >= NONE32;
    if (large) {
        put(out, 0x06064b50, 4);
        put(out, END64_SIZE - 12, 8);
        put(out, 45, 2);
        put(out, 45, 2);
        put(out, 0, 8);
        put(out, count, 8);
        put(out, count, 8);
        put(out, size, 8);
        put(out, at, 8);
        put(out, 0x07064b50, 4);
        put(out, 0, 4);
        put(out, at + size, 8);
        put(out, 1, 4);
    }
    put(out, 0x06054b50, 4);
    put(out, 0, 4);
    put(out, large ? 0xffff : count, 2);
    put(out, large ? 0xffff : count, 2);
    put(out, large ? NONE32 : size, 4);
    put(out, large ? NONE32 : at, 4);
    put(out, 0, 2);
}
