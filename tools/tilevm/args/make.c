/* Specs to arrays and scalars: numbers, shapes, files, generators. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bytecode/number/number.h"
#include "tools/tilevm/args/args.h"

static int shown(tv_str s)
{
    return s.len < 60 ? (int)s.len : 60;
}

/* ---- numbers ---- */

/* nan, inf and their signs, in any case. */
static bool parse_special(tv_str s, bc_kind kind, uint64_t *out)
{
    const bc_float_format *format = bc_float_format_of(kind);
    bool negative = s.len && s.ptr[0] == '-';
    if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
        s.ptr++, s.len--;
    bool nan = s.len == 3 && strncasecmp(s.ptr, "nan", 3) == 0, inf = s.len == 3 && strncasecmp(s.ptr, "inf", 3) == 0;
    if ((!nan && !inf) || (negative && !format->has_sign) || (inf && format->specials != BC_SPECIALS_IEEE)
        || (nan && format->specials == BC_SPECIALS_NONE))
        return false;
    *out = (nan ? format->nan : format->infinity) | (negative ? (uint64_t)1 << (bc_kind_bits(kind) - 1) : 0);
    return true;
}

/* Writes a number so that it has digits on both sides of a point: 5, .5, 5e3. */
static void with_point(tv_str s, bc_text *out)
{
    size_t i = 0;
    if (i < s.len && (s.ptr[i] == '-' || s.ptr[i] == '+'))
        bc_text_char(out, s.ptr[i++]);
    if (i < s.len && s.ptr[i] == '.')
        bc_text_char(out, '0');
    for (; i < s.len && isdigit((unsigned char)s.ptr[i]); i++)
        bc_text_char(out, s.ptr[i]);
    if (i == s.len || s.ptr[i] == 'e' || s.ptr[i] == 'E')
        bc_text_puts(out, ".0");
    bc_text_str(out, (tv_str){s.ptr + i, s.len - i});
}

static bool is_hex(tv_str s)
{
    return s.len > 2 && s.ptr[0] == '0' && (s.ptr[1] | 0x20) == 'x';
}

static bool parse_real(tv_str s, tv_dtype dtype, uint64_t *out, io_error *error)
{
    bc_kind kind = bc_dtypes[dtype].kind;
    bc_text text;
    if (parse_special(s, kind, out))
        return true;
    bc_text_init(&text, NULL);
    if (is_hex(s))
        bc_text_str(&text, s);
    else
        with_point(s, &text);
    const char *problem = text.failed ? "out of memory" : bc_parse_problem(bc_text_get(&text), kind);
    if (!problem)
        bc_parse_float(bc_text_get(&text), kind, out);
    bc_text_release(&text);
    return !problem || io_fail(error, "%s: '%.*s' %s", tv_dtype_name(dtype), shown(s), s.ptr, problem);
}

/* A number that is not written as an integer: 2.5, 1e3, nan. */
static bool is_fraction(tv_str s, tv_dtype dtype)
{
    uint64_t bits;
    io_error ignored;
    return dtype != TV_BOOL && !bc_dtype_is_float(dtype) && bc_parse_problem(s, BC_I64) && !is_hex(s)
           && parse_real(s, TV_F64, &bits, &ignored);
}

/* Hexadecimal patterns fit both signednesses, numbers only their own. */
static bool parse_integer(tv_str s, tv_dtype dtype, uint64_t *out, io_error *error)
{
    bc_kind kind = bc_dtypes[dtype].kind;
    const char *problem = is_fraction(s, dtype) ? "is not a whole number" : bc_parse_problem(s, kind);
    if (problem)
        return io_fail(error, "%s: '%.*s' %s", tv_dtype_name(dtype), shown(s), s.ptr, problem);
    bc_parse_int(s, kind, out);
    bool top = *out >> (bc_kind_bits(kind) - 1) & 1, negative = s.ptr[0] == '-';
    if (!is_hex(s) && dtype != TV_BOOL && (bc_dtypes[dtype].is_signed ? top && !negative : negative && *out))
        return io_fail(error, "%s: '%.*s' is out of range", tv_dtype_name(dtype), shown(s), s.ptr);
    return true;
}

bool arg_parse_value(tv_str text, tv_dtype dtype, uint64_t *out_bits, io_error *error)
{
    uint64_t bits = 0;
    if (!bc_dtype_is_float(dtype)) {
        if (dtype == TV_BOOL && (bc_str_is(text, "True") || bc_str_is(text, "False")))
            bits = text.ptr[0] == 'T';
        else if (!parse_integer(text, dtype, &bits, error))
            return false;
        *out_bits = bits;
        return true;
    }
    if (!parse_real(text, dtype, &bits, error))
        return false;
    *out_bits = dtype == TV_TF32 ? bc_tf32_to_cell(bits) : bits;
    return true;
}

/* The values of keys. An absent key leaves *out as it is. */
static bool get_int(const arg_spec *spec, arg_key key, const char *name, int64_t *out, io_error *error)
{
    tv_str s = spec->keys[key];
    uint64_t bits = 0;
    if (!s.ptr)
        return true;
    if (bc_parse_problem(s, BC_I64))
        return io_fail(error, "%s is '%.*s'; it must be a whole number", name, shown(s), s.ptr);
    bc_parse_int(s, BC_I64, &bits);
    if ((int64_t)bits < 0 && s.ptr[0] != '-')
        return io_fail(error, "%s is '%.*s'; it must be below 2^63", name, shown(s), s.ptr);
    *out = (int64_t)bits;
    return true;
}

static bool get_real(const arg_spec *spec, arg_key key, const char *name, double *out, io_error *error)
{
    tv_str s = spec->keys[key];
    uint64_t bits = 0;
    io_error inner;
    if (!s.ptr)
        return true;
    errno = 0;
    if (!parse_real(s, TV_F64, &bits, &inner) || is_hex(s))
        return io_fail_errno(error, "%s is '%.*s'; it must be a number", name, shown(s), s.ptr);
    *out = arg_value_of(TV_F64, bits);
    return true;
}

static bool get_ints(const arg_context *context, tv_str s, const char *name, int64_t *out, uint32_t *out_count,
                     io_error *error)
{
    size_t count = 0;
    tv_str *pieces = arg_split(context->arena, s, &count, error);
    if (!pieces)
        return false;
    if (count > TV_MAX_RANK)
        return io_fail(error, "%s has more than %d numbers", name, TV_MAX_RANK);
    for (size_t i = 0; i < count; i++) {
        arg_spec one = {.keys = {[ARG_KEY_SHAPE] = pieces[i]}};
        if (!get_int(&one, ARG_KEY_SHAPE, name, &out[i], error))
            return false;
    }
    *out_count = (uint32_t)count;
    return true;
}

/* ---- types and layouts ---- */

static bool get_dtype(const arg_spec *spec, tv_dtype wanted, tv_dtype *out, io_error *error)
{
    tv_str s = spec->keys[ARG_KEY_DTYPE];
    if (s.ptr && !tv_dtype_parse(s, out))
        return io_fail(error, "'%.*s' is not an element type", shown(s), s.ptr);
    if (s.ptr)
        return true;
    if (spec->has_dtype || wanted < TV_DTYPE_COUNT) {
        *out = spec->has_dtype ? spec->dtype : wanted;
        return true;
    }
    return io_fail(error, "'%.*s' needs an element type", shown(spec->text), spec->text.ptr);
}

typedef struct place { /* a layout with room for its strides */
    arg_layout layout;
    int64_t strides[TV_MAX_RANK];
    bool given;
} place;

static bool get_layout(const arg_context *context, const arg_spec *spec, uint32_t ndim, place *out, io_error *error)
{
    tv_str order = spec->keys[ARG_KEY_ORDER], strides = spec->keys[ARG_KEY_STRIDES];
    int64_t offset = 0;
    *out = (place){.layout = {.budget = context->budget},
                   .given = order.ptr || strides.ptr || spec->keys[ARG_KEY_OFFSET].ptr};
    if (order.ptr && !bc_str_is(order, "C") && !bc_str_is(order, "F"))
        return io_fail(error, "order is '%.*s'; it is C (last axis fastest) or F", shown(order), order.ptr);
    out->layout.fortran = order.ptr && order.ptr[0] == 'F';
    if (!get_int(spec, ARG_KEY_OFFSET, "offset", &offset, error))
        return false;
    if (offset < 0)
        return io_fail(error, "offset is negative");
    out->layout.offset = (uint64_t)offset;
    if (!strides.ptr)
        return true;
    uint32_t count = 0;
    if (!get_ints(context, strides, "strides", out->strides, &count, error))
        return false;
    if (count != ndim)
        return io_fail(error, "%u strides for %u dimensions", count, ndim);
    out->layout.strides = out->strides;
    return true;
}

static bool get_shape(const arg_context *context, const arg_spec *spec, int64_t *shape, uint32_t *ndim, io_error *error)
{
    tv_str s = spec->keys[ARG_KEY_SHAPE];
    if (!s.ptr)
        return io_fail(error, "'%.*s': which shape?", shown(spec->text), spec->text.ptr);
    if (!get_ints(context, s, "the shape", shape, ndim, error))
        return false;
    for (uint32_t i = 0; i < *ndim; i++)
        if (shape[i] < 0)
            return io_fail(error, "extent %u of the shape is negative", i);
    return true;
}

/* An array as the keys of a call describe it, not filled. */
static bool new_array(const arg_context *context, const arg_spec *spec, tv_dtype dtype, arg_array *out, io_error *error)
{
    int64_t shape[TV_MAX_RANK];
    uint32_t ndim = 0;
    place where;
    if (!get_shape(context, spec, shape, &ndim, error) || !get_layout(context, spec, ndim, &where, error))
        return false;
    return arg_array_new(dtype, ndim, shape, &where.layout, out, error);
}

/* ---- files ---- */

static char *join_path(const arg_context *context, tv_str path, io_error *error)
{
    bc_text text;
    bc_text_init(&text, &context->arena->allocator);
    if (context->folder && path.len && path.ptr[0] != '/')
        bc_text_printf(&text, "%s/", context->folder);
    bc_text_str(&text, path);
    tv_str kept = text.failed ? (tv_str){0} : bc_arena_dup(context->arena, bc_text_get(&text));
    bc_text_release(&text);
    if (!kept.ptr)
        io_fail(error, "out of memory");
    return kept.ptr ? (char *)(uintptr_t)kept.ptr : NULL;
}

/* The element type that the bytes of a file are taken for. */
static bool choose_dtype(const arg_spec *spec, const io_info *info, tv_dtype wanted, const char *path, tv_dtype *out,
                         io_error *error)
{
    bool told = spec->has_dtype || spec->keys[ARG_KEY_DTYPE].ptr;
    if (told) {
        if (!get_dtype(spec, wanted, out, error))
            return false;
        return tv_dtype_bits(*out) == info->item * 8
               || io_fail(error, "%s has elements of %u bytes, which cannot be %s", path, info->item,
                          tv_dtype_name(*out));
    }
    if (info->raw) {
        *out = wanted;
        return (wanted < TV_DTYPE_COUNT && tv_dtype_bits(wanted) == info->item * 8)
               || io_fail(error, "%s has raw elements of %u bytes; say which type, as in bf16:%s", path, info->item,
                          path);
    }
    *out = info->dtype == TV_F32 && wanted == TV_TF32 ? TV_TF32 : info->dtype;
    return true;
}

/* Copies packed row-major elements into an array. */
static void scatter(arg_array *array, const unsigned char *from)
{
    arg_walk walk;
    for (arg_walk_start(&walk, array); arg_walk_next(&walk);) {
        unsigned char *to = walk.at;
        for (uint64_t i = 0; i < walk.run; i++, to += walk.step, from += array->item)
            memcpy(to, from, array->item);
    }
}

/* The same elements in another layout. */
static bool relay(const arg_context *context, const arg_spec *spec, arg_array *array, io_error *error)
{
    place where;
    arg_array other;
    if (!get_layout(context, spec, array->ndim, &where, error))
        return false;
    if (!where.given)
        return true;
    if (!arg_array_new(array->dtype, array->ndim, array->shape, &where.layout, &other, error))
        return false;
    unsigned char *packed = arg_array_packed(array);
    if (!packed) {
        arg_array_free(&other);
        return io_fail(error, "out of memory");
    }
    scatter(&other, packed);
    free(packed);
    arg_array_free(array);
    *array = other;
    return true;
}

/* The payload of a stream as an array. */
static bool read_payload(const arg_context *context, const arg_spec *spec, tv_dtype wanted, io_stream *stream,
                         const io_info *info, arg_array *out, io_error *error)
{
    tv_dtype dtype;
    const arg_layout layout = {.fortran = info->fortran, .budget = context->budget};
    if (!choose_dtype(spec, info, wanted, stream->source->path, &dtype, error)
        || !arg_array_new(dtype, info->ndim, info->shape, &layout, out, error))
        return false;
    if (io_stream_read(stream, out->storage->data, (size_t)info->size, error))
        return true;
    arg_array_free(out);
    return false;
}

static bool read_npz(const arg_context *context, const arg_spec *spec, const char *member, tv_dtype wanted,
                     const io_source *source, arg_array *out, io_error *error)
{
    io_member m;
    io_info info;
    if (!io_npz_open(source, member, &m, &info, error))
        return false;
    bool good = read_payload(context, spec, wanted, &m.stream, &info, out, error);
    if (good && !io_npz_check(&m, error)) {
        arg_array_free(out);
        good = false;
    }
    io_stream_close(&m.stream);
    return good;
}

/* Raw bytes: the shape is given, or is one dimension as long as the file. */
static bool read_bin(const arg_context *context, const arg_spec *spec, tv_dtype wanted, const io_source *source,
                     arg_array *out, io_error *error)
{
    io_info info = {.raw = true};
    tv_dtype dtype;
    if (!get_dtype(spec, wanted, &dtype, error))
        return false;
    info.item = tv_dtype_bits(dtype) / 8;
    if (!info.item)
        return io_fail(error, "elements of %s share bytes; give them as u8, two in each", tv_dtype_name(dtype));
    if (spec->keys[ARG_KEY_SHAPE].ptr) {
        if (!get_shape(context, spec, info.shape, &info.ndim, error))
            return false;
    } else {
        info.ndim = 1;
        info.shape[0] = (int64_t)(source->size / info.item);
    }
    if (!io_info_measure(&info, error))
        return false;
    if (info.size != source->size)
        return io_fail(error, "%s has %llu bytes, but %llu elements of %s take %llu", source->path,
                       (unsigned long long)source->size, (unsigned long long)info.count, tv_dtype_name(dtype),
                       (unsigned long long)info.size);
    io_stream stream;
    io_stream_open(&stream, source, 0, source->size);
    return read_payload(context, spec, dtype, &stream, &info, out, error);
}

static bool read_format(const arg_context *context, const arg_spec *spec, io_format format, const char *member,
                        tv_dtype wanted, const io_source *source, arg_array *out, io_error *error)
{
    io_stream stream;
    io_info info;
    switch (format) {
    case IO_NPY:
        io_stream_open(&stream, source, 0, source->size);
        return io_npy_header(&stream, &info, error) && read_payload(context, spec, wanted, &stream, &info, out, error);
    case IO_NPZ: return read_npz(context, spec, member, wanted, source, out, error);
    case IO_TENSORS:
        return io_tensor_open(source, member, &stream, &info, error)
               && read_payload(context, spec, wanted, &stream, &info, out, error);
    case IO_BIN:
    case IO_UNKNOWN: break;
    }
    return read_bin(context, spec, wanted, source, out, error);
}

static bool read_file(const arg_context *context, const arg_spec *spec, tv_str path, tv_str member, bool bin,
                      tv_dtype wanted, arg_array *out, io_error *error)
{
    io_source source;
    if (!path.ptr)
        return io_fail(error, "'%.*s': which file?", shown(spec->text), spec->text.ptr);
    char *joined = join_path(context, path, error);
    const char *key = member.ptr ? bc_arena_dup(context->arena, member).ptr : NULL;
    if (!joined || !io_source_open(&source, joined, error))
        return false;
    io_format format = bin ? IO_BIN : io_format_of(path.ptr, path.len);
    bool good = format != IO_UNKNOWN
                || io_fail(error, "%s: known are files named .npy, .npz, .safetensors and .bin", joined);
    good = good && read_format(context, spec, format, key, wanted, &source, out, error);
    io_source_close(&source);
    if (good && !relay(context, spec, out, error)) {
        arg_array_free(out);
        good = false;
    }
    return good;
}

/* ---- generators ---- */

static bool get_arange(const arg_spec *spec, tv_dtype dtype, arg_filler *f, io_error *error)
{
    f->kind = ARG_FILL_ARANGE;
    f->step = 1;
    f->int_step = 1;
    if (!get_int(spec, ARG_KEY_MOD, "mod", &f->mod, error))
        return false;
    if (bc_dtype_is_float(dtype))
        return get_real(spec, ARG_KEY_START, "start", &f->start, error)
               && get_real(spec, ARG_KEY_STEP, "step", &f->step, error);
    return get_int(spec, ARG_KEY_START, "start", &f->int_start, error)
           && get_int(spec, ARG_KEY_STEP, "step", &f->int_step, error);
}

static bool get_randint(const arg_spec *spec, arg_filler *f, io_error *error)
{
    f->kind = ARG_FILL_RANDINT;
    f->int_high = 100;
    f->den = 1;
    /* randint(i32, n, 10): below 10, as in numpy */
    if (spec->keys[ARG_KEY_LOW].ptr && !spec->keys[ARG_KEY_HIGH].ptr)
        return get_int(spec, ARG_KEY_LOW, "high", &f->int_high, error)
               && (f->int_high > 0 || io_fail(error, "high must be above low"));
    return get_int(spec, ARG_KEY_LOW, "low", &f->int_low, error)
           && get_int(spec, ARG_KEY_HIGH, "high", &f->int_high, error)
           && get_real(spec, ARG_KEY_DEN, "den", &f->den, error)
           && (f->int_high > f->int_low || io_fail(error, "high must be above low"));
}

static bool get_filler(const arg_spec *spec, tv_dtype dtype, uint64_t seed, arg_filler *f, io_error *error)
{
    int64_t given = (int64_t)seed;
    *f = (arg_filler){.high = 1, .std = 1};
    if (!get_int(spec, ARG_KEY_SEED, "seed", &given, error))
        return false;
    f->seed = (uint32_t)given;
    switch (spec->maker) {
    case ARG_MAKE_ZEROS: return arg_parse_value(bc_str(dtype == TV_F8E8M0FNU ? "0x00" : "0"), dtype, &f->bits, error);
    case ARG_MAKE_ONES: return arg_parse_value(bc_str("1"), dtype, &f->bits, error);
    case ARG_MAKE_FULL:
        if (!spec->keys[ARG_KEY_VALUE].ptr)
            return io_fail(error, "'%.*s': which value?", shown(spec->text), spec->text.ptr);
        return arg_parse_value(spec->keys[ARG_KEY_VALUE], dtype, &f->bits, error);
    case ARG_MAKE_ARANGE: return get_arange(spec, dtype, f, error);
    case ARG_MAKE_UNIFORM:
        f->kind = ARG_FILL_UNIFORM;
        return get_real(spec, ARG_KEY_LOW, "low", &f->low, error)
               && get_real(spec, ARG_KEY_HIGH, "high", &f->high, error);
    case ARG_MAKE_RANDN:
        f->kind = ARG_FILL_RANDN;
        return get_real(spec, ARG_KEY_MEAN, "mean", &f->mean, error)
               && get_real(spec, ARG_KEY_STD, "std", &f->std, error);
    case ARG_MAKE_RANDINT: return get_randint(spec, f, error);
    case ARG_MAKE_BITS: f->kind = ARG_FILL_RANDOM_BITS; return true;
    case ARG_MAKE_EMPTY:
    case ARG_MAKE_VALUES:
    case ARG_MAKE_FILE:
    case ARG_MAKE_BIN:
    case ARG_MAKER_COUNT: break;
    }
    return true;
}

/* values(f32, [1, 2, 3]): one dimension unless a shape is given; the numbers are used over and over. */
static bool make_values(const arg_context *context, const arg_spec *spec, tv_dtype dtype, arg_array *out,
                        io_error *error)
{
    size_t count = 0;
    tv_str *pieces = arg_split(context->arena, spec->keys[ARG_KEY_VALUES], &count, error);
    uint64_t *bits = pieces ? bc_new(context->arena, uint64_t, count) : NULL;
    if (!bits)
        return error->text[0] ? false : io_fail(error, "out of memory");
    for (size_t i = 0; i < count; i++)
        if (!arg_parse_value(pieces[i], dtype, &bits[i], error))
            return false;
    arg_spec shaped = *spec;
    char shape[24];
    snprintf(shape, sizeof shape, "%zu", count);
    if (!shaped.keys[ARG_KEY_SHAPE].ptr)
        shaped.keys[ARG_KEY_SHAPE] = bc_str(shape);
    if (!new_array(context, &shaped, dtype, out, error))
        return false;
    if (out->count && !count) {
        arg_array_free(out);
        return io_fail(error, "values without values");
    }
    arg_walk walk;
    for (arg_walk_start(&walk, out); arg_walk_next(&walk);) {
        unsigned char *at = walk.at;
        for (uint64_t i = 0; i < walk.run; i++, at += walk.step)
            arg_store(at, out->item, bits[(walk.done + i) % count]);
    }
    return true;
}

static bool make_call(const arg_context *context, const arg_spec *spec, tv_dtype wanted, unsigned ordinal,
                      arg_array *out, io_error *error)
{
    tv_dtype dtype;
    arg_filler filler;
    if (spec->maker == ARG_MAKE_FILE || spec->maker == ARG_MAKE_BIN)
        return read_file(context, spec, spec->keys[ARG_KEY_PATH], spec->keys[ARG_KEY_MEMBER],
                         spec->maker == ARG_MAKE_BIN, wanted, out, error);
    if (!get_dtype(spec, wanted, &dtype, error))
        return false;
    if (spec->maker == ARG_MAKE_VALUES)
        return make_values(context, spec, dtype, out, error);
    if (!get_filler(spec, dtype, ordinal + 1u, &filler, error) || !new_array(context, spec, dtype, out, error))
        return false;
    filler.seed += (uint32_t)context->seed;
    if (spec->maker == ARG_MAKE_EMPTY)
        memset(out->storage->data, ARG_GAP, out->storage->size);
    else
        arg_fill(out, &filler);
    return true;
}

bool arg_make_array(const arg_context *context, const arg_spec *spec, tv_dtype wanted, unsigned ordinal, arg_array *out,
                    io_error *error)
{
    switch (spec->form) {
    case ARG_NULL:
        *out = (arg_array){.dtype = wanted < TV_DTYPE_COUNT ? wanted : TV_U8, .item = 1, .ndim = 1};
        return true;
    case ARG_FILE: return read_file(context, spec, spec->word, spec->member, false, wanted, out, error);
    case ARG_CALL: return make_call(context, spec, wanted, ordinal, out, error);
    case ARG_NUMBER:
        return io_fail(error, "'%.*s' is a number, but an array is needed", shown(spec->text), spec->text.ptr);
    case ARG_LIST:
        return io_fail(error, "'%.*s' is a list, but one array is needed; for its elements say values([...])",
                       shown(spec->text), spec->text.ptr);
    case ARG_ALIAS:
    case ARG_AUTO: break;
    }
    return io_fail(error, "'%.*s' is not allowed here", shown(spec->text), spec->text.ptr);
}

bool arg_make_alias(const arg_context *context, const arg_spec *spec, const arg_array *of, arg_array *out,
                    io_error *error)
{
    int64_t shape[TV_MAX_RANK];
    uint32_t ndim = of->ndim;
    tv_dtype dtype;
    place where;
    memcpy(shape, of->shape, ndim * sizeof *shape);
    if (!get_dtype(spec, of->dtype, &dtype, error))
        return false;
    bool shaped = spec->keys[ARG_KEY_SHAPE].ptr != NULL;
    if ((shaped && !get_shape(context, spec, shape, &ndim, error)) || !get_layout(context, spec, ndim, &where, error))
        return false;
    if (!shaped && !where.given && tv_dtype_bits(dtype) == tv_dtype_bits(of->dtype)) {
        *out = *of;
        out->dtype = dtype;
        out->storage->users++;
        return true;
    }
    return arg_array_alias(of, dtype, ndim, shape, &where.layout, out, error);
}

bool arg_make_scalar(const arg_spec *spec, tv_dtype dtype, uint64_t *out_bits, io_error *error)
{
    if (spec->form != ARG_NUMBER || spec->pointer)
        return io_fail(error, "'%.*s' is not a number, but one %s is needed", shown(spec->text), spec->text.ptr,
                       tv_dtype_name(dtype));
    if (spec->has_dtype && bc_dtypes[spec->dtype].kind != bc_dtypes[dtype].kind)
        return io_fail(error, "'%.*s' is %s, but the kernel takes %s", shown(spec->text), spec->text.ptr,
                       tv_dtype_name(spec->dtype), tv_dtype_name(dtype));
    if (is_fraction(spec->word, dtype))
        return io_fail(error, "the parameter is of type %s and takes whole numbers, not '%.*s'", tv_dtype_name(dtype),
                       shown(spec->text), spec->text.ptr);
    return arg_parse_value(spec->word, spec->has_dtype ? spec->dtype : dtype, out_bits, error);
}
