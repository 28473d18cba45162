/* A page has no files: the arguments of its kernels are all generated. Code that would read an array from a file
   reports this and fails. */
#include "tools/tilevm/io/io.h"

bool io_source_open(io_source *source, const char *path, io_error *error)
{
    (void)source;
    return io_fail(error, "'%s' cannot be read: a page in a browser has no files", path);
}

void io_source_close(io_source *source)
{
    (void)source;
}

void io_stream_open(io_stream *stream, const io_source *source, uint64_t at, uint64_t size)
{
    *stream = (io_stream){.source = source, .at = at, .end = at + size};
}

void io_stream_close(io_stream *stream)
{
    (void)stream;
}

static bool no_bytes(io_error *error)
{
    return io_fail(error, "a page in a browser has no files");
}

bool io_stream_read(io_stream *stream, void *out, size_t size, io_error *error)
{
    (void)stream;
    (void)out;
    (void)size;
    return no_bytes(error);
}

bool io_npz_open(const io_source *source, const char *key, io_member *out, io_info *out_info, io_error *error)
{
    (void)source;
    (void)key;
    (void)out;
    (void)out_info;
    return no_bytes(error);
}

bool io_npz_check(const io_member *member, io_error *error)
{
    (void)member;
    return no_bytes(error);
}

bool io_tensor_open(const io_source *source, const char *key, io_stream *out, io_info *out_info, io_error *error)
{
    (void)source;
    (void)key;
    (void)out;
    (void)out_info;
    return no_bytes(error);
}
