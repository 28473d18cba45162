/* Sources and streams: reading parts of files, inflating with zlib. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/tilevm/io/io.h"

enum { INPUT_SIZE = 1 << 16 };

/* ---- sources ---- */

/* A pipe cannot be read at any place: it is read whole. */
static bool open_whole(io_source *source, const char *path, io_error *error)
{
    cli_file file;
    char *problem = NULL;
    if (!cli_read(path, &file, &problem)) {
        io_fail(error, "%s", problem ? problem : "cannot be read");
        free(problem);
        return false;
    }
    source->bytes = source->owned = file.bytes;
    source->size = file.size;
    return true;
}

bool io_source_open(io_source *source, const char *path, io_error *error)
{
    struct stat info;
    *source = (io_source){.path = path, .fd = -1};
    if (strcmp(path, "-") == 0)
        return open_whole(source, path, error);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return io_fail(error, "%s: %s", path, cli_errno());
    if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
        close(fd);
        return io_fail(error, "%s: %s", path, strerror(EISDIR));
    }
    if (!S_ISREG(info.st_mode)) {
        close(fd);
        return open_whole(source, path, error);
    }
    source->fd = fd;
    source->size = (uint64_t)info.st_size;
    return true;
}

void io_source_from_memory(io_source *source, const char *name, const void *bytes, size_t size)
{
    *source = (io_source){.path = name, .bytes = bytes, .fd = -1, .size = size};
}

void io_source_close(io_source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    free(source->owned);
    *source = (io_source){.fd = -1};
}

bool io_source_read(const io_source *source, uint64_t offset, void *out, size_t size, io_error *error)
{
    unsigned char *to = out;
    if (offset > source->size || size > source->size - offset)
        return io_fail(error, "%s: the file is cut off", source->path);
    if (source->bytes) {
        memcpy(out, source->bytes + offset, size);
        return true;
    }
    while (size > 0) {
        ssize_t got = pread(source->fd, to, size < ((size_t)1 << 30) ? size : (size_t)1 << 30, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return io_fail(error, "%s: %s", source->path, got < 0 ? cli_errno() : "the file is cut off");
        to += got;
        size -= (size_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

/* ---- streams ---- */

struct io_inflater {
    z_stream z;
    unsigned char input[INPUT_SIZE];
};

void io_stream_open(io_stream *stream, const io_source *source, uint64_t at, uint64_t size)
{
    *stream = (io_stream){.source = source, .at = at, .end = at + size, .left = size};
}

bool io_stream_inflate(io_stream *stream, uint64_t size, io_error *error)
{
    uint64_t packed = stream->end - stream->at;
    if (size / 1032 > packed) /* deflate packs no denser than that */
        return io_fail(error, "%s: %llu bytes cannot come out of %llu deflated ones", stream->source->path,
                       (unsigned long long)size, (unsigned long long)packed);
    stream->inflater = calloc(1, sizeof *stream->inflater);
    if (!stream->inflater)
        return io_fail(error, "%s: out of memory", stream->source->path);
    if (inflateInit2(&stream->inflater->z, -MAX_WBITS) != Z_OK) {
        free(stream->inflater);
        stream->inflater = NULL;
        return io_fail(error, "%s: out of memory", stream->source->path);
    }
    stream->left = size;
    return true;
}

void io_stream_close(io_stream *stream)
{
    if (stream->inflater) {
        inflateEnd(&stream->inflater->z);
        free(stream->inflater);
    }
    *stream = (io_stream){0};
}

static bool refill(io_stream *stream, io_error *error)
{
    struct io_inflater *f = stream->inflater;
    uint64_t left = stream->end - stream->at;
    size_t size = left < INPUT_SIZE ? (size_t)left : INPUT_SIZE;
    if (size == 0)
        return io_fail(error, "%s: the deflated data is cut off", stream->source->path);
    if (!io_source_read(stream->source, stream->at, f->input, size, error))
        return false;
    stream->at += size;
    f->z.next_in = f->input;
    f->z.avail_in = (uInt)size;
    return true;
}

static bool inflate_some(io_stream *stream, unsigned char *out, size_t size, io_error *error)
{
    z_stream *z = &stream->inflater->z;
    while (size > 0) {
        uInt step = size < ((size_t)1 << 30) ? (uInt)size : (uInt)1 << 30;
        if (z->avail_in == 0 && !refill(stream, error))
            return false;
        z->next_out = out;
        z->avail_out = step;
        int status = inflate(z, Z_NO_FLUSH);
        size_t got = step - z->avail_out;
        out += got;
        size -= got;
        if (status == Z_STREAM_END && size > 0)
            return io_fail(error, "%s: the deflated data is shorter than it should be", stream->source->path);
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
            return io_fail(error, "%s: %s", stream->source->path,
                           status == Z_MEM_ERROR ? "out of memory" : "the deflated data is damaged");
    }
    return true;
}

static void checksum(io_stream *stream, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        uInt step = size < ((size_t)1 << 30) ? (uInt)size : (uInt)1 << 30;
        stream->crc = (uint32_t)crc32(stream->crc, bytes, step);
        bytes += step;
        size -= step;
    }
}

bool io_stream_read(io_stream *stream, void *out, size_t size, io_error *error)
{
    if (size > stream->left)
        return io_fail(error, "%s: the file is cut off", stream->source->path);
    if (stream->inflater) {
        if (!inflate_some(stream, out, size, error))
            return false;
    } else {
        if (!io_source_read(stream->source, stream->at, out, size, error))
            return false;
        stream->at += size;
    }
    if (stream->summed)
        checksum(stream, out, size);
    stream->left -= size;
    return true;
}
