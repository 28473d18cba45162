/* Files of arrays: .npy, .npz, .safetensors and raw bytes, in and out. Everything in a file is hostile: lengths are
   compared with what is there before anything is allocated or read. Nothing here prints; what went wrong goes to an
   io_error. */
#ifndef TILEVM_TOOLS_IO_IO_H
#define TILEVM_TOOLS_IO_IO_H

#include "bytecode/base/compiler.h"
#include "tilevm/tilevm.h"
#include "tools/tilevm/cli/cli.h"

typedef struct io_error {
    char text[480];
} io_error;

/* Sets the text; always false. */
bool io_fail(io_error *error, const char *format, ...) TV_PRINTF(2, 3);
/* The same for a call that does not tell why it failed: "out of memory" if errno, which was 0 before, says so. */
bool io_fail_errno(io_error *error, const char *format, ...) TV_PRINTF(2, 3);

/* ---- where bytes come from ---- */

/* A file or a piece of memory that can be read at any place. */
typedef struct io_source {
    const char *path;           /* for messages, borrowed */
    const unsigned char *bytes; /* memory, borrowed; or NULL */
    unsigned char *owned;       /* what was read from a pipe */
    int fd;                     /* when bytes is NULL */
    uint64_t size;
} io_source;

bool io_source_open(io_source *source, const char *path, io_error *error);
void io_source_from_memory(io_source *source, const char *name, const void *bytes, size_t size);
void io_source_close(io_source *source);
/* Exactly size bytes from offset on. */
bool io_source_read(const io_source *source, uint64_t offset, void *out, size_t size, io_error *error);

/* A part of a source, read from its beginning to its end; deflated parts are inflated. */
typedef struct io_stream {
    const io_source *source;
    uint64_t at, end;             /* the part of the source that was not read yet */
    uint64_t left;                /* bytes that still come out */
    struct io_inflater *inflater; /* NULL: stored */
    bool summed;                  /* keep crc up to date */
    uint32_t crc;                 /* of what came out */
} io_stream;

void io_stream_open(io_stream *stream, const io_source *source, uint64_t at, uint64_t size);
/* size: of the inflated bytes, as the archive says. A size that no deflated part of that length can have is refused. */
bool io_stream_inflate(io_stream *stream, uint64_t size, io_error *error);
void io_stream_close(io_stream *stream);
/* Exactly size bytes. */
bool io_stream_read(io_stream *stream, void *out, size_t size, io_error *error);

/* ---- what a file says of an array ---- */

typedef struct io_info {
    bool raw; /* elements of `item` bytes whose type the file does not tell */
    tv_dtype dtype;
    unsigned item; /* bytes of an element */
    uint32_t ndim;
    int64_t shape[TV_MAX_RANK];
    bool fortran;         /* first axis fastest */
    uint64_t count, size; /* elements, bytes; both fit size_t and int64_t */
} io_info;

/* Sets count and size from shape and item. False when an extent is negative or the product too large. */
bool io_info_measure(io_info *info, io_error *error);
/* Takes dtype from the text of a .npy header ("<f4", "|V1", "bfloat16"). */
bool io_info_descr(io_info *info, tv_str descr, io_error *error);

/* Reads the header of a .npy file; the payload follows in the stream. */
bool io_npy_header(io_stream *stream, io_info *out, io_error *error);

/* Finds a member of a .npz file and opens it; key NULL or empty: the only one. The payload follows in the stream, which
   must be closed; io_npz_check after all of it was read compares the checksum. */
typedef struct io_member {
    io_stream stream;
    uint32_t crc;
} io_member;
bool io_npz_open(const io_source *source, const char *key, io_member *out, io_info *out_info, io_error *error);
bool io_npz_check(const io_member *member, io_error *error);

/* Finds a tensor of a .safetensors file; key NULL or empty: the only one. */
bool io_tensor_open(const io_source *source, const char *key, io_stream *out, io_info *out_info, io_error *error);

/* ---- writing ---- */

/* An array for writing: row-major and packed. */
typedef struct io_array {
    const char *key; /* in .npz and .safetensors */
    tv_dtype dtype;
    uint32_t ndim;
    const int64_t *shape;
    const void *data;
    size_t size; /* bytes */
} io_array;

/* All of them append to out; a failed write shows in cli_out_commit. False: the arrays cannot be held by such a file,
   or out of memory; error says so. */
bool io_npy_write(cli_out *out, const io_array *array, io_error *error);
bool io_npz_write(cli_out *out, const io_array *arrays, size_t count, io_error *error);
bool io_tensors_write(cli_out *out, const io_array *arrays, size_t count, io_error *error);

/* ---- which kind of file ---- */

typedef enum io_format { IO_NPY, IO_NPZ, IO_TENSORS, IO_BIN, IO_UNKNOWN } io_format;

/* By the end of the name, in upper or lower case. */
io_format io_format_of(const char *path, size_t len);

#endif
