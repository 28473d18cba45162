/* Errors, and kinds of files by their names. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tools/tilevm/io/io.h"

bool io_fail(io_error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return false;
}

bool io_fail_errno(io_error *error, const char *format, ...)
{
    va_list args;
    if (errno == ENOMEM)
        return io_fail(error, "out of memory");
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return false;
}

io_format io_format_of(const char *path, size_t len)
{
    static const struct {
        const char *end;
        io_format format;
    } ends[] = {{".npy", IO_NPY}, {".npz", IO_NPZ}, {".safetensors", IO_TENSORS}, {".bin", IO_BIN}, {".raw", IO_BIN}};
    for (size_t i = 0; i < TV_COUNT(ends); i++) {
        size_t n = strlen(ends[i].end);
        if (len > n && strncasecmp(path + len - n, ends[i].end, n) == 0)
            return ends[i].format;
    }
    return IO_UNKNOWN;
}
