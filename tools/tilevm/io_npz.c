/* .npz files: zip archives with a .npy file for each array, stored or deflated. Sizes and places come from the central
   directory at the end of the archive; zip64 records are read and, where needed, written. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tools/tilevm/io.h"

enum {
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR_SIZE = 20,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    MAX_DIRECTORY = 1 << 26,
    FLAG_ENCRYPTED = 1,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8
};

static const uint32_t NONE32 = 0xffffffff; /* "see the zip64 record" */

/* A member as the central directory tells it. */
typedef struct npz_member {
    tv_str name; /* with ".npy" */
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, size, local;
} npz_member;

typedef struct archive {
    const io_source *source;
    unsigned char *directory;
    size_t directory_size;
    uint64_t count;
} archive;

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

/* ---- the directory ---- */

/* Offset of the end record, looking back over a comment. */
static bool find_end(const io_source *source, unsigned char *out, uint64_t *out_at, io_error *error)
{
    size_t size = source->size < 65535 + END_SIZE ? (size_t)source->size : 65535 + END_SIZE;
    unsigned char *tail = malloc(size ? size : 1);
    if (!tail)
        return io_fail(error, "%s: out of memory", source->path);
    bool found = false;
    if (!io_source_read(source, source->size - size, tail, size, error)) {
        free(tail);
        return false;
    }
    for (size_t i = size; i >= END_SIZE && !found; i--) {
        const unsigned char *p = tail + i - END_SIZE;
        if (get32(p) == 0x06054b50 && get16(p + 20) <= size - i) {
            memcpy(out, p, END_SIZE);
            *out_at = source->size - size + (i - END_SIZE);
            found = true;
        }
    }
    free(tail);
    return found || io_fail(error, "%s: not a .npz file: no end of a zip archive is in it", source->path);
}

/* Where the directory lies and how many members it has, from the zip64 record if there is one. */
static bool find_directory(const io_source *source, uint64_t *at, uint64_t *size, uint64_t *count, io_error *error)
{
    unsigned char end[END_SIZE] = {0}, locator[LOCATOR_SIZE], end64[END64_SIZE];
    uint64_t end_at = 0;
    if (!find_end(source, end, &end_at, error))
        return false;
    *count = get16(end + 10);
    *size = get32(end + 12);
    *at = get32(end + 16);
    if (*count != 0xffff && *size != NONE32 && *at != NONE32)
        return true;
    if (end_at < LOCATOR_SIZE || !io_source_read(source, end_at - LOCATOR_SIZE, locator, LOCATOR_SIZE, error)
        || get32(locator) != 0x07064b50)
        return *at != NONE32 || io_fail(error, "%s: the zip64 record is missing", source->path);
    if (!io_source_read(source, get64(locator + 8), end64, END64_SIZE, error))
        return false;
    if (get32(end64) != 0x06064b50)
        return io_fail(error, "%s: the zip64 record is damaged", source->path);
    *count = get64(end64 + 32);
    *size = get64(end64 + 40);
    *at = get64(end64 + 48);
    return true;
}

static bool open_archive(const io_source *source, archive *out, io_error *error)
{
    uint64_t at, size, count;
    if (!find_directory(source, &at, &size, &count, error))
        return false;
    if (at > source->size || size > source->size - at || size > MAX_DIRECTORY || count > size / ENTRY_SIZE)
        return io_fail(error, "%s: the directory of the archive is damaged", source->path);
    *out = (archive){.source = source, .directory_size = (size_t)size, .count = count};
    out->directory = malloc(size ? (size_t)size : 1);
    if (!out->directory)
        return io_fail(error, "%s: out of memory", source->path);
    if (io_source_read(source, at, out->directory, (size_t)size, error))
        return true;
    free(out->directory);
    return false;
}

/* Takes what did not fit the entry from its zip64 field: size, packed size, place, those that are NONE32. */
static bool read_zip64(const unsigned char *extra, size_t len, npz_member *m)
{
    uint64_t *const fields[] = {&m->size, &m->packed, &m->local};
    while (len >= 4) {
        size_t id = get16(extra), field = get16(extra + 2);
        extra += 4;
        len -= 4;
        if (field > len)
            return false;
        if (id == 1) {
            for (size_t i = 0; i < 3; i++) {
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

/* The entry at *at, which is moved on. */
static bool next_member(const archive *a, size_t *at, npz_member *out, io_error *error)
{
    const unsigned char *p = a->directory + *at;
    size_t left = a->directory_size - *at;
    if (left < ENTRY_SIZE || get32(p) != 0x02014b50)
        return io_fail(error, "%s: the directory of the archive is damaged", a->source->path);
    size_t name = get16(p + 28), extra = get16(p + 30), comment = get16(p + 32);
    if (name + extra + comment > left - ENTRY_SIZE)
        return io_fail(error, "%s: the directory of the archive is damaged", a->source->path);
    *out = (npz_member){.name = {(const char *)p + ENTRY_SIZE, name},
                        .flags = get16(p + 8),
                        .method = get16(p + 10),
                        .crc = get32(p + 16),
                        .packed = get32(p + 20),
                        .size = get32(p + 24),
                        .local = get32(p + 42)};
    if ((out->size == NONE32 || out->packed == NONE32 || out->local == NONE32)
        && !read_zip64(p + ENTRY_SIZE + name, extra, out))
        return io_fail(error, "%s: the zip64 field of a member is damaged", a->source->path);
    *at += ENTRY_SIZE + name + extra + comment;
    return true;
}

/* ---- members ---- */

/* Name without ".npy". */
static tv_str key_of(tv_str name)
{
    if (name.len >= 4 && memcmp(name.ptr + name.len - 4, ".npy", 4) == 0)
        name.len -= 4;
    return name;
}

static bool no_member(const archive *a, const char *key, io_error *error)
{
    bc_text names;
    npz_member m;
    size_t at = 0;
    bc_text_init(&names, NULL);
    for (uint64_t i = 0; i < a->count && names.len < 150 && next_member(a, &at, &m, error); i++) {
        tv_str name = key_of(m.name);
        bc_text_printf(&names, "%s%.*s", i ? ", " : "", name.len < 40 ? (int)name.len : 40, name.ptr);
    }
    if (key && key[0])
        io_fail(error, "%s: no array '%s' in it; there is %s", a->source->path, key,
                names.len || names.failed ? bc_text_words(&names) : "none");
    else
        io_fail(error, "%s: which of its arrays? say %s:NAME; there is %s", a->source->path, a->source->path,
                names.len || names.failed ? bc_text_words(&names) : "none");
    bc_text_release(&names);
    return false;
}

static bool find_member(const archive *a, const char *key, npz_member *out, io_error *error)
{
    size_t at = 0;
    for (uint64_t i = 0; i < a->count; i++) {
        if (!next_member(a, &at, out, error))
            return false;
        if (key && key[0] ? bc_str_is(key_of(out->name), key) : a->count == 1)
            return true;
    }
    return no_member(a, key, error);
}

/* Where the member's bytes begin: its local header has lengths of its own. */
static bool find_data(const io_source *source, const npz_member *m, uint64_t *out_at, io_error *error)
{
    unsigned char local[LOCAL_SIZE];
    if (!io_source_read(source, m->local, local, LOCAL_SIZE, error))
        return false;
    if (get32(local) != 0x04034b50)
        return io_fail(error, "%s: the header of a member is damaged", source->path);
    *out_at = m->local + LOCAL_SIZE + get16(local + 26) + get16(local + 28);
    if (*out_at > source->size || m->packed > source->size - *out_at)
        return io_fail(error, "%s: the file is cut off", source->path);
    return true;
}

static bool open_member(const io_source *source, const npz_member *m, io_member *out, io_info *out_info,
                        io_error *error)
{
    uint64_t at = 0;
    if (m->flags & FLAG_ENCRYPTED)
        return io_fail(error, "%s: the archive is encrypted", source->path);
    if (m->method != METHOD_STORED && m->method != METHOD_DEFLATED)
        return io_fail(error, "%s: compression method %u is not supported; save it with numpy.savez", source->path,
                       m->method);
    if (!find_data(source, m, &at, error))
        return false;
    if (m->method == METHOD_STORED && m->packed != m->size)
        return io_fail(error, "%s: the sizes of a stored member differ", source->path);
    io_stream_open(&out->stream, source, at, m->packed);
    out->stream.summed = true;
    out->crc = m->crc;
    if (m->method == METHOD_DEFLATED && !io_stream_inflate(&out->stream, m->size, error))
        return false;
    if (!io_npy_header(&out->stream, out_info, error)) {
        io_stream_close(&out->stream);
        return false;
    }
    return true;
}

bool io_npz_open(const io_source *source, const char *key, io_member *out, io_info *out_info, io_error *error)
{
    archive a;
    npz_member m;
    *out = (io_member){0};
    if (!open_archive(source, &a, error))
        return false;
    bool good = find_member(&a, key, &m, error) && open_member(source, &m, out, out_info, error);
    free(a.directory);
    return good;
}

bool io_npz_check(const io_member *member, io_error *error)
{
    const io_stream *stream = &member->stream;
    if (stream->left > 0 || stream->crc == member->crc) /* bytes behind the array are not read */
        return true;
    return io_fail(error, "%s: the checksum of the data is wrong", stream->source->path);
}

/* ---- writing ---- */

typedef struct packed { /* a member on its way out */
    char *name;
    bc_text bytes; /* of the .npy file, or what it was deflated to */
    bool deflated;
    uint32_t crc;
    uint64_t size, at;
} packed;

/* A cli_out that appends to a text, for io_npy_write. */
static bool npy_bytes(const io_array *array, bc_text *out, io_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&bytes, &size);
    if (!memory)
        return io_fail(error, "out of memory");
    cli_out to = {.file = memory};
    bool good = io_npy_write(&to, array, error);
    if (fclose(memory) != 0 || to.failed)
        good = good && io_fail(error, "out of memory");
    if (good)
        bc_text_bytes(out, bytes, size);
    free(bytes);
    return good && (!out->failed || io_fail(error, "out of memory"));
}

/* Deflates the first size bytes; false when that does not pay, or for lack of memory (out->failed). */
static bool deflate_bytes(const bc_text *from, size_t size, bc_text *out)
{
    z_stream z = {0};
    size_t done = 0;
    unsigned char buffer[1 << 14];
    if (deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        out->failed = true;
        return false;
    }
    int status = Z_OK;
    while (status == Z_OK && !out->failed) {
        if (z.avail_in == 0 && done < size) {
            uInt step = size - done < ((size_t)1 << 30) ? (uInt)(size - done) : (uInt)1 << 30;
            z.next_in = (unsigned char *)from->ptr + done;
            z.avail_in = step;
            done += step;
        }
        z.next_out = buffer;
        z.avail_out = sizeof buffer;
        status = deflate(&z, done == size ? Z_FINISH : Z_NO_FLUSH);
        bc_text_bytes(out, buffer, sizeof buffer - z.avail_out);
    }
    deflateEnd(&z);
    return status == Z_STREAM_END && !out->failed && out->len < size - size / 16;
}

/* Floats rarely shrink: the beginning tells whether to go on. */
static void pack(packed *p)
{
    enum { SAMPLE = 1 << 16 };
    bc_text smaller;
    bc_text_init(&smaller, NULL);
    bool pays = true;
    if (p->bytes.len > SAMPLE) {
        pays = deflate_bytes(&p->bytes, SAMPLE, &smaller);
        bc_text_clear(&smaller);
    }
    if (pays && deflate_bytes(&p->bytes, p->bytes.len, &smaller)) {
        bc_text_release(&p->bytes);
        p->bytes = smaller;
        p->deflated = true;
    } else {
        p->bytes.failed |= smaller.failed;
        bc_text_release(&smaller);
    }
}

static uint32_t checksum(const bc_text *text)
{
    uint32_t crc = 0;
    for (size_t done = 0; done < text->len;) {
        uInt step = text->len - done < ((size_t)1 << 30) ? (uInt)(text->len - done) : (uInt)1 << 30;
        crc = (uint32_t)crc32(crc, (const unsigned char *)text->ptr + done, step);
        done += step;
    }
    return crc;
}

static void put(bc_text *out, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        bc_text_char(out, (char)(i < 8 ? value >> 8 * i : 0));
}

/* Fields that the local header and the directory entry share: version to signature of the sizes. */
static void put_common(bc_text *out, const packed *p, bool large)
{
    put(out, large ? 45 : 20, 2);
    put(out, 0x800, 2); /* names are UTF-8 */
    put(out, p->deflated ? METHOD_DEFLATED : METHOD_STORED, 2);
    put(out, 0, 2);
    put(out, 0x21, 2); /* 1980-01-01, so that the same arrays give the same bytes */
    put(out, p->crc, 4);
    put(out, large ? NONE32 : p->bytes.len, 4);
    put(out, large ? NONE32 : p->size, 4);
    put(out, strlen(p->name), 2);
}

static bool is_large(const packed *p)
{
    return p->size >= NONE32 || p->bytes.len >= NONE32 || p->at >= NONE32;
}

static void put_local(bc_text *out, const packed *p)
{
    bool large = is_large(p);
    put(out, 0x04034b50, 4);
    put_common(out, p, large);
    put(out, large ? 20 : 0, 2);
    bc_text_puts(out, p->name);
    if (large) {
        put(out, 1, 2);
        put(out, 16, 2);
        put(out, p->size, 8);
        put(out, p->bytes.len, 8);
    }
}

static void put_entry(bc_text *out, const packed *p)
{
    bool large = is_large(p);
    put(out, 0x02014b50, 4);
    put(out, large ? 45 : 20, 2);
    put_common(out, p, large);
    put(out, large ? 28 : 0, 2);
    put(out, 0, 2 + 2 + 2 + 4); /* no comment, disk, attributes */
    put(out, large ? NONE32 : p->at, 4);
    bc_text_puts(out, p->name);
    if (large) {
        put(out, 1, 2);
        put(out, 24, 2);
        put(out, p->size, 8);
        put(out, p->bytes.len, 8);
        put(out, p->at, 8);
    }
}

static void put_end(bc_text *out, uint64_t count, uint64_t size, uint64_t at)
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

/* Writes one member and notes it for the directory. */
static bool write_member(cli_out *out, const io_array *array, uint64_t *at, bc_text *directory, io_error *error)
{
    packed p = {.at = *at};
    bc_text name, head;
    bc_text_init(&name, NULL);
    bc_text_init(&head, NULL);
    bc_text_init(&p.bytes, NULL);
    bc_text_printf(&name, "%s.npy", array->key);
    bool good = !name.failed && name.len < 65536;
    if (!good)
        io_fail(error, "out of memory");
    good = good && npy_bytes(array, &p.bytes, error);
    if (good) {
        p.name = name.ptr;
        p.size = p.bytes.len;
        p.crc = checksum(&p.bytes);
        pack(&p);
        put_local(&head, &p);
        put_entry(directory, &p);
        cli_out_write(out, head.ptr, head.len);
        cli_out_write(out, p.bytes.ptr, p.bytes.len);
        *at += head.len + p.bytes.len;
        good = (!head.failed && !directory->failed && !p.bytes.failed) || io_fail(error, "out of memory");
    }
    bc_text_release(&p.bytes);
    bc_text_release(&head);
    bc_text_release(&name);
    return good;
}

bool io_npz_write(cli_out *out, const io_array *arrays, size_t count, io_error *error)
{
    uint64_t at = 0;
    bc_text directory;
    bc_text_init(&directory, NULL);
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        good = write_member(out, &arrays[i], &at, &directory, error);
    if (good) {
        put_end(&directory, count, directory.len, at);
        good = !directory.failed || io_fail(error, "out of memory");
        cli_out_write(out, directory.ptr, directory.len);
    }
    bc_text_release(&directory);
    return good;
}
