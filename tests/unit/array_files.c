/* .npy, .npz and .safetensors: files that numpy wrote, round trips, and every way to be damaged. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/test.h"
#include "tools/tilevm/args/args.h"

#define DATA "tests/data/arrays/"

static io_error error;

/* ---- reading what numpy wrote ---- */

typedef struct found {
    io_info info;
    unsigned char bytes[8192];
} found;

static bool read_npy(const char *path, found *out)
{
    io_source source;
    io_stream stream;
    *out = (found){0};
    if (!io_source_open(&source, path, &error))
        return false;
    io_stream_open(&stream, &source, 0, source.size);
    bool good = io_npy_header(&stream, &out->info, &error) && out->info.size <= sizeof out->bytes
                && io_stream_read(&stream, out->bytes, (size_t)out->info.size, &error);
    io_source_close(&source);
    return good;
}

static void npy(const char *path, const char *type, bool fortran, const char *shape, const void *bytes, size_t size)
{
    found f;
    char text[64] = "", full[128];
    snprintf(full, sizeof full, DATA "%s", path);
    bool good = read_npy(full, &f);
    CHECK_MSG(good, "%s: %s", path, error.text);
    for (uint32_t i = 0; i < f.info.ndim; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", i ? "," : "", (long long)f.info.shape[i]);
    CHECK_MSG(strcmp(text, shape) == 0 && f.info.fortran == fortran, "%s: %s", path, text);
    CHECK_MSG(f.info.raw ? strcmp(type, "raw") == 0 : strcmp(type, tv_dtype_name(f.info.dtype)) == 0, "%s", path);
    CHECK_MSG(f.info.size == size && memcmp(f.bytes, bytes, size) == 0, "%s", path);
}

static void test_golden(void)
{
    npy("f32_c.npy", "f32", false, "2,3", (float[]){0, 0.25f, 0.5f, 0.75f, 1, 1.25f}, 24);
    npy("f32_fortran.npy", "f32", true, "2,3", (float[]){0, 0.75f, 0.25f, 1, 0.5f, 1.25f}, 24);
    npy("i64_scalar.npy", "i64", false, "", (int64_t[]){-5}, 8);
    npy("bool_empty.npy", "bool", false, "0,4", "", 0);
    npy("bf16.npy", "raw", false, "3", (uint16_t[]){0x3fc0, 0xc000, 0x3e80}, 6);
    npy("f8e4m3fn.npy", "raw", false, "3", (uint8_t[]){0x3c, 0xc0, 0x28}, 3);
    npy("f16_v2.npy", "f16", false, "3", (uint16_t[]){0x3c00, 0x4000, 0x4300}, 6);
    npy("f64_v3.npy", "f64", false, "1,3", (double[]){1, 2, 3.5}, 24);
    found f;
    CHECK(!read_npy(DATA "big_endian.npy", &f) && strstr(error.text, "big-endian"));
    CHECK(!read_npy(DATA "absent.npy", &f) && strstr(error.text, "absent.npy: No such file"));
    CHECK(!read_npy(DATA, &f) && strstr(error.text, "directory"));
}

static bool read_npz(const char *path, const char *key, found *out)
{
    io_source source;
    io_member member;
    *out = (found){0};
    if (!io_source_open(&source, path, &error))
        return false;
    bool opened = io_npz_open(&source, key, &member, &out->info, &error);
    bool good = opened && out->info.size <= sizeof out->bytes
                && io_stream_read(&member.stream, out->bytes, (size_t)out->info.size, &error)
                && io_npz_check(&member, &error);
    if (opened)
        io_stream_close(&member.stream);
    io_source_close(&source);
    return good;
}

static void test_npz(void)
{
    found f;
    CHECK(read_npz(DATA "stored.npz", "a", &f) && f.info.dtype == TV_I32 && f.info.ndim == 1 && f.info.shape[0] == 4);
    CHECK(memcmp(f.bytes, (int32_t[]){0, 1, 2, 3}, 16) == 0);
    CHECK(read_npz(DATA "stored.npz", "b", &f) && f.info.dtype == TV_F64 && memcmp(f.bytes, &(double){1.5}, 8) == 0);
    CHECK(!read_npz(DATA "stored.npz", "c", &f) && strstr(error.text, "has no array 'c'; its arrays: a, b"));
    CHECK(!read_npz(DATA "stored.npz", "", &f) && strstr(error.text, "holds several arrays"));
    CHECK(!read_npz(DATA "f32_c.npy", "a", &f) && strstr(error.text, "not a zip archive"));
    CHECK(read_npz(DATA "deflated.npz", "ramp", &f) && f.info.dtype == TV_U16 && f.info.count == 1000);
    for (unsigned i = 0; i < 1000; i++)
        CHECK(arg_load(f.bytes + 2 * i, 2) == i);
}

/* ---- headers ---- */

/* A .npy file with this header, and payload bytes behind it. */
static bool header(const char *text, unsigned version, size_t payload, io_info *out)
{
    unsigned char bytes[2048] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    size_t len = strlen(text), start = version == 1 ? 10 : 12;
    io_source source;
    io_stream stream;
    bytes[8] = (unsigned char)len;
    bytes[9] = (unsigned char)(len >> 8);
    memcpy(bytes + start, text, len);
    /* On the heap and tight, so that the sanitizers see every byte too far. */
    unsigned char *tight = malloc(start + len + payload);
    if (!tight)
        return false;
    memcpy(tight, bytes, start + len);
    memset(tight + start + len, 0, payload);
    io_source_from_memory(&source, "x.npy", tight, start + len + payload);
    io_stream_open(&stream, &source, 0, source.size);
    error.text[0] = 0;
    bool good = io_npy_header(&stream, out, &error);
    CHECK(good || error.text[0]);
    free(tight);
    return good;
}

static void refuse(const char *text, const char *why)
{
    io_info info;
    CHECK_MSG(!header(text, 1, 64, &info) && strstr(error.text, why), "%s\n  %s", text, error.text);
}

static void test_headers(void)
{
    io_info info;
    CHECK(header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 1, 24, &info) && info.count == 6);
    CHECK(header("{\"shape\":(4L,),\"fortran_order\":True,\"descr\":\"|u1\"}  \n", 1, 4, &info) && info.dtype == TV_U8
          && info.fortran);
    CHECK(header("{'descr': 'bfloat16', 'fortran_order': False, 'shape': ()}", 2, 2, &info) && info.dtype == TV_BF16);
    CHECK(header("{'descr': 'float8_e5m2', 'fortran_order': False, 'shape': (1,)}", 3, 1, &info)
          && info.dtype == TV_F8E5M2);
    CHECK(header("{'descr': '=i2', 'fortran_order': False, 'shape': (1,)}", 1, 2, &info) && info.dtype == TV_I16);
    CHECK(header("{'descr': '>u1', 'fortran_order': False, 'shape': (1,)}", 1, 1, &info) && info.dtype == TV_U8);
    CHECK(header("{'descr': '<f1', 'fortran_order': False, 'shape': (1,)}", 1, 1, &info)
          && info.dtype == TV_F8E5M2); /* from ml_dtypes */
    refuse("", "not a Python dictionary");
    refuse("{'descr': '<f4', 'fortran_order': False}", "does not have just");
    refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "unknown key 'x'");
    refuse("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "'descr' twice");
    refuse("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "neither True nor False");
    refuse("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "structured");
    refuse("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "'<c8' are not supported");
    refuse("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "not supported");
    refuse("{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}", "not supported");
    refuse("{'descr': '|V16', 'fortran_order': False, 'shape': (1,)}", "not supported");
    refuse("{'descr': '<V0', 'fortran_order': False, 'shape': (1,)}", "not supported");
    refuse("{'descr': '', 'fortran_order': False, 'shape': (1,)}", "not supported");
    refuse("{'descr': 'int4', 'fortran_order': False, 'shape': (1,)}", "not supported");
    refuse("{'descr': '<f4', 'fortran_order': False, 'shape': 4}", "no shape in parentheses");
    refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "not a list of numbers");
    refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "not a list of numbers");
    refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "not a list of numbers");
    refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "more elements than memory");
    refuse("{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}", "more elements than memory");
    refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (17,)}", "68 bytes of elements should follow, 64 do");
    refuse("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "does not have just");
    refuse("{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}", "not a Python dictionary");
    refuse("{'descr': '<f4", "the element type in the header is not a string");
    CHECK(header("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 922337203685477580)}", 1, 0, &info)
          && info.size == 0);
    char many[512] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < 33; i++)
        strcat(many, "1,");
    strcat(many, ")}");
    refuse(many, "more than 32 dimensions");
    CHECK(!header("{}", 4, 0, &info) && strstr(error.text, ".npy version 4.0 is not known"));
}

/* ---- round trips ---- */

static uint32_t state = 9;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* A few arrays of random type and shape. */
typedef struct set {
    io_array arrays[4];
    int64_t shapes[4][4];
    unsigned char data[4][4096];
} set;

static void draw_set(set *s, unsigned count)
{
    static const char *const keys[] = {"a", "b", "weights.0 \"x\"", "d\xc3\xa9"};
    for (unsigned i = 0; i < count; i++) {
        tv_dtype dtype = (tv_dtype)draw(TV_F8E5M3FNU);
        size_t size = tv_dtype_bits(dtype) / 8;
        uint32_t ndim = draw(5);
        for (uint32_t d = 0; d < ndim; d++) {
            s->shapes[i][d] = draw(4) == 0 ? 1 : 1 + draw(4);
            size *= (size_t)s->shapes[i][d];
        }
        if (ndim && draw(8) == 0) {
            s->shapes[i][0] = 0;
            size = 0;
        }
        bool random = draw(2);
        for (size_t b = 0; b < size; b++)
            s->data[i][b] = random ? (unsigned char)draw(256) : (unsigned char)(b / 16);
        s->arrays[i] = (io_array){
            .key = keys[i], .dtype = dtype, .ndim = ndim, .shape = s->shapes[i], .data = s->data[i], .size = size};
    }
}

typedef bool write_fn(cli_out *out, const io_array *arrays, size_t count, io_error *e);

/* What a writer gives for them, in memory. */
static unsigned char *written(write_fn *write, const io_array *arrays, size_t count, size_t *out_size)
{
    char *bytes = NULL;
    cli_out out = {.file = open_memstream(&bytes, out_size)};
    bool good = out.file && write(&out, arrays, count, &error);
    CHECK_MSG(good, "%s", error.text);
    if (out.file)
        fclose(out.file);
    return (unsigned char *)bytes;
}

static bool write_one(cli_out *out, const io_array *arrays, size_t count, io_error *e)
{
    (void)count;
    return io_npy_write(out, arrays, e);
}

static void same(const io_array *a, const io_info *info, io_stream *stream)
{
    unsigned char bytes[4096];
    bool type = info->raw ? info->item * 8 == tv_dtype_bits(a->dtype)
                          : info->dtype == a->dtype || (info->dtype == TV_F32 && a->dtype == TV_TF32);
    CHECK_MSG(type && info->ndim == a->ndim && info->size == a->size, "%s", tv_dtype_name(a->dtype));
    for (uint32_t i = 0; i < a->ndim; i++)
        CHECK(info->shape[i] == a->shape[i]);
    CHECK(info->size <= sizeof bytes && io_stream_read(stream, bytes, a->size, &error)
          && memcmp(bytes, a->data, a->size) == 0);
}

static void test_round_trips(void)
{
    static set s;
    io_source source;
    io_stream stream;
    io_member member;
    io_info info;
    for (int round = 0; round < 300; round++) {
        unsigned count = 1 + draw(4);
        size_t size = 0;
        draw_set(&s, count);
        unsigned char *bytes = written(write_one, s.arrays, 1, &size);
        io_source_from_memory(&source, "x.npy", bytes, size);
        io_stream_open(&stream, &source, 0, size);
        CHECK(size % 64 == s.arrays[0].size % 64 && io_npy_header(&stream, &info, &error));
        same(&s.arrays[0], &info, &stream);
        free(bytes);

        bytes = written(io_npz_write, s.arrays, count, &size);
        io_source_from_memory(&source, "x.npz", bytes, size);
        for (unsigned i = 0; i < count; i++) {
            bool good = io_npz_open(&source, s.arrays[i].key, &member, &info, &error);
            CHECK_MSG(good, "%s", error.text);
            if (!good)
                continue;
            same(&s.arrays[i], &info, &member.stream);
            CHECK(io_npz_check(&member, &error));
            io_stream_close(&member.stream);
        }
        free(bytes);

        for (unsigned i = 0; i < count; i++)
            if (s.arrays[i].dtype == TV_F8E5M3FNU)
                s.arrays[i].dtype = TV_U8;
        bytes = written(io_tensors_write, s.arrays, count, &size);
        io_source_from_memory(&source, "x.safetensors", bytes, size);
        for (unsigned i = 0; i < count; i++) {
            bool good = io_tensor_open(&source, s.arrays[i].key, &stream, &info, &error);
            CHECK_MSG(good, "%s", error.text);
            if (good)
                same(&s.arrays[i], &info, &stream);
        }
        free(bytes);
    }
}

/* Large and regular members are deflated, others are not. */
static void test_packing(void)
{
    enum { COUNT = 100000 };
    float *data = calloc(COUNT, sizeof *data);
    int64_t shape[] = {COUNT};
    size_t size = 0;
    if (!data)
        return;
    io_array a = {.key = "x", .dtype = TV_F32, .ndim = 1, .shape = shape, .data = data, .size = COUNT * sizeof *data};
    unsigned char *bytes = written(io_npz_write, &a, 1, &size);
    CHECK_MSG(size < 4000, "%zu", size);
    io_source source;
    io_member member;
    io_info info;
    io_source_from_memory(&source, "x.npz", bytes, size);
    CHECK(io_npz_open(&source, NULL, &member, &info, &error) && info.count == COUNT);
    CHECK(io_stream_read(&member.stream, data, a.size, &error) && io_npz_check(&member, &error));
    io_stream_close(&member.stream);
    free(bytes);
    for (int i = 0; i < COUNT; i++) {
        uint32_t bits = arg_hash(1, (uint64_t)i);
        memcpy(&data[i], &bits, 4);
    }
    bytes = written(io_npz_write, &a, 1, &size);
    CHECK_MSG(size > a.size, "%zu", size);
    free(bytes);
    free(data);
}

/* ---- damage ---- */

/* Reads everything there may be; only the sanitizers and the limits judge. */
static bool swallow(const unsigned char *bytes, size_t size, io_format format)
{
    io_source source;
    io_stream stream;
    io_member member;
    io_info info;
    bool good = false;
    unsigned char *tight = malloc(size ? size : 1);
    if (!tight)
        return false;
    memcpy(tight, bytes, size);
    io_source_from_memory(&source, "x", tight, size);
    if (format == IO_NPY) {
        io_stream_open(&stream, &source, 0, size);
        good = io_npy_header(&stream, &info, &error);
    } else if (format == IO_TENSORS) {
        good = io_tensor_open(&source, "b", &stream, &info, &error);
    } else if (io_npz_open(&source, "b", &member, &info, &error)) {
        static unsigned char out[1 << 16];
        good = info.size <= sizeof out && io_stream_read(&member.stream, out, (size_t)info.size, &error)
               && io_npz_check(&member, &error);
        io_stream_close(&member.stream);
    }
    free(tight);
    return good;
}

static void damage(write_fn *write, io_format format)
{
    static set s;
    unsigned good = 0, bad = 0;
    for (int round = 0; round < 40; round++) {
        size_t size = 0;
        draw_set(&s, 3);
        s.arrays[0].key = "b";
        s.arrays[1].key = "c";
        unsigned char *bytes = written(write, s.arrays, 3, &size);
        for (size_t cut = 0; cut < size && cut < 600; cut += 1 + draw(5))
            bad += !swallow(bytes, size - 1 - cut % size, format);
        for (int change = 0; change < 200; change++) {
            size_t at = draw((uint32_t)size);
            unsigned char before = bytes[at];
            bytes[at] = (unsigned char)(draw(3) ? draw(256) : before ^ 1u << draw(8));
            if (swallow(bytes, size, format))
                good++;
            else
                bad++;
            bytes[at] = before;
        }
        free(bytes);
    }
    CHECK_MSG(bad > 500 && good > 100, "%u good, %u bad", good, bad);
}

/* An archive that promises more than deflate can hold. */
static void test_bomb(void)
{
    static unsigned char file[8192];
    FILE *f = fopen(DATA "deflated.npz", "rb");
    size_t size = f ? fread(file, 1, sizeof file, f) : 0;
    if (f)
        fclose(f);
    CHECK(size > 100);
    for (size_t i = 0; i + 46 < size; i++)
        if (memcmp(file + i, "PK\1\2", 4) == 0)
            memcpy(file + i + 24, "\xfe\xff\xff\xff", 4); /* inflated size */
    io_source source;
    io_member member;
    io_info info;
    io_source_from_memory(&source, "bomb.npz", file, size);
    CHECK(!io_npz_open(&source, "zeros", &member, &info, &error) && strstr(error.text, "cannot come out of"));
}

/* ---- safetensors ---- */

static bool tensor(const char *json, size_t payload, const char *key, io_info *out)
{
    unsigned char bytes[2048] = {0};
    size_t len = strlen(json);
    io_source source;
    io_stream stream;
    bytes[0] = (unsigned char)len;
    bytes[1] = (unsigned char)(len >> 8);
    memcpy(bytes + 8, json, len);
    io_source_from_memory(&source, "x.safetensors", bytes, 8 + len + payload);
    return io_tensor_open(&source, key, &stream, out, &error);
}

static void refuse_tensor(const char *json, const char *why)
{
    io_info info;
    CHECK_MSG(!tensor(json, 16, "a", &info) && strstr(error.text, why), "%s\n  %s", json, error.text);
}

static void test_tensors(void)
{
    io_info info;
    CHECK(
        tensor(
            "{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"BF16\",\"shape\":[2,2],\"data_offsets\":[8,16]}}",
            16, "", &info)
        && info.dtype == TV_BF16 && info.ndim == 2 && info.count == 4);
    CHECK(tensor("{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, "a", &info)
          && info.dtype == TV_F8E4M3FN);
    CHECK(tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "a", &info) && info.count == 0);
    refuse_tensor("{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                  "has no single tensor 'a'; its tensors: b");
    refuse_tensor("[]", "not a JSON object");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]", "not a JSON object");
    refuse_tensor("{\"a\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,4]}}", "'C64' are not supported");
    refuse_tensor("{\"a\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}", "'F4' are not supported");
    refuse_tensor("{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", "'?' are not supported");
    refuse_tensor("{\"a\":3}", "'?' are not supported");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "not a list of at most 32");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", "not a list of at most 32");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[1e300],\"data_offsets\":[0,4]}}", "not a list of at most 32");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":\"1\",\"data_offsets\":[0,4]}}", "not a list of at most 32");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}",
                  "more elements");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[5],\"data_offsets\":[0,20]}}", "lies outside the file");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,4]}}", "lies outside the file");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", "lies outside the file");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "lies outside the file");
    refuse_tensor("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}",
                  "has 4 bytes, but its shape asks for 8");
    refuse_tensor(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":[1],"
        "\"data_offsets\":[0,4]}}",
        "no single tensor 'a'");
}

int main(void)
{
    if (access(DATA "f32_c.npy", R_OK) != 0) {
        fprintf(stderr, "run this from the top folder of the project\n");
        return 2;
    }
    test_golden();
    test_npz();
    test_headers();
    test_round_trips();
    test_packing();
    damage(write_one, IO_NPY);
    damage(io_npz_write, IO_NPZ);
    damage(io_tensors_write, IO_TENSORS);
    test_bomb();
    test_tensors();
    return TEST_END("array_files");
}
