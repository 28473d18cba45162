/* Arguments against the promises of a signature, and how they are laid out. */
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

static char messages[4096];

static void remember(void *user, const tv_diag *diag)
{
    (void)user;
    size_t at = strlen(messages);
    snprintf(messages + at, sizeof messages - at, "%s%s %.*s", at ? "\n" : "", diag->rule, (int)diag->message.len,
             diag->message.ptr);
}

static const tv_sink sink = {.report = remember};

/* Memory of the arrays: aligned, so that addresses are as written below. */
static _Alignas(4096) unsigned char memory[1 << 16];

/* An array at byte `at` of the memory. */
typedef struct given {
    tv_array array;
    int64_t shape[4], strides[4];
} given;

static tv_arg array_arg(given *g, size_t at, tv_dtype dtype, uint32_t ndim, const int64_t *shape,
                        const int64_t *strides)
{
    memcpy(g->shape, shape, ndim * sizeof *shape);
    if (strides)
        memcpy(g->strides, strides, ndim * sizeof *strides);
    g->array = (tv_array){
        .data = memory + at, .dtype = dtype, .ndim = ndim, .shape = g->shape, .strides = strides ? g->strides : NULL};
    return (tv_arg){.arrays = &g->array, .array_count = 1};
}

static tv_call *call_of(const char *symbol, const tv_arg *args, size_t count, tv_signature **out_signature)
{
    tv_call *call = NULL;
    messages[0] = 0;
    *out_signature = NULL;
    CHECK(tv_signature_open(bc_str(symbol), NULL, sink, out_signature) == TV_OK);
    if (!*out_signature)
        return NULL;
    tv_status status = tv_call_new(*out_signature, args, count, NULL, sink, &call);
    CHECK_MSG((status == TV_OK) == (call != NULL) && (status == TV_INVALID) == (messages[0] != 0), "%d %s", status,
              messages);
    return call;
}

static void refused(const char *symbol, const tv_arg *args, size_t count, const char *expected)
{
    tv_signature *signature;
    tv_call *call = call_of(symbol, args, count, &signature);
    CHECK_MSG((call == NULL) == (expected[0] != 0) && strcmp(messages, expected) == 0,
              "%s\n  found    %s\n  expected %s", symbol, messages, expected);
    tv_call_free(call);
    tv_signature_close(signature);
}

static void accepted(const char *symbol, const tv_arg *args, size_t count)
{
    refused(symbol, args, count, "");
}

#define SHAPE(...)    \
    (const int64_t[]) \
    {                 \
        __VA_ARGS__   \
    }

/* One array against one promise each. */
static void test_promises(void)
{
    given g;
    tv_arg a;
    a = array_arg(&g, 0, TV_F32, 1, SHAPE(100), NULL);
    refused("k_Kt1_A1f32_1i16t1_p16", &a, 1,
            "C-ARG-04 argument 'a': extent 0 is 100, which is not a multiple of 16 as promised");
    refused("k_Kt2_A1f32_1s64", &a, 1, "C-ARG-04 argument 'a': extent 0 is 100, but the kernel was compiled for 64");
    refused("k_Kt1_A1f32_1t2", &a, 1, "C-ARG-05 argument 'a': stride 0 is 1, but the kernel was compiled for 2");
    refused("k_Kt1_A1f32_1v4", &a, 1, "C-ARG-05 argument 'a': stride 0 is 1, which is not a multiple of 4 as promised");
    refused("k_Kt1_A1f32_1l2", &a, 1, "C-ARG-05 argument 'a': stride 0 is 1, below the promised 2");
    refused("k_Kt1_A1f16", &a, 1, "C-ARG-02 argument 'a' holds f32, but the kernel takes f16");
    refused("k_Kt1_A2f32", &a, 1, "C-ARG-03 argument 'a' has 1 dimension, but the kernel takes 2");
    refused("k_Kt1_Sf32", &a, 1, "C-ARG-01 argument 'a' is an array, but the kernel takes one f32");
    refused("k_Kt1_A1f32_A1f32", &a, 1, "C-ARG-01 1 argument was given, but the kernel takes 2");
    refused("k_Kt1_I5", &a, 1, "C-ARG-01 1 argument was given, but the kernel takes 0");
    a = array_arg(&g, 4096, TV_F32, 1, SHAPE(96), NULL);
    accepted("k_Kt2_A1f32_1s96t1_p4096", &a, 1);
    accepted("k_Kt1_A1f32_1i32l1_p4", &a, 1);
}

static void test_addresses(void)
{
    given g;
    tv_arg a = array_arg(&g, 8, TV_F32, 1, SHAPE(16), NULL);
    accepted("k_Kt1_A1f32_1i16t1", &a, 1);
    accepted("k_Kt1_A1f32_1i16t1_p8", &a, 1);
    refused("k_Kt1_A1f32_p16", &a, 1,
            "C-ARG-06 argument 'a' begins at an address % 16 = 8; it must be a multiple of 16 bytes as promised");
    a = array_arg(&g, 2, TV_F32, 1, SHAPE(16), NULL);
    a.name = "x";
    refused(
        "k_Kt1_A1f32", &a, 1,
        "C-ARG-06 argument 'x' begins at an address % 4 = 2; it must be a multiple of 4 bytes, the size of an element");
}

static void test_ranges(void)
{
    given g;
    tv_arg a = array_arg(&g, 0, TV_I8, 2, SHAPE(2, -1), NULL);
    refused("k_Kt1_A2i8", &a, 1, "C-ARG-07 argument 'a': extent 1 is negative (-1)");
    a = array_arg(&g, 0, TV_I8, 2, SHAPE(INT64_MAX, INT64_MAX), NULL);
    refused("k_Kt1_A2i8_w", &a, 1, "C-ARG-07 argument 'a' is larger than the address space");
    a = array_arg(&g, 0, TV_I8, 2, SHAPE(2, INT64_MAX), SHAPE(INT64_MAX, 1));
    refused("k_Kt1_A2i8_w", &a, 1, "C-ARG-07 argument 'a' is larger than the address space");
    a = array_arg(&g, 0, TV_F64, 1, SHAPE(2), SHAPE(INT64_MIN));
    refused("k_Kt1_A1f64_w", &a, 1, "C-ARG-07 argument 'a' is larger than the address space");
    a = array_arg(&g, 0, TV_I8, 2, SHAPE(0, 3000000000), NULL);
    refused("k_Kt1_A2i8", &a, 1,
            "C-ARG-07 argument 'a': stride 0 is 3000000000, which does not fit the i32 that the kernel counts with\n"
            "C-ARG-07 argument 'a': extent 1 is 3000000000, which does not fit the i32 that the kernel counts with");
    accepted("k_Kt1_A2i8_u", &a, 1);
    accepted("k_Kt1_A2i8_w", &a, 1);
    a = array_arg(&g, 100, TV_I8, 1, SHAPE(3), SHAPE(-2));
    accepted("k_Kt1_A1i8", &a, 1);
    refused("k_Kt1_A1i8_u", &a, 1,
            "C-ARG-07 argument 'a': stride 0 is -2, which does not fit the u32 that the kernel counts with");
    /* The stride of an axis of one element may be anything that fits. */
    a = array_arg(&g, 100, TV_F64, 2, SHAPE(1, 3), SHAPE(INT64_MIN, 1));
    g.array.data = memory + 96;
    accepted("k_Kt1_A2f64_w", &a, 1);
}

static void test_sharing(void)
{
    given g[3];
    const char *inside = "C-ARG-09 argument 'a': different indices are the same place in memory";
    tv_arg a[3];
    a[0] = array_arg(&g[0], 0, TV_F32, 2, SHAPE(4, 4), SHAPE(0, 1));
    refused("k_Kt1_A2f32", a, 1, inside);
    accepted("k_Kt1_A2f32_i", a, 1);
    a[0] = array_arg(&g[0], 0, TV_F32, 2, SHAPE(4, 4), SHAPE(3, 1));
    refused("k_Kt1_A2f32", a, 1, inside);
    a[0] = array_arg(&g[0], 0, TV_F32, 2, SHAPE(2, 3), SHAPE(3, 2)); /* places 0 2 4 3 5 7: not nested, yet distinct */
    accepted("k_Kt1_A2f32", a, 1);
    a[0] = array_arg(&g[0], 64, TV_F32, 2, SHAPE(3, 3), SHAPE(-4, 1));
    accepted("k_Kt1_A2f32", a, 1);
    a[0] = array_arg(&g[0], 64, TV_F32, 3, SHAPE(1, 3, 1), SHAPE(0, 1, 0));
    accepted("k_Kt1_A3f32", a, 1);

    const char *both = "C-ARG-08 arguments 'a' and 'b' share memory, but no alias group allows it";
    a[0] = array_arg(&g[0], 0, TV_F32, 1, SHAPE(16), NULL);
    a[1] = array_arg(&g[1], 64, TV_F32, 1, SHAPE(16), NULL);
    accepted("k_Kt1_A1f32_A1f32", a, 2);
    a[1] = array_arg(&g[1], 60, TV_F32, 1, SHAPE(16), NULL);
    refused("k_Kt1_A1f32_A1f32", a, 2, both);
    accepted("k_Kt1_A1f32_g0_A1f32_g0", a, 2);
    refused("k_Kt1_A1f32_g0_A1f32_g1_A1f32_g0g1",
            (tv_arg[]){a[0], a[1], array_arg(&g[2], 4096, TV_F32, 1, SHAPE(1), NULL)}, 3, both);
    /* Even and odd columns of one matrix cross, but do not meet. */
    a[0] = array_arg(&g[0], 0, TV_F32, 2, SHAPE(4, 4), SHAPE(8, 2));
    a[1] = array_arg(&g[1], 4, TV_F32, 2, SHAPE(4, 4), SHAPE(8, 2));
    accepted("k_Kt1_A2f32_A2f32", a, 2);
    /* One byte of overlap. */
    a[1] = array_arg(&g[1], 8 * 4, TV_I8, 1, SHAPE(1), NULL);
    refused("k_Kt1_A2f32_A1i8", a, 2, both);
    /* An empty array shares nothing. */
    a[1] = array_arg(&g[1], 8, TV_I8, 1, SHAPE(0), NULL);
    accepted("k_Kt1_A2f32_A1i8", a, 2);
    /* Too many elements to look at each. */
    static unsigned char large[1 << 23];
    a[0] = array_arg(&g[0], 0, TV_I8, 1, SHAPE(1 << 23), NULL);
    a[1] = array_arg(&g[1], 0, TV_I8, 1, SHAPE(1), NULL);
    g[0].array.data = large;
    g[1].array.data = large + (1 << 23) - 1;
    refused("k_Kt1_A1i8_A1i8", a, 2, both);
    g[1].array.data = memory;
    accepted("k_Kt1_A1i8_A1i8", a, 2);
}

static void test_lists(void)
{
    tv_signature *s;
    int64_t shape[3] = {4, 5, 6}, strides[3][1] = {{1}, {2}, {1}};
    tv_array arrays[3];
    for (int i = 0; i < 3; i++)
        arrays[i] = (tv_array){
            .data = memory + 1024 * i, .dtype = TV_F32, .ndim = 1, .shape = &shape[i], .strides = strides[i]};
    tv_arg list = {.name = "xs", .arrays = arrays, .array_count = 3};
    tv_call *call = call_of("k_Kt1_LA1f32_1l0", &list, 1, &s);
    void *ptr = NULL;
    size_t size = 0, count = 0;
    CHECK(call && tv_call_storage(call, 0, &ptr, &size) && size == (9 + 1) * 8
          && !tv_call_storage(call, 1, &ptr, &size));
    const void *const *params = call ? tv_call_params(call, &count) : NULL;
    CHECK(count == 2 && memcmp(params[0], &ptr, 8) == 0 && memcmp(params[1], &(int32_t){3}, 4) == 0);
    uint64_t want[9] = {(uintptr_t)memory, 4, 1, (uintptr_t)memory + 1024, 5, 2, (uintptr_t)memory + 2048, 6, 1};
    CHECK(ptr && memcmp(ptr, want, sizeof want) == 0);
    tv_call_free(call);
    tv_signature_close(s);

    refused("k_Kt1_LA1f32_1t1", &list, 1,
            "C-ARG-05 argument 'xs[1]': stride 0 is 2, but the kernel was compiled for 1");
    refused("k_Kt1_A1f32", &list, 1, "C-ARG-01 argument 'xs' is a list, but the kernel takes one array");
    arrays[2].data = arrays[0].data;
    refused("k_Kt1_LA1f32_1l0", &list, 1,
            "C-ARG-08 arguments 'xs[0]' and 'xs[2]' share memory, but no alias group allows it");
    accepted("k_Kt1_LiA1f32_1l0", &list, 1);
    list.array_count = 0;
    accepted("k_Kt1_LA1f32_1l0", &list, 1);
}

static void test_layout(void)
{
    tv_signature *s;
    given g[2];
    tv_arg a[5] = {array_arg(&g[0], 0, TV_F32, 2, SHAPE(3, 5), NULL),
                   {.dtype = TV_U8, .bits = 200},
                   array_arg(&g[1], 1024, TV_I64, 1, SHAPE(7), SHAPE(-1)),
                   {.dtype = TV_BOOL, .bits = 3},
                   {.dtype = TV_F64, .bits = 0x3ff0000000000000}};
    tv_call *call = call_of("k_Kt2_T2A2f32I7_Si8_A1i64_w_T1Sb8_Sf64", a, 5, &s);
    size_t count = 0;
    const void *const *params = call ? tv_call_params(call, &count) : NULL;
    CHECK(count == 11);
    if (count == 11) {
        const void *first = memory, *second = memory + 1024;
        CHECK(memcmp(params[0], &first, 8) == 0);
        static const int32_t ints[] = {3, 5, 5, 1};
        for (int i = 0; i < 4; i++)
            CHECK(memcmp(params[1 + i], &ints[i], 4) == 0);
        CHECK(*(const uint8_t *)params[5] == 200);
        CHECK(memcmp(params[6], &second, 8) == 0);
        CHECK(memcmp(params[7], &(int64_t){7}, 8) == 0 && memcmp(params[8], &(int64_t){-1}, 8) == 0);
        CHECK(*(const uint8_t *)params[9] == 1); /* only bit 0 counts */
        CHECK(memcmp(params[10], &(double){1.0}, 8) == 0);
    }
    tv_call_free(call);
    tv_signature_close(s);
    a[4].dtype = TV_F32;
    refused("k_Kt2_T2A2f32I7_Si8_A1i64_w_T1Sb8_Sf64", a, 5, "C-ARG-02 argument 'e' is f32, but the kernel takes f64");
}

static void test_span(void)
{
    int64_t shape[2] = {3, 4}, strides[2] = {-10, 2};
    uintptr_t low, high, at = (uintptr_t)memory + 100;
    tv_array a = {.data = memory + 100, .dtype = TV_I16, .ndim = 2, .shape = shape, .strides = strides};
    CHECK(tv_array_span(&a, &low, &high) && low == at - 40 && high == at + 14);
    a.strides = NULL;
    CHECK(tv_array_span(&a, &low, &high) && low == at && high == at + 24);
    a.ndim = 0;
    CHECK(tv_array_span(&a, &low, &high) && low == at && high == at + 2);
    shape[0] = 0;
    a.ndim = 2;
    CHECK(tv_array_span(&a, &low, &high) && low == at && high == at);
    shape[0] = INT64_MAX;
    CHECK(!tv_array_span(&a, &low, &high));
}

int main(void)
{
    test_promises();
    test_addresses();
    test_ranges();
    test_sharing();
    test_lists();
    test_layout();
    test_span();
    return TEST_END("call");
}
