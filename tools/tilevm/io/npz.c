/* .npz files: zip archives with a .npy file for each array, stored or deflated. Sizes and places come from the central
   directory at the end of the archive. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/zip.h"
#include "tools/tilevm/cli/deflate.h"
#include "tools/tilevm/io/io.h"

enum { MAX_DIRECTORY = 1 << 26 };

typedef struct archive {
    const io_source *source;
    unsigned char *directory;
    size_t directory_size;
    uint64_t count;
} archive;

/* What the records of the archive are read with. */
typedef struct archive_reader {
    const io_source *source;
    io_error *error;
} archive_reader;

static bool read_part(void *user, uint64_t at, void *out, size_t size)
{
    const archive_reader *reader = user;
    return io_source_read(reader->source, at, out, size, reader->error);
}

static bool say(const io_source *source, const char *problem, io_error *error)
{
    if (problem[0]) /* "": read_part has said it */
        io_fail(error, "%s: %s", source->path, problem);
    return false;
}

/* ---- the directory ---- */

static bool open_archive(const io_source *source, archive *out, io_error *error)
{
    archive_reader reader = {.source = source, .error = error};
    bc_zip_directory found = {0};
    const char *problem =
        bc_zip_find_directory(&(bc_zip_source){.user = &reader, .size = source->size, .read = read_part}, &found);
    if (problem)
        return say(source, problem, error);
    if (found.size > MAX_DIRECTORY)
        return io_fail(error, "%s: the directory of the archive is damaged", source->path);
    *out = (archive){.source = source, .directory_size = (size_t)found.size, .count = found.count};
    out->directory = malloc(out->directory_size ? out->directory_size : 1);
    if (!out->directory)
        return io_fail(error, "%s: out of memory", source->path);
    if (io_source_read(source, found.at, out->directory, out->directory_size, error))
        return true;
    free(out->directory);
    return false;
}

/* The entry at *at, which is moved on. */
static bool next_member(const archive *a, size_t *at, bc_zip_member *out, io_error *error)
{
    return bc_zip_next(a->directory, a->directory_size, at, out)
           || io_fail(error, "%s: the directory of the archive is damaged", a->source->path);
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
    bc_zip_member m;
    size_t at = 0;
    bc_text_init(&names, NULL);
    for (uint64_t i = 0; i < a->count && names.len < 150 && next_member(a, &at, &m, error); i++) {
        tv_str name = key_of(m.name);
        bc_text_printf(&names, "%s%.*s", i ? ", " : "", name.len < 40 ? (int)name.len : 40, name.ptr);
    }
    if (key && key[0])
        io_fail(error, "%s: has no array '%s'; its arrays: %s", a->source->path, key,
                names.len || names.failed ? bc_text_words(&names) : "none");
    else
        io_fail(error, "%s holds several arrays; write %s:NAME, with one of %s", a->source->path, a->source->path,
                names.len || names.failed ? bc_text_words(&names) : "none");
    bc_text_release(&names);
    return false;
}

static bool find_member(const archive *a, const char *key, bc_zip_member *out, io_error *error)
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

static bool open_member(const io_source *source, const bc_zip_member *m, io_member *out, io_info *out_info,
                        io_error *error)
{
    uint64_t at = 0;
    if (m->flags & BC_ZIP_ENCRYPTED)
        return io_fail(error, "%s: the archive is encrypted", source->path);
    if (m->method != BC_ZIP_STORED && m->method != BC_ZIP_DEFLATED)
        return io_fail(error, "%s: compression method %u is not supported; save it with numpy.savez", source->path,
                       m->method);
    archive_reader reader = {.source = source, .error = error};
    const char *problem =
        bc_zip_find_data(&(bc_zip_source){.user = &reader, .size = source->size, .read = read_part}, m, &at);
    if (problem)
        return say(source, problem, error);
    if (m->method == BC_ZIP_STORED && m->packed != m->size)
        return io_fail(error, "%s: the sizes of a stored member differ", source->path);
    io_stream_open(&out->stream, source, at, m->packed);
    out->stream.summed = true;
    out->crc = m->crc;
    if (m->method == BC_ZIP_DEFLATED && !io_stream_inflate(&out->stream, m->size, error))
        return false;
    if (!io_npy_header(&out->stream, out_info, error)) {
        io_stream_close(&out->stream);
        return false;
    }
    return true;
}

bool io_npz_open(const io_source *source, const char *key, io_member *out, io_info *out_info, io_error *error)
{
    archive a = {0};
    bc_zip_member m;
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
    if (fclose(memory) != 0 || to.failed || size < array->size) /* glibc closes without a word when it cannot grow */
        good = good && io_fail(error, "out of memory");
    if (good)
        bc_text_bytes(out, bytes, size);
    free(bytes);
    return good && (!out->failed || io_fail(error, "out of memory"));
}

/* Floats rarely shrink: the beginning tells whether to go on. True: smaller has the deflated bytes. */
static bool pack(tv_str bytes, bc_text *smaller)
{
    enum { SAMPLE = 1 << 16, LEVEL = 6 };
    bool pays = bytes.len <= SAMPLE || deflate_bytes((tv_str){bytes.ptr, SAMPLE}, LEVEL, smaller);
    bc_text_clear(smaller);
    return pays && deflate_bytes(bytes, LEVEL, smaller);
}

/* Writes one member and notes it for the directory. */
static bool write_member(cli_out *out, const io_array *array, uint64_t *at, bc_text *directory, io_error *error)
{
    bc_text name, head, bytes, smaller;
    bc_text_init(&name, NULL);
    bc_text_init(&head, NULL);
    bc_text_init(&bytes, NULL);
    bc_text_init(&smaller, NULL);
    bc_text_printf(&name, "%s.npy", array->key);
    bool good = !name.failed && name.len < 65536;
    if (!good)
        io_fail(error, "out of memory");
    good = good && npy_bytes(array, &bytes, error);
    if (good) {
        bool deflated = pack(bc_text_get(&bytes), &smaller);
        tv_str packed = bc_text_get(deflated ? &smaller : &bytes);
        bc_zip_member m = {.name = bc_text_get(&name),
                           .method = deflated ? BC_ZIP_DEFLATED : BC_ZIP_STORED,
                           .crc = deflate_crc(bc_text_get(&bytes)),
                           .packed = packed.len,
                           .size = bytes.len,
                           .local = *at};
        bc_zip_put_local(&head, &m);
        bc_zip_put_entry(directory, &m);
        cli_out_write(out, head.ptr, head.len);
        cli_out_write(out, packed.ptr, packed.len);
        *at += head.len + packed.len;
        good = (!head.failed && !directory->failed && !smaller.failed) || io_fail(error, "out of memory");
    }
    bc_text_release(&smaller);
    bc_text_release(&bytes);
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
        bc_zip_put_end(&directory, count, directory.len, at);
        good = !directory.failed || io_fail(error, "out of memory");
        cli_out_write(out, directory.ptr, directory.len);
    }
    bc_text_release(&directory);
    return good;
}
