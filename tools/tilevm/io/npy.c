/* .npy files, versions 1 to 3: eight bytes, the length of a header, the header as a Python dictionary
   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, padding, the elements. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/dtype.h"
#include "tools/tilevm/io/io.h"

enum { MAX_HEADER = 1 << 20 };

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* ---- descriptions ---- */

bool io_info_measure(io_info *info, io_error *error)
{
    uint64_t count = 1, limit = (uint64_t)INT64_MAX / (info->item ? info->item : 1);
    bool empty = false;
    if (limit > SIZE_MAX / (info->item ? info->item : 1))
        limit = SIZE_MAX / (info->item ? info->item : 1);
    for (uint32_t i = 0; i < info->ndim; i++) {
        if (info->shape[i] < 0)
            return io_fail(error, "extent %u is negative", i);
        empty = empty || info->shape[i] == 0;
    }
    for (uint32_t i = 0; i < info->ndim && !empty; i++) {
        if ((uint64_t)info->shape[i] > limit / count)
            return io_fail(error, "the shape has more elements than memory has places");
        count *= (uint64_t)info->shape[i];
    }
    info->count = empty ? 0 : count;
    info->size = info->count * info->item;
    return true;
}

static bool is_number(tv_str s, unsigned *out)
{
    unsigned value = 0;
    if (s.len == 0 || s.len > 4)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        value = value * 10 + (unsigned)(s.ptr[i] - '0');
    }
    *out = value;
    return true;
}

bool io_info_descr(io_info *info, tv_str descr, io_error *error)
{
    info->raw = false;
    if (tv_dtype_parse(descr, &info->dtype)) {
        info->item = tv_dtype_bits(info->dtype) / 8;
        if (info->item)
            return true;
    }
    tv_str rest = descr;
    bool big = rest.len && rest.ptr[0] == '>';
    if (rest.len && strchr("<>|=", rest.ptr[0]))
        rest.ptr++, rest.len--;
    unsigned size = 0;
    if (rest.len < 2 || !is_number((tv_str){rest.ptr + 1, rest.len - 1}, &size) || size == 0)
        return io_fail(error, "elements of type '%.*s' are not supported", descr.len < 60 ? (int)descr.len : 60,
                       descr.ptr);
    if (rest.ptr[0] == 'V' && (size == 1 || size == 2 || size == 4 || size == 8)) {
        info->raw = true;
        info->item = size;
        return true;
    }
    if (rest.ptr[0] == 'f' && size == 1) { /* ml_dtypes saves float8_e5m2 so */
        info->dtype = TV_F8E5M2;
        info->item = size;
        return true;
    }
    for (int i = 0; i < TV_DTYPE_COUNT; i++) {
        const char *known = bc_dtypes[i].descr;
        if (!known[0] || strlen(known + 1) != rest.len || memcmp(known + 1, rest.ptr, rest.len) != 0)
            continue;
        if (big && size > 1)
            return io_fail(error, "the elements are big-endian ('%.*s'); save them as '<%.*s'", (int)descr.len,
                           descr.ptr, (int)rest.len, rest.ptr);
        info->dtype = (tv_dtype)i;
        info->item = size;
        return true;
    }
    return io_fail(error, "elements of type '%.*s' are not supported", descr.len < 60 ? (int)descr.len : 60, descr.ptr);
}

/* ---- the header ---- */

typedef struct lexer {
    const char *at, *end;
} lexer;

static char next_char(lexer *x)
{
    while (x->at < x->end && (*x->at == ' ' || *x->at == '\n' || *x->at == '\t'))
        x->at++;
    return x->at < x->end ? *x->at : 0;
}

static bool take(lexer *x, char c)
{
    if (next_char(x) != c)
        return false;
    x->at++;
    return true;
}

/* A string in quotes, without escapes. */
static bool take_string(lexer *x, tv_str *out)
{
    char quote = next_char(x);
    if (quote != '\'' && quote != '"')
        return false;
    const char *start = ++x->at;
    while (x->at < x->end && *x->at != quote && *x->at != '\\')
        x->at++;
    if (x->at == x->end || *x->at != quote)
        return false;
    *out = (tv_str){start, (size_t)(x->at++ - start)};
    return true;
}

static bool take_word(lexer *x, const char *word)
{
    size_t len = strlen(word);
    next_char(x);
    if ((size_t)(x->end - x->at) < len || memcmp(x->at, word, len) != 0)
        return false;
    x->at += len;
    return true;
}

static bool take_extent(lexer *x, int64_t *out)
{
    uint64_t value = 0;
    if (next_char(x) < '0' || next_char(x) > '9')
        return false;
    for (; x->at < x->end && *x->at >= '0' && *x->at <= '9'; x->at++) {
        if (value > ((uint64_t)INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*x->at - '0');
    }
    if (x->at < x->end && *x->at == 'L') /* written by Python 2 */
        x->at++;
    *out = (int64_t)value;
    return true;
}

static bool take_shape(lexer *x, io_info *out, io_error *error)
{
    if (!take(x, '('))
        return io_fail(error, "the header has no shape in parentheses");
    out->ndim = 0;
    while (!take(x, ')')) {
        if (out->ndim == TV_MAX_RANK)
            return io_fail(error, "more than %d dimensions", TV_MAX_RANK);
        if (!take_extent(x, &out->shape[out->ndim]))
            return io_fail(error, "the shape in the header is not a list of numbers below 2^63");
        out->ndim++;
        if (!take(x, ',') && next_char(x) != ')')
            return io_fail(error, "the shape in the header is not a list of numbers below 2^63");
    }
    return true;
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

/* One key and its value. */
static bool take_entry(lexer *x, io_info *out, unsigned *seen, io_error *error)
{
    tv_str key, descr;
    unsigned bit;
    if (!take_string(x, &key) || !take(x, ':'))
        return io_fail(error, "the header is not a Python dictionary");
    if (bc_str_is(key, "descr")) {
        bit = HAS_DESCR;
        if (next_char(x) == '[')
            return io_fail(error, "structured elements are not supported");
        if (!take_string(x, &descr))
            return io_fail(error, "the element type in the header is not a string");
        if (!io_info_descr(out, descr, error))
            return false;
    } else if (bc_str_is(key, "fortran_order")) {
        bit = HAS_ORDER;
        out->fortran = take_word(x, "True");
        if (!out->fortran && !take_word(x, "False"))
            return io_fail(error, "fortran_order in the header is neither True nor False");
    } else if (bc_str_is(key, "shape")) {
        bit = HAS_SHAPE;
        if (!take_shape(x, out, error))
            return false;
    } else {
        return io_fail(error, "the header has an unknown key '%.*s'", key.len < 40 ? (int)key.len : 40, key.ptr);
    }
    if (*seen & bit)
        return io_fail(error, "the header has '%.*s' twice", (int)key.len, key.ptr);
    *seen |= bit;
    return true;
}

static bool parse_header(const char *text, size_t len, io_info *out, io_error *error)
{
    lexer x = {text, text + len};
    unsigned seen = 0;
    if (!take(&x, '{'))
        return io_fail(error, "the header is not a Python dictionary");
    while (!take(&x, '}')) {
        if (!take_entry(&x, out, &seen, error))
            return false;
        if (!take(&x, ',') && next_char(&x) != '}')
            return io_fail(error, "the header is not a Python dictionary");
    }
    if (seen != HAS_ALL || next_char(&x) != 0)
        return io_fail(error, "the header does not have just descr, fortran_order and shape");
    return io_info_measure(out, error);
}

/* Puts the path before what parse_header said. */
static bool with_path(const io_stream *stream, io_error *error)
{
    io_error inner = *error;
    return io_fail(error, "%.200s: %.260s", stream->source->path, inner.text);
}

bool io_npy_header(io_stream *stream, io_info *out, io_error *error)
{
    unsigned char start[12];
    *out = (io_info){0};
    if (!io_stream_read(stream, start, 10, error))
        return false;
    if (memcmp(start, magic, sizeof magic) != 0)
        return io_fail(error, "%s: not a .npy file", stream->source->path);
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        return io_fail(error, "%s: .npy version %u.%u is not known", stream->source->path, start[6], start[7]);
    size_t len = start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        if (!io_stream_read(stream, start + 10, 2, error))
            return false;
        len |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (len > MAX_HEADER || len > stream->left)
        return io_fail(error, "%s: the header is cut off or longer than 1 MiB", stream->source->path);
    char *text = malloc(len + 1);
    if (!text)
        return io_fail(error, "%s: out of memory", stream->source->path);
    bool good = io_stream_read(stream, text, len, error);
    if (good && !parse_header(text, len, out, error))
        good = with_path(stream, error);
    free(text);
    if (good && out->size > stream->left)
        return io_fail(error, "%s: the file is cut off: %llu bytes of elements should follow, %llu do",
                       stream->source->path, (unsigned long long)out->size, (unsigned long long)stream->left);
    return good;
}

/* ---- writing ---- */

bool io_npy_write(cli_out *out, const io_array *array, io_error *error)
{
    bc_text header;
    const char *descr = bc_dtypes[array->dtype].descr;
    if (!descr[0])
        return io_fail(error, "%s cannot be written to a .npy file", tv_dtype_name(array->dtype));
    bc_text_init(&header, NULL);
    bc_text_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (uint32_t i = 0; i < array->ndim; i++)
        bc_text_printf(&header, "%s%lld", i ? ", " : "", (long long)array->shape[i]);
    bc_text_puts(&header, array->ndim == 1 ? ",), }" : "), }");
    while (!header.failed && (10 + header.len + 1) % 64 != 0)
        bc_text_char(&header, ' ');
    bc_text_char(&header, '\n');
    /* TV_MAX_RANK extents of 20 characters stay far below what version 1 holds. */
    unsigned char start[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)header.len, (unsigned char)(header.len >> 8)};
    bool good = !header.failed || io_fail(error, "out of memory");
    if (good) {
        cli_out_write(out, start, sizeof start);
        cli_out_write(out, header.ptr, header.len);
        cli_out_write(out, array->data, array->size);
    }
    bc_text_release(&header);
    return good;
}
