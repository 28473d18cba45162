/* .safetensors files: the length of a header in eight bytes, the header as a JSON object
   {"name": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}, ...}, the elements of all tensors. */
#include <errno.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/dtype.h"
#include "tools/tilevm/io/io.h"

enum { MAX_HEADER = 4 << 20 }; /* some 30000 tensors; a tree of JSON takes up to 40 times as much */

/* ---- reading ---- */

static bool read_header(const io_source *source, cJSON **out, uint64_t *out_data, io_error *error)
{
    unsigned char start[8];
    uint64_t len = 0;
    if (!io_source_read(source, 0, start, 8, error))
        return false;
    for (unsigned i = 8; i-- > 0;)
        len = len << 8 | start[i];
    if (len > source->size - 8)
        return io_fail(error, "%s: not a .safetensors file, or cut off", source->path);
    if (len > MAX_HEADER)
        return io_fail(error, "%s: the header has %llu bytes; up to %d are read", source->path, (unsigned long long)len,
                       MAX_HEADER);
    char *text = malloc((size_t)len + 1);
    if (!text)
        return io_fail(error, "%s: out of memory", source->path);
    bool good = io_source_read(source, 8, text, (size_t)len, error);
    if (good) {
        text[len] = 0;
        errno = 0;
        *out = cJSON_ParseWithLength(text, (size_t)len + 1);
        good = cJSON_IsObject(*out) || io_fail_errno(error, "%s: the header is not a JSON object", source->path);
        if (!good)
            cJSON_Delete(*out);
    }
    free(text);
    *out_data = 8 + len;
    return good;
}

/* A whole number that a double holds exactly. */
static bool get_count(const cJSON *item, uint64_t *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 9007199254740992.0
        || item->valuedouble != floor(item->valuedouble))
        return false;
    *out = (uint64_t)item->valuedouble;
    return true;
}

static bool get_shape(const cJSON *shape, io_info *out)
{
    const cJSON *item;
    uint64_t extent;
    if (!cJSON_IsArray(shape))
        return false;
    cJSON_ArrayForEach(item, shape)
    {
        if (out->ndim == TV_MAX_RANK || !get_count(item, &extent))
            return false;
        out->shape[out->ndim++] = (int64_t)extent;
    }
    return true;
}

static bool get_dtype(const cJSON *dtype, io_info *out)
{
    if (!cJSON_IsString(dtype))
        return false;
    for (int i = 0; i < TV_DTYPE_COUNT; i++)
        if (i != TV_TF32 && bc_dtypes[i].tensors[0] && strcmp(dtype->valuestring, bc_dtypes[i].tensors) == 0) {
            out->dtype = (tv_dtype)i;
            out->item = tv_dtype_bits(out->dtype) / 8;
            return out->item > 0;
        }
    return false;
}

static bool is_metadata(const cJSON *item)
{
    return strcmp(item->string, "__metadata__") == 0;
}

/* The two numbers of data_offsets, in order. */
static bool get_range(const cJSON *tensor, uint64_t *begin, uint64_t *end)
{
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(tensor, "data_offsets");
    return cJSON_GetArraySize(offsets) == 2 && get_count(cJSON_GetArrayItem(offsets, 0), begin)
           && get_count(cJSON_GetArrayItem(offsets, 1), end) && *begin <= *end;
}

/* The format wants every tensor to have bytes of its own. */
static bool is_alone(const io_source *source, const cJSON *root, const cJSON *tensor, uint64_t begin, uint64_t end,
                     io_error *error)
{
    const cJSON *other;
    uint64_t from, to;
    cJSON_ArrayForEach(other, root)
    {
        if (other != tensor && !is_metadata(other) && get_range(other, &from, &to) && from < end && begin < to)
            return io_fail(error, "%s: '%.80s' and '%.80s' have bytes in common", source->path, tensor->string,
                           other->string);
    }
    return true;
}

static bool read_tensor(const io_source *source, const cJSON *root, const cJSON *tensor, uint64_t data, io_stream *out,
                        io_info *info, io_error *error)
{
    uint64_t begin = 0, end = 0;
    *info = (io_info){0};
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(tensor, "dtype");
    if (!get_dtype(dtype, info))
        return io_fail(error, "%s: elements of type '%.40s' are not supported", source->path,
                       cJSON_IsString(dtype) ? dtype->valuestring : "?");
    if (!get_shape(cJSON_GetObjectItemCaseSensitive(tensor, "shape"), info))
        return io_fail(error, "%s: the shape of '%.80s' is not a list of at most %d numbers", source->path,
                       tensor->string, TV_MAX_RANK);
    io_error inner;
    if (!io_info_measure(info, &inner))
        return io_fail(error, "%s: '%.80s': %.200s", source->path, tensor->string, inner.text);
    if (!get_range(tensor, &begin, &end) || end > source->size - data)
        return io_fail(error, "%s: '%.80s' lies outside the file", source->path, tensor->string);
    if (end - begin != info->size)
        return io_fail(error, "%s: '%.80s' has %llu bytes, but its shape asks for %llu", source->path, tensor->string,
                       (unsigned long long)(end - begin), (unsigned long long)info->size);
    if (!is_alone(source, root, tensor, begin, end, error))
        return false;
    io_stream_open(out, source, data + begin, info->size);
    return true;
}

/* The tensor with that name, or the only one. */
static const cJSON *find_tensor(const cJSON *root, const char *key)
{
    const cJSON *item, *found = NULL;
    cJSON_ArrayForEach(item, root)
    {
        if (is_metadata(item) || (key && key[0] && strcmp(item->string, key) != 0))
            continue;
        if (found)
            return NULL;
        found = item;
    }
    return found;
}

static bool no_tensor(const io_source *source, const cJSON *root, const char *key, io_error *error)
{
    bc_text names;
    const cJSON *item;
    bc_text_init(&names, NULL);
    cJSON_ArrayForEach(item, root)
    {
        if (!is_metadata(item) && names.len < 150)
            bc_text_printf(&names, "%s%.40s", names.len ? ", " : "", item->string);
    }
    if (key && key[0])
        io_fail(error, "%s: has no single tensor '%s'; its tensors: %s", source->path, key,
                names.len || names.failed ? bc_text_words(&names) : "none");
    else
        io_fail(error, "%s holds several tensors; write %s:NAME, with one of %s", source->path, source->path,
                names.len || names.failed ? bc_text_words(&names) : "none");
    bc_text_release(&names);
    return false;
}

bool io_tensor_open(const io_source *source, const char *key, io_stream *out, io_info *out_info, io_error *error)
{
    cJSON *root = NULL;
    uint64_t data = 0;
    if (!read_header(source, &root, &data, error))
        return false;
    const cJSON *tensor = find_tensor(root, key);
    bool good = tensor ? read_tensor(source, root, tensor, data, out, out_info, error)
                       : no_tensor(source, root, key, error);
    cJSON_Delete(root);
    return good;
}

/* ---- writing ---- */

static void put_key(bc_text *out, const char *key)
{
    bc_text_char(out, '"');
    for (const char *c = key; *c; c++) {
        if (*c == '"' || *c == '\\')
            bc_text_printf(out, "\\%c", *c);
        else if ((unsigned char)*c < ' ')
            bc_text_printf(out, "\\u%04x", (unsigned)*c);
        else
            bc_text_char(out, *c);
    }
    bc_text_char(out, '"');
}

bool io_tensors_write(cli_out *out, const io_array *arrays, size_t count, io_error *error)
{
    bc_text header;
    uint64_t at = 0;
    bc_text_init(&header, NULL);
    bc_text_char(&header, '{');
    for (size_t i = 0; i < count; i++) {
        const io_array *a = &arrays[i];
        const char *dtype = bc_dtypes[a->dtype].tensors;
        if (!dtype[0] || tv_dtype_bits(a->dtype) < 8) {
            bc_text_release(&header);
            return io_fail(error, "%s cannot be written to a .safetensors file", tv_dtype_name(a->dtype));
        }
        bc_text_puts(&header, i ? "," : "");
        put_key(&header, a->key);
        bc_text_printf(&header, ":{\"dtype\":\"%s\",\"shape\":[", dtype);
        for (uint32_t d = 0; d < a->ndim; d++)
            bc_text_printf(&header, "%s%lld", d ? "," : "", (long long)a->shape[d]);
        bc_text_printf(&header, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)at,
                       (unsigned long long)(at + a->size));
        at += a->size;
    }
    bc_text_char(&header, '}');
    while (!header.failed && header.len % 8 != 0)
        bc_text_char(&header, ' ');
    bool good = !header.failed || io_fail(error, "out of memory");
    if (good) {
        unsigned char start[8];
        for (unsigned i = 0; i < 8; i++)
            start[i] = (unsigned char)(header.len >> 8 * i);
        cli_out_write(out, start, sizeof start);
        cli_out_write(out, header.ptr, header.len);
        for (size_t i = 0; i < count; i++)
            cli_out_write(out, arrays[i].data, arrays[i].size);
    }
    bc_text_release(&header);
    return good;
}
