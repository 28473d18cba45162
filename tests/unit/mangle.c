/* Decoding of mangled symbols: the worked examples of the memory reference, every way to be wrong, and random
   signatures that an encoder of this file's own writes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

/* ---- helpers ---- */

static char message[512];

static void remember(void *user, const tv_diag *diag)
{
    (void)user;
    snprintf(message, sizeof message, "%s %.*s", diag->rule, (int)diag->message.len, diag->message.ptr);
}

static const tv_sink sink = {.report = remember};

static tv_signature *decode(const char *symbol)
{
    tv_signature *s = NULL;
    message[0] = 0;
    tv_status status = tv_signature_open(bc_str(symbol), NULL, sink, &s);
    CHECK_MSG((status == TV_OK) == (s != NULL) && (status == TV_OK || message[0]), "%s: status %d, %s", symbol, status,
              message);
    return s;
}

/* Parameters one after the other: "a=f32[n0]  n0 % 16; b== 1024"; tuples with braces. */
static void describe(const tv_param *p, bc_text *out)
{
    bc_text_printf(out, "%s=", p->name);
    CHECK(tv_param_print(p, (tv_writer){.user = out, .write = bc_text_append}) == TV_OK);
    if (p->kind == TV_PARAM_TUPLE || p->kind == TV_PARAM_STRUCT) {
        bc_text_puts(out, " {");
        for (size_t i = 0; i < p->item_count; i++) {
            if (i)
                bc_text_puts(out, "; ");
            describe(&p->items[i], out);
        }
        bc_text_char(out, '}');
    }
}

static void good(const char *symbol, const char *function, const char *expected, const char *slots)
{
    tv_signature *s = decode(symbol);
    if (!s) {
        CHECK_MSG(false, "%s: %s", symbol, message);
        return;
    }
    bc_text text;
    bc_text_init(&text, NULL);
    for (size_t i = 0; i < tv_signature_param_count(s); i++) {
        if (i)
            bc_text_puts(&text, "; ");
        describe(tv_signature_param(s, i), &text);
    }
    bc_text_char(&text, 0);
    CHECK(bc_str_is(tv_signature_function(s), function));
    CHECK_MSG(strcmp(text.ptr, expected) == 0, "%s\n  found    %s\n  expected %s", symbol, text.ptr, expected);
    /* Slots as letters: a address, e extent, s stride, v value, l list address, c list count; sizes behind. */
    static const char letters[] = {'v', 'a', 'e', 's', 'l', 'c'};
    bc_text_clear(&text);
    tv_slot slot;
    for (size_t i = 0; tv_signature_slot(s, i, &slot); i++) {
        bc_text_printf(&text, "%c%u", letters[slot.role], slot.size);
        CHECK(slot.leaf->first_slot <= i && i < slot.leaf->first_slot + slot.leaf->slot_count);
    }
    bc_text_char(&text, 0);
    CHECK_MSG(strcmp(text.ptr, slots) == 0, "%s\n  found    %s\n  expected %s", symbol, text.ptr, slots);
    bc_text_release(&text);
    tv_signature_close(s);
}

/* expected: the end of the message */
static void bad(const char *symbol, size_t offset, const char *expected)
{
    char want[256];
    tv_signature *s = decode(symbol);
    CHECK_MSG(s == NULL, "%s was decoded", symbol);
    tv_signature_close(s);
    snprintf(want, sizeof want, "byte %zu: %s", offset, expected);
    size_t at = strlen(message) < strlen(want) ? 0 : strlen(message) - strlen(want);
    CHECK_MSG(strcmp(message + at, want) == 0, "%s\n  found    %s\n  expected %s", symbol, message, want);
    CHECK(strncmp(message, "C-SYM-01 ", 9) == 0);
}

/* ---- examples ---- */

static void test_examples(void)
{
    good("vadd_Kt1_A1f32_1i16t1_p16_A1f32_1i16t1_p16_A1f32_1i16t1_p16_I1024", "vadd",
         "a=f32[n0]  n0 % 16, stride0 = 1, base % 16; b=f32[n0]  n0 % 16, stride0 = 1, base % 16; "
         "c=f32[n0]  n0 % 16, stride0 = 1, base % 16; d== 1024",
         "a8e4s4a8e4s4a8e4s4");
    good("mm_Kt1_A2f16_1v8l0_2t1_3i16_p16_A2f16_1v8l0_2t1_3i16_p16_A2f32_1l0_2t1_I128_I128_I64", "mm",
         "a=f16[n0, n1]  n0 % 16, stride0 % 8, stride0 >= 0, n1 % 16, stride1 = 1, base % 16; "
         "b=f16[n0, n1]  n0 % 16, stride0 % 8, stride0 >= 0, n1 % 16, stride1 = 1, base % 16; "
         "c=f32[n0, n1]  stride0 >= 0, stride1 = 1; d== 128; e== 128; f== 64",
         "a8e4e4s4s4a8e4e4s4s4a8e4e4s4s4");
    good("k_Kt2_A4f32_1v64_2i16_6v16_7l0_8i8t1", "k",
         "a=f32[n0, n1, n2, n3]  stride0 % 64, stride0 >= 0, n1 % 16, stride1 % 16, stride1 >= 0, stride2 % 16, "
         "stride2 >= 0, n3 % 8, stride3 = 1",
         "a8e4e4e4e4s4s4s4s4");
    good("k_Kt2_A12f32_fffv2", "k",
         "a=f32[n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11]  stride0 % 2, stride1 % 2, stride2 % 2, stride3 % 2, "
         "stride4 % 2, stride5 % 2, stride6 % 2, stride7 % 2, stride8 % 2, stride9 % 2, stride10 % 2, stride11 % 2",
         "a8e4e4e4e4e4e4e4e4e4e4e4e4s4s4s4s4s4s4s4s4s4s4s4s4");
    good("k_Kt2_A2bf16_1s16t_4_2s0t0", "k", "a=bf16[n0, n1]  n0 = 16, stride0 = -4, n1 = 0, stride1 = 0", "a8e4e4s4s4");
    good("k_Kt2_A0i8", "k", "a=i8[]", "a8");
    good("k_Kt2_A2f32_3l0_p16g0iw_A1f32_1l0_g0", "k",
         "a=f32[n0, n1]  stride0 >= 0, stride1 >= 0, base % 16, alias group 0, may overlap itself, i64 index; "
         "b=f32[n0]  stride0 >= 0, alias group 0",
         "a8e8e8s8s8a8e4s4");
    good("k_Kt2_Lg0iA2f32_3l0_g1_Lg0A2f32_3l0_g1", "k",
         "a=list of f32[n0, n1]  stride0 >= 0, stride1 >= 0, alias group 1, alias group 0, arrays may overlap; "
         "b=list of f32[n0, n1]  stride0 >= 0, stride1 >= 0, alias group 1, alias group 0",
         "l8c4l8c4");
    good("k_Kt2_T3A1f32_1l0I3T1Si64", "k",
         "a=tuple of 3 {a.0=f32[n0]  stride0 >= 0; a.1== 3; a.2=tuple of 1 {a.2.0=i64}}", "a8e4s4v8");
    good("k_Kt2_B1_B0_I0_I_1_F3fe0000000000000_F7ff8000000000000", "k",
         "a== True; b== False; c== 0; d== -1; e== 0.5; f== nan", "");
    good("my_K_kern_Kt2_I1", "my_K_kern", "a== 1", "");
}

static void test_more(void)
{
    good("k_Kt1", "k", "", "");
    good("_Kt1_Sb8", "", "a=bool", "v1");
    good("k_Kt1_Su8_Si16_Sf32_Sf64_Stf32_Sf8m3fn_Sf8m2_Sf8m0fnu_Sbf16_Sf16", "k",
         "a=u8; b=i16; c=f32; d=f64; e=tf32; f=f8e4m3fn; g=f8e5m2; h=f8e8m0fnu; i=bf16; j=f16", "v1v2v4v8v4v1v1v1v2v2");
    good("k_Kt1_A1f32_1_p16u", "k", "a=f32[n0]  base % 16, u32 index", "a8e4s4"); /* a mask without predicates */
    good("k_Kt1_A1f32_01i0016", "k", "a=f32[n0]  n0 % 16", "a8e4s4");             /* leading zeros */
    good("k_Kt2_A1f32_1s32i16", "k", "a=f32[n0]  n0 = 32", "a8e4s4");
    good("k_Kt2_T0", "k", "a=tuple of 0 {}", "");
    /* Group ids in an order that the reference decoder does not take. */
    good("k_Kt1_A1f32_g0g1_A1f32_g0_A1f32_g2_A1f32_g1g2", "k",
         "a=f32[n0]  alias group 0, alias group 1; b=f32[n0]  alias group 0; c=f32[n0]  alias group 2; "
         "d=f32[n0]  alias group 1, alias group 2",
         "a8e4s4a8e4s4a8e4s4a8e4s4");
    good("k_Kt1_I9223372036854775807_I_9223372036854775808_I123456789012345678901_I_00_I007", "k",
         "a== 9223372036854775807; b== -9223372036854775808; c== 123456789012345678901; d== 0; e== 7", "");
    good("k_Kt1_F0000000000000000_F8000000000000000_F40f86a0000000000_F7ff0000000000000_Ffff0000000000000"
         "_F3fb999999999999a_F3f1a36e2eb1c432d_F4341c37937e08000_F0000000000000001_F4008000000000000",
         "k", "a== 0.0; b== -0.0; c== 100000.0; d== inf; e== -inf; f== 0.1; g== 0.0001; h== 1e+16; i== 5e-324; j== 3.0",
         "");
}

static void test_convention_3(void)
{
    good("k_Kt3_Cs__0a_7fx_z", "k", "a== '\\x0a\\x7fx'", "");
    good("k_Kt3_Cn__Cs_a_2cb_k___e9_u20ac_w0001f600_z", "k",
         "a== None; b== 'a,bK_\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80'", "");
    good("k_Kt3_Ce_my_2emod_zColor_zRED_z_Cd_f16", "k", "a== my.mod.Color.RED; b== float16", "");
    good("k_Kt3_Dm_zPoint_z2Sf32A1i32_1t1_Pf16_R", "k",
         "a=m.Point {a.0=f32; a.1=i32[n0]  stride0 = 1}; b=pointer to f16; c=stream", "v4a8e4s4a8");
    good("k_Kt3_M", "k", "a=tensor map", "");
}

static void test_bad(void)
{
    bad("", 0, "not mangled: it contains nothing like _Kt1");
    bad("vadd", 0, "not mangled: it contains nothing like _Kt1");
    bad("my_Kernel", 0, "not mangled: it contains nothing like _Kt1");
    bad("k_K", 0, "not mangled: it contains nothing like _Kt1");
    bad("k_Kt4_I1", 3, "unknown calling convention; known are t1, t2 and t3");
    bad("k_Kt10_I1", 3, "unknown calling convention; known are t1, t2 and t3");
    bad("k_Kt1I1", 3, "unknown calling convention; known are t1, t2 and t3");
    bad("k_Kt1_", 6, "a parameter begins with a capital letter");
    bad("k_Kt1_a", 6, "a parameter begins with a capital letter");
    bad("k_Kt1_Z", 6, "parameters of kind 'Z' are not known in cutile_python_v1");
    bad("k_Kt2_Pf32", 6, "parameters of kind 'P' are not known in cutile_python_v2");
    bad("k_Kt2_Cn_", 6, "parameters of kind 'C' are not known in cutile_python_v2");
    bad("k_Kt3_Cx_", 6, "unknown kind of constant");
    bad("k_Kt3_C", 6, "unknown kind of constant");
    bad("k_Kt1_Sf33", 7, "'f33' is not an element type");
    bad("k_Kt1_S", 7, "'' is not an element type");
    bad("k_Kt1_A", 7, "the number of dimensions is missing");
    bad("k_Kt1_A33f32", 7, "the number of dimensions is larger than 32");
    bad("k_Kt1_A99999999999999999999f32", 7, "the number of dimensions is larger than 32");
    bad("k_Kt1_A1f32_0i16", 12, "the axis mask is zero");
    bad("k_Kt1_A1f32_2i16", 12, "the axis mask names an axis that an array of rank 1 does not have");
    bad("k_Kt1_A1f32_ffffffffffffffffffff1i16", 12,
        "the axis mask names an axis that an array of rank 1 does not have");
    bad("k_Kt1_A0f32_1i16", 12, "the axis mask names an axis that an array of rank 0 does not have");
    bad("k_Kt1_A1f32_1i1", 14, "a divisor must be larger than 1");
    bad("k_Kt1_A1f32_1i_16", 14, "a divisor must be larger than 1");
    bad("k_Kt1_A1f32_1i", 14, "a decimal number is missing");
    bad("k_Kt1_A1f32_1i99999999999999999999", 14, "the number does not fit 64 bits");
    bad("k_Kt1_A1f32_1s4", 13, "constant extents need cutile_python_v2");
    bad("k_Kt2_A1f32_1s_4", 14, "an extent cannot be negative");
    bad("k_Kt2_A1f32_1s24i16", 6, "the constant extent of axis 0 is not a multiple of its divisor");
    bad("k_Kt1_A2f32_1i16_3i16", 17, "the promise about axis 0 is given twice");
    bad("k_Kt1_A2f32_1t1_1t1", 16, "the promise about axis 0 is given twice");
    bad("k_Kt1_A2f32_1l0_3l0", 16, "the promise about axis 0 is given twice");
    bad("k_Kt1_A2f32_1v2_3v2", 16, "the promise about axis 0 is given twice");
    bad("k_Kt2_A2f32_1s2_3s2", 16, "the promise about axis 0 is given twice");
    bad("k_Kt1_A1f32_1t1v2", 6, "axis 0 has a constant stride and another promise about it");
    bad("k_Kt1_A2f32_3l0_2t1", 6, "axis 1 has a constant stride and another promise about it");
    bad("k_Kt1_A1f32_x", 12, "unknown promise 'x'");
    bad("k_Kt1_A1f32_p16x", 15, "'x' does not belong here");
    bad("k_Kt1_A1f32_1i16i16", 16, "'i' does not belong here");
    bad("k_Kt1_A1f32_p1", 13, "a divisor must be larger than 1");
    bad("k_Kt1_A1f32_g0", 1, "alias group 0 has one member only");
    bad("k_Kt1_A1f32_g0_LA1f32_g1_A1f32_g0g1_A1f32_g2", 1, "alias group 2 has one member only");
    bad("k_Kt1_A1f32_g0_Lg0A1f32", 1, "alias group 0 has an array and the storage of a list");
    bad("k_Kt1_A1f32_g00_A1f32_g00", 13, "an alias group begins with a zero");
    bad("k_Kt1_A1f32_g1g0_A1f32_g0g1", 15, "alias groups are not in increasing order");
    bad("k_Kt1_A1f32_g0g0", 15, "alias groups are not in increasing order");
    bad("k_Kt1_A1f32_g", 13, "an alias group has one to eight hexadecimal digits");
    bad("k_Kt1_A1f32_g123456789", 13, "an alias group has one to eight hexadecimal digits");
    bad("k_Kt1_LSf32", 7, "a list holds arrays");
    bad("k_Kt1_L", 7, "a list holds arrays");
    bad("k_Kt1_T1Sf32", 6, "tuples need cutile_python_v2");
    bad("k_Kt2_T", 7, "the number of items is missing");
    bad("k_Kt2_T3Sf32Sf32", 16, "a parameter begins with a capital letter");
    bad("k_Kt2_T1_Sf32", 8, "a parameter begins with a capital letter");
    bad("k_Kt2_T99999999", 7, "the number of items is larger than 65535");
    bad("k_Kt2_B2", 7, "0 or 1 is missing");
    bad("k_Kt2_I", 7, "a decimal number is missing");
    bad("k_Kt2_F3fe", 10, "13 hexadecimal digits are missing");
    bad("k_Kt2_F3FE0000000000000", 8, "15 hexadecimal digits are missing");
    bad("k_Kt3_Cs_abc", 12, "the string does not end in _z");
    bad("k_Kt3_Cs__ud800_z", 10, "the escape is not a character");
    bad("k_Kt3_Cs__w00110000_z", 10, "the escape is not a character");
    bad("k_Kt3_Cs__", 10, "2 hexadecimal digits are missing");
    bad("k_Kt3_Cs_x_zz", 12, "'z' does not belong here");
    bad("k_Kt3_Cs_xK", 10, "the string does not end in _z");
}

static void test_limits(void)
{
    enum { LONG = 70000 };
    char *symbol = malloc(LONG + 1);
    if (!symbol)
        return;
    /* As deep as allowed, and one deeper. */
    for (int depth = 32; depth <= 33; depth++) {
        int at = sprintf(symbol, "k_Kt2_");
        for (int i = 0; i < depth; i++)
            at += sprintf(symbol + at, "T1");
        strcpy(symbol + at, "I1");
        if (depth == 32) {
            tv_signature *s = decode(symbol);
            CHECK(s != NULL);
            tv_signature_close(s);
        } else {
            bad(symbol, 70, "tuples are nested deeper than 32");
        }
    }
    /* Promised counts take no memory. */
    int at = sprintf(symbol, "k_Kt2_");
    for (int i = 0; i < 31; i++)
        at += sprintf(symbol + at, "T65000");
    bad(symbol, (size_t)at, "a parameter begins with a capital letter");
    memset(symbol, 'x', LONG);
    memcpy(symbol + LONG - 4, "_Kt1", 5);
    bad(symbol, 0, "longer than 65535 bytes");
    /* The most that a symbol can hold. */
    at = sprintf(symbol, "k_Kt1");
    while (at + 9 < 65535)
        at += sprintf(symbol + at, "_A32i8_1");
    tv_signature *s = decode(symbol);
    CHECK(s && tv_signature_leaf_count(s) == 8191 && tv_signature_slot_count(s) == 8191u * 65);
    tv_slot slot;
    CHECK(s && tv_signature_slot(s, 8191u * 65 - 1, &slot) && slot.role == TV_SLOT_STRIDE && slot.axis == 31
          && strcmp(slot.leaf->name, "lca") == 0);
    tv_signature_close(s);
    free(symbol);
}

/* ---- random signatures ---- */

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static const struct {
    const char *code;
    tv_dtype dtype;
} codes[] = {{"b8", TV_BOOL},          {"u8", TV_U8},           {"i64", TV_I64},
             {"f16", TV_F16},          {"bf16", TV_BF16},       {"f32", TV_F32},
             {"tf32", TV_TF32},        {"f8m3fn", TV_F8E4M3FN}, {"f8m2", TV_F8E5M2},
             {"f8m0fnu", TV_F8E8M0FNU}};

enum { AXES = 5 };

/* An array as the test knows it, and its symbol text. */
typedef struct array {
    unsigned type, ndim;
    tv_axis axes[AXES];
    int64_t base;
    bool overlaps;
    tv_dtype index;
} array;

static array draw_array(void)
{
    array a = {.type = draw(10),
               .ndim = draw(AXES + 1),
               .base = draw(2) ? 1 << (1 + draw(6)) : 1,
               .overlaps = draw(4) == 0,
               .index = (const tv_dtype[]){TV_I32, TV_U32, TV_I64}[draw(3)]};
    for (unsigned i = 0; i < a.ndim; i++) {
        tv_axis *x = &a.axes[i];
        *x = (tv_axis){.extent_multiple = 1, .stride_multiple = 1};
        if (draw(3) == 0)
            *x = (tv_axis){.has_extent = true, .extent = draw(100), .extent_multiple = 1, .stride_multiple = 1};
        else if (draw(2))
            x->extent_multiple = 2 + draw(30);
        if (draw(3) == 0) {
            x->has_stride = true;
            x->stride = (int64_t)draw(100) - 50;
            continue;
        }
        if (draw(2))
            x->stride_multiple = 2 + draw(30);
        if (draw(2)) {
            x->has_stride_min = true;
            x->stride_min = (int64_t)draw(100) - 50;
        }
    }
    return a;
}

static void put_int(bc_text *out, char letter, int64_t value)
{
    bc_text_printf(out, "%c%s%" PRId64, letter, value < 0 ? "_" : "", value < 0 ? -value : value);
}

/* One mask group an axis; axes in random groups are covered by the examples. */
static void encode_array(bc_text *out, const array *a)
{
    bc_text_printf(out, "_A%u%s", a->ndim, codes[a->type].code);
    for (unsigned i = 0; i < a->ndim; i++) {
        const tv_axis *x = &a->axes[i];
        bc_text_printf(out, "_%x", 1u << i);
        if (x->has_extent)
            put_int(out, 's', x->extent);
        if (x->extent_multiple != 1)
            put_int(out, 'i', x->extent_multiple);
        if (x->has_stride)
            put_int(out, 't', x->stride);
        if (x->stride_multiple != 1)
            put_int(out, 'v', x->stride_multiple);
        if (x->has_stride_min)
            put_int(out, 'l', x->stride_min);
    }
    if (a->base == 1 && !a->overlaps && a->index == TV_I32)
        return;
    bc_text_char(out, '_');
    if (a->base != 1)
        put_int(out, 'p', a->base);
    bc_text_puts(out, a->overlaps ? "i" : "");
    bc_text_puts(out, a->index == TV_U32 ? "u" : a->index == TV_I64 ? "w" : "");
}

static bool same_axis(const tv_axis *a, const tv_axis *b)
{
    return a->has_extent == b->has_extent && a->extent == b->extent && a->has_stride == b->has_stride
           && a->stride == b->stride && a->has_stride_min == b->has_stride_min && a->stride_min == b->stride_min
           && a->extent_multiple == b->extent_multiple && a->stride_multiple == b->stride_multiple;
}

static bool same_array(const array *a, const tv_param *p)
{
    if (p->kind != TV_PARAM_ARRAY || p->dtype != codes[a->type].dtype || p->ndim != a->ndim
        || p->index_dtype != a->index || p->base_multiple != a->base || p->overlaps != a->overlaps
        || p->slot_count != 1 + 2 * a->ndim)
        return false;
    for (unsigned i = 0; i < a->ndim; i++)
        if (!same_axis(&a->axes[i], &p->axes[i]))
            return false;
    return true;
}

static void test_round_trips(void)
{
    enum { ARRAYS = 6 };
    bc_text text;
    bc_text_init(&text, NULL);
    for (int round = 0; round < 2000; round++) {
        array arrays[ARRAYS];
        unsigned count = draw(ARRAYS + 1);
        bc_text_clear(&text);
        bc_text_puts(&text, "f_Kx_Kt2");
        for (unsigned i = 0; i < count; i++) {
            arrays[i] = draw_array();
            encode_array(&text, &arrays[i]);
        }
        tv_signature *s = decode(text.ptr);
        CHECK_MSG(s && tv_signature_leaf_count(s) == count && bc_str_is(tv_signature_function(s), "f_Kx"), "%s: %s",
                  text.ptr, message);
        for (unsigned i = 0; s && i < count; i++)
            CHECK_MSG(same_array(&arrays[i], tv_signature_leaf(s, i)), "%s array %u", text.ptr, i);
        tv_signature_close(s);
    }
    bc_text_release(&text);
}

/* Damaged symbols decode or are refused; with the sanitizers this also shows that no byte beyond is read. */
static void test_damage(void)
{
    static const char *const symbols[] = {
        "vadd_Kt1_A1f32_1i16t1_p16_A1f32_1i16t1_p16_A1f32_1i16t1_p16_I1024",
        "k_Kt2_Lg0iA2f32_3l0_g1_Lg0A2f32_3l0_g1_T3A1f32_1l0I3T1Si64_F3fe0000000000000_B1_I_1",
        "k_Kt3_Dm_zPoint_z2Sf32A1i32_1t1_Pf16_R_Cs_a_k_u20ac_z_Ce_m_zC_zRED_z_Cd_f16_Cn__M"};
    static const char letters[] = "_AKLSTBIFDPMRCgipsuvwtlzk0123456789abcdefn\xff";
    const tv_sink quiet = {0};
    unsigned decoded = 0, refused = 0;
    for (int round = 0; round < 60000; round++) {
        const char *from = symbols[draw(3)];
        size_t len = strlen(from);
        char *copy = malloc(len);
        if (!copy)
            return;
        memcpy(copy, from, len);
        for (uint32_t changes = 1 + draw(3); changes > 0; changes--)
            copy[draw((uint32_t)len)] = letters[draw(sizeof letters - 1)];
        if (draw(4) == 0)
            len = draw((uint32_t)len + 1);
        char *tight = malloc(len ? len : 1);
        tv_signature *s = NULL;
        if (tight) {
            memcpy(tight, copy, len);
            if (tv_signature_open((tv_str){tight, len}, NULL, quiet, &s) == TV_OK)
                decoded++;
            else
                refused++;
        }
        tv_signature_close(s);
        free(tight);
        free(copy);
    }
    CHECK_MSG(decoded > 1000 && refused > 10000, "%u decoded, %u refused", decoded, refused);
}

/* ---- types ---- */

static void test_dtypes(void)
{
    tv_dtype d;
    CHECK(tv_dtype_parse(bc_str("f32"), &d) && d == TV_F32);
    CHECK(tv_dtype_parse(bc_str("Float32"), &d) && d == TV_F32);
    CHECK(tv_dtype_parse(bc_str("f8E4M3FN"), &d) && d == TV_F8E4M3FN);
    CHECK(tv_dtype_parse(bc_str("f8m0fnu"), &d) && d == TV_F8E8M0FNU);
    CHECK(tv_dtype_parse(bc_str("bool"), &d) && d == TV_BOOL);
    CHECK(!tv_dtype_parse(bc_str("f33"), &d) && !tv_dtype_parse(bc_str(""), &d) && !tv_dtype_parse(bc_str("f3"), &d));
    for (int i = 0; i < TV_DTYPE_COUNT; i++) {
        CHECK_MSG(tv_dtype_parse(bc_str(tv_dtype_name((tv_dtype)i)), &d) && d == (tv_dtype)i, "%s",
                  tv_dtype_name((tv_dtype)i));
        unsigned bits = tv_dtype_bits((tv_dtype)i);
        CHECK(bits == 4 || bits == 8 || bits == 16 || bits == 32 || bits == 64);
    }
    CHECK(tv_dtype_bits(TV_BOOL) == 8 && tv_dtype_bits(TV_TF32) == 32 && tv_dtype_bits(TV_F4E2M1FN) == 4);
}

int main(void)
{
    test_examples();
    test_more();
    test_convention_3();
    test_bad();
    test_limits();
    test_round_trips();
    test_damage();
    test_dtypes();
    return TEST_END("mangle");
}
