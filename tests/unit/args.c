/* Arguments of `run`: texts taken apart, generators, strides and guard zones, binding, comparing, saving, argument
   files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/test.h"
#include "tools/tilevm/args/args.h"

static io_error error;
static bc_arena arena;

static arg_context context(void)
{
    static arg_budget budget = {.limit = 1 << 20};
    return (arg_context){.arena = &arena, .budget = &budget};
}

static bool make(const char *text, tv_dtype wanted, arg_array *out)
{
    arg_spec spec;
    arg_context c = context();
    *out = (arg_array){0};
    error.text[0] = 0;
    return arg_spec_parse(&arena, bc_str(text), &spec, &error) && arg_make_array(&c, &spec, wanted, 0, out, &error);
}

/* Type, shape, strides and the values of an array as text. */
static void describe(const arg_array *a, bc_text *out)
{
    arg_print_type(out, a);
    bc_text_char(out, '/');
    for (uint32_t i = 0; i < a->ndim; i++)
        bc_text_printf(out, "%s%lld", i ? "," : "", (long long)a->strides[i]);
    bc_text_char(out, ':');
    arg_walk walk;
    for (arg_walk_start(&walk, a); arg_walk_next(&walk);) {
        const unsigned char *at = walk.at;
        for (uint64_t i = 0; i < walk.run; i++, at += walk.step) {
            bc_text_char(out, ' ');
            arg_print_value(out, a->dtype, arg_load(at, a->item));
        }
    }
    bc_text_char(out, 0);
}

static void gives(const char *text, tv_dtype wanted, const char *expected)
{
    arg_array a;
    bc_text found;
    bc_text_init(&found, NULL);
    bool good = make(text, wanted, &a);
    CHECK_MSG(good, "%s: %s", text, error.text);
    if (good) {
        int64_t offset;
        describe(&a, &found);
        CHECK_MSG(strcmp(found.ptr, expected) == 0, "%s\n  found    %s\n  expected %s", text, found.ptr, expected);
        CHECK(arg_array_guards(&a, &offset, &error));
    }
    arg_array_free(&a);
    bc_text_release(&found);
}

static void refused(const char *text, tv_dtype wanted, const char *why)
{
    arg_array a;
    bool good = make(text, wanted, &a);
    CHECK_MSG(!good && strcmp(error.text, why) == 0, "%s\n  found    %s\n  expected %s", text, error.text, why);
    arg_array_free(&a);
}

static void test_generators(void)
{
    gives("zeros(f32,3)", TV_F32, "f32[3]/1: 0 0 0");
    gives("zeros([2,2])", TV_I8, "i8[2, 2]/2,1: 0 0 0 0");
    gives(" ones( f16 , [] ) ", TV_F16, "f16[]/: 1");
    gives("ones(bool,2)", TV_BOOL, "bool[2]/1: 1 1");
    gives("full(i8,2,-3)", TV_I8, "i8[2]/1: -3 -3");
    gives("full(value=0x7fc0,dtype=bf16,shape=[1])", TV_BF16, "bf16[1]/1: nan");
    gives("full(u64,1,18446744073709551615)", TV_U64, "u64[1]/1: 18446744073709551615");
    gives("full(f32,2,.5e1)", TV_F32, "f32[2]/1: 5 5");
    gives("full(f32,1,-inf)", TV_F32, "f32[1]/1: -inf");
    gives("full(tf32,1,0.1)", TV_TF32, "tf32[1]/1: 0.0999755859");
    gives("empty(u8,3)", TV_U8, "u8[3]/1: 165 165 165");
    gives("arange(f32,[2,3])", TV_F32, "f32[2, 3]/3,1: 0 1 2 3 4 5");
    gives("arange(f16,4,start=1,step=-0.5)", TV_F16, "f16[4]/1: 1 0.5 0 -0.5");
    gives("arange(i32,5,10,-3)", TV_I32, "i32[5]/1: 10 7 4 1 -2");
    gives("arange(u8,5,mod=2)", TV_U8, "u8[5]/1: 0 1 0 1 0");
    gives("values(i16,[1,-2,3])", TV_I16, "i16[3]/1: 1 -2 3");
    gives("values(f8e4m3fn,[1,2.5],[2,2])", TV_F8E4M3FN, "f8e4m3fn[2, 2]/2,1: 1 2.5 1 2.5");
    gives("values([true,false])", TV_BOOL, "bool[2]/1: 1 0");
    gives("randint(i32,6,10,seed=1)", TV_I32, "i32[6]/1: 0 4 7 3 3 8");
    gives("randint(f32,4,-8,9,den=4,seed=1)", TV_F32, "f32[4]/1: 1.5 -1.75 -0.25 -1.75");
    gives("uniform(f32,3,seed=1)", TV_F32, "f32[3]/1: 0.968418598 0.918650925 0.728994668");
    gives("uniform(i32,6,0,3,seed=1)", TV_I32, "i32[6]/1: 2 2 2 0 1 1");
    gives("bits(u16,3,seed=2)", TV_U16, "u16[3]/1: 56799 2682 27454");
}

static void test_layouts(void)
{
    gives("arange(f32,[2,3],order=F)", TV_F32, "f32[2, 3]/1,2: 0 1 2 3 4 5");
    gives("arange(i32,[2,3],strides=[8,2])", TV_I32, "i32[2, 3]/8,2: 0 1 2 3 4 5");
    gives("arange(i32,[2,3],strides=[-4,1],offset=5)", TV_I32, "i32[2, 3]/-4,1: 0 1 2 3 4 5");
    gives("arange(i32,[2,2,2],strides=[1,2,4])", TV_I32, "i32[2, 2, 2]/1,2,4: 0 1 2 3 4 5 6 7");
    gives("zeros(f32,[0,5])", TV_F32, "f32[0, 5]/5,1:");
    arg_array a;
    CHECK(make("zeros(f32,4,offset=3)", TV_F32, &a) && (uintptr_t)a.first % ARG_GUARD == 12 && a.storage->size == 28);
    arg_array_free(&a);
    CHECK(make("arange(i32,[2,3],strides=[-4,1])", TV_I32, &a) && a.first == a.storage->data + 16
          && a.storage->size == 28);
    arg_array_free(&a);
}

static void test_refused(void)
{
    refused("zeros(f32)", TV_F32, "'zeros(f32)': which shape?");
    refused("zeros(3)", TV_DTYPE_COUNT, "'zeros(3)' needs an element type");
    refused("zeros(f33,3)", TV_F32, "'f33' is not an element type");
    refused("zeros(dtype=f33,shape=3)", TV_F32, "'f33' is not an element type");
    refused("zeros(f32,3,4)", TV_F32, "'zeros(f32,3,4)' has too many values; write the shape as [3,4]");
    refused("zeros(5,200)", TV_F32, "'zeros(5,200)' has too many values; write the shape as [5,200]");
    refused("full(f32,2, 3,4,0.5)", TV_F32, "'full(f32,2, 3,4,0.5)' has too many values; write the shape as [2, 3,4]");
    refused("zeros(f32,[3],4)", TV_F32, "'zeros(f32,[3],4)' has too many values; it takes dtype shape");
    refused("zeros(f32,3,x)", TV_F32, "'zeros(f32,3,x)' has too many values; it takes dtype shape");
    refused("zeros(f32,3,seed,)", TV_F32, "'zeros(f32,3,seed,)' has too many values; it takes dtype shape");
    refused("zeros(f32,3,seed=4)", TV_F32, "'zeros(f32,3,seed=4)' takes no seed");
    refused("zeros(f32,[3,-1])", TV_F32, "extent 1 of the shape is negative");
    refused("zeros(f32,[3,x])", TV_F32, "the shape is 'x'; it must be a whole number");
    refused("zeros(f32,3", TV_F32,
            "'zeros(f32,3' is neither a number, a file nor a generator such as zeros(f32,[4,4])");
    refused("zeros(f32,[3)", TV_F32, "'f32,[3' lacks a closing bracket");
    refused("zeroes(f32,3)", TV_F32, "there is no generator 'zeroes'; did you mean 'zeros'?");
    refused("zeros(f32,1048576)", TV_F32,
            "an array of 0.00419 GB does not fit: the arrays of a run may take 0.00105 GB here, and have 0 GB");
    refused("zeros(f32,[4294967296,4294967296])", TV_F32, "the shape has more elements than memory has places");
    refused("zeros(f32,[2,2],strides=[4611686018427387904,1])", TV_F32, "the array is larger than the address space");
    refused("zeros(f32,[2,2],strides=[1])", TV_F32, "1 strides for 2 dimensions");
    refused("zeros(f32,2,offset=-1)", TV_F32, "offset is negative");
    refused("zeros(f32,2,order=A)", TV_F32, "order is 'A'; it is C (last axis fastest) or F");
    refused("zeros(f4e2m1fn,2)", TV_F32, "elements of f4e2m1fn share bytes; give them as u8, two in each");
    refused("full(i8,1,200)", TV_I8, "i8: '200' is out of range");
    refused("full(i8,1,300)", TV_I8, "i8: '300' is out of range for its type");
    refused("full(u8,1,-1)", TV_U8, "u8: '-1' is out of range");
    refused("full(i8,1,1.5)", TV_I8, "i8: '1.5' is not a whole number");
    refused("values(i64,[1,1e3])", TV_I64, "i64: '1e3' is not a whole number");
    refused("full(i8,1,1.5x)", TV_I8, "i8: '1.5x' is not a number");
    refused("full(f32,1)", TV_F32, "'full(f32,1)': which value?");
    refused("full(f8e4m3fn,1,inf)", TV_F8E4M3FN, "f8e4m3fn: 'inf' is not a number");
    refused("randint(i32,4,5,5)", TV_I32, "high must be above low");
    refused("values(f32,[],[3])", TV_F32, "values without values");
    refused("5", TV_F32, "'5' is a number, but an array is needed");
    refused("[1,2]", TV_F32, "'[1,2]' is a list, but one array is needed; for its elements say values([...])");
    refused("", TV_F32, "'' is no value");
    refused("f32:", TV_F32, "'f32:' is no value");
    refused("x.dat", TV_F32,
            "'x.dat': known are files named .npy, .npz, .safetensors and .bin; for others say "
            "bin(DTYPE, SHAPE, PATH)");
    refused("what", TV_F32, "'what' is neither a number, a file nor a generator such as zeros(f32,[4,4])");
}

static void test_files(void)
{
    gives("tests/data/arrays/f32_c.npy", TV_F32, "f32[2, 3]/3,1: 0 0.25 0.5 0.75 1 1.25");
    gives("tests/data/arrays/f32_fortran.npy", TV_F32, "f32[2, 3]/1,2: 0 0.25 0.5 0.75 1 1.25");
    gives("file(tests/data/arrays/f32_fortran.npy,order=C)", TV_F32, "f32[2, 3]/3,1: 0 0.25 0.5 0.75 1 1.25");
    gives("file(\"tests/data/arrays/f32_c.npy\",strides=[4,1])", TV_F32, "f32[2, 3]/4,1: 0 0.25 0.5 0.75 1 1.25");
    gives("tests/data/arrays/f32_c.npy", TV_TF32, "tf32[2, 3]/3,1: 0 0.25 0.5 0.75 1 1.25");
    gives("u32:tests/data/arrays/f32_c.npy", TV_F32,
          "u32[2, 3]/3,1: 0 1048576000 1056964608 1061158912 1065353216 1067450368");
    gives("tests/data/arrays/bf16.npy", TV_BF16, "bf16[3]/1: 1.5 -2 0.25");
    gives("bf16:tests/data/arrays/bf16.npy", TV_F32, "bf16[3]/1: 1.5 -2 0.25");
    gives("file(tests/data/arrays/f8e4m3fn.npy,dtype=f8e4m3fn)", TV_F32, "f8e4m3fn[3]/1: 1.5 -2 0.25");
    gives("tests/data/arrays/stored.npz:a", TV_I32, "i32[4]/1: 0 1 2 3");
    gives("file(tests/data/arrays/stored.npz,b)", TV_F64, "f64[1, 1]/1,1: 1.5");
    gives("tests/data/arrays/i64_scalar.npy", TV_I64, "i64[]/: -5");
    refused("tests/data/arrays/bf16.npy", TV_F32,
            "tests/data/arrays/bf16.npy has raw elements of 2 bytes; say which type, as in "
            "bf16:tests/data/arrays/bf16.npy");
    refused("f32:tests/data/arrays/bf16.npy", TV_F32,
            "tests/data/arrays/bf16.npy has elements of 2 bytes, which cannot be f32");
    refused("bin(u8,[3],tests/data/arrays/bf16.npy)", TV_U8,
            "tests/data/arrays/bf16.npy has 134 bytes, but 3 elements of u8 take 3");
    refused("file(absent.npy)", TV_U8, "absent.npy: No such file or directory");
    arg_array a;
    CHECK(make("bin(u16,[67],tests/data/arrays/bf16.npy)", TV_U8, &a) && arg_load(a.first, 2) == 0x4e93);
    arg_array_free(&a);
}

static void test_statistics(void)
{
    arg_array a;
    arg_summary s;
    enum { N = 100000 };
    double sum = 0, square = 0;
    CHECK(make("randn(f64,100000,seed=7)", TV_F64, &a));
    for (int i = 0; i < N; i++) {
        double x = arg_value_of(TV_F64, arg_load(a.first + 8 * i, 8));
        sum += x;
        square += x * x;
    }
    CHECK_MSG(fabs(sum / N) < 0.01 && fabs(square / N - 1) < 0.02, "%g %g", sum / N, square / N);
    arg_array_summary(&a, &s);
    CHECK(fabs(s.mean - sum / N) < 1e-12 && s.nan_count == 0);
    CHECK(arg_value_of(TV_F64, s.max) > 3.5 && arg_value_of(TV_F64, s.max) < 5.5);
    /* The same everywhere: no library function is in it. */
    CHECK_MSG(s.checksum == 0xe7dc636ec1e82b19u, "%llx", (unsigned long long)s.checksum);
    arg_array_free(&a);
    CHECK(make("values(f32,[1,nan,-inf,3])", TV_F32, &a));
    arg_array_summary(&a, &s);
    CHECK(s.nan_count == 1 && s.inf_count == 1 && s.mean == 2 && s.has_range && arg_value_of(TV_F32, s.max) == 3
          && isinf(arg_value_of(TV_F32, s.min)));
    arg_array_free(&a);
    CHECK(make("values(i64,[-9223372036854775808,9223372036854775807])", TV_I64, &a));
    arg_array_summary(&a, &s);
    CHECK(s.min == (uint64_t)INT64_MIN && s.max == INT64_MAX);
    arg_array_free(&a);
    /* A checksum from the corpus: uniform numbers, seed 1, -1 to 1, 3 x 64. */
    CHECK(make("uniform(f32,[3,64],-1,1,seed=1)", TV_F32, &a) && arg_array_checksum(&a) == 0x61605edd3dc42124u);
    arg_array_free(&a);
}

static void test_guards(void)
{
    arg_array a;
    int64_t offset;
    CHECK(make("zeros(f32,[2,3],strides=[4,1])", TV_F32, &a));
    CHECK(arg_array_guards(&a, &offset, &error));
    a.first[12] = 0; /* the gap behind the first row */
    CHECK(!arg_array_guards(&a, &offset, &error) && offset == 12);
    a.first[12] = ARG_GAP;
    a.first[28] = 0; /* behind the end */
    CHECK(!arg_array_guards(&a, &offset, &error) && offset == 28);
    a.first[28] = ARG_GAP;
    a.first[-4096] = 0;
    CHECK(!arg_array_guards(&a, &offset, &error) && offset == -4096);
    arg_array_free(&a);
}

/* ---- binding ---- */

typedef struct bound {
    tv_signature *signature;
    arg_set set;
} bound;

static void nothing(void *user, const tv_diag *diag)
{
    (void)user;
    (void)diag;
}

static bool open_set(const char *symbol, bound *b)
{
    const tv_sink sink = {.report = nothing};
    return tv_signature_open(bc_str(symbol), NULL, sink, &b->signature) == TV_OK
           && arg_set_init(&b->set, &arena, b->signature, &error);
}

static void close_set(bound *b)
{
    arg_set_release(&b->set);
    tv_signature_close(b->signature);
}

/* arguments: as on the command line, separated by blanks. "" or the first message. */
static void binds(const char *symbol, const char *names, const char *arguments, const char *message)
{
    bound b;
    char copy[512];
    arg_context c = context();
    error.text[0] = 0;
    CHECK(open_set(symbol, &b));
    bool good = !names[0] || arg_set_names(&b.set, bc_str(names), &error);
    snprintf(copy, sizeof copy, "%s", arguments);
    for (char *word = strtok(copy, " "); good && word; word = strtok(NULL, " ")) {
        tv_str target, text;
        arg_cut_target(bc_str(word), &target, &text);
        good = arg_set_give(&b.set, target, text, NULL, false, &error);
    }
    good = good && arg_set_make(&b.set, &c, &error);
    const arg_value *missing = good ? arg_set_missing(&b.set) : NULL;
    if (missing)
        snprintf(error.text, sizeof error.text, "%s is missing", missing->name);
    CHECK_MSG(strcmp(error.text, message) == 0, "%s %s\n  found    %s\n  expected %s", symbol, arguments, error.text,
              message);
    close_set(&b);
}

static void test_binding(void)
{
    const char *vadd = "vadd_Kt1_A1f32_1t1_A1f32_1t1_A1f32_1t1_I16";
    binds(vadd, "", "zeros(4) ones(4) empty(4)", "");
    binds(vadd, "", "c=zeros(4) a=ones(4) empty(4)", "");
    binds(vadd, "", "0=zeros(4) 1=ones(4) 2=empty(4) 3=16", "");
    binds(vadd, "x,y,out", "out=zeros(4) x=ones(4) b=ones(4)", "");
    binds(vadd, "", "zeros(4) ones(4)", "c is missing");
    binds(vadd, "x,y,out", "zeros(4) ones(4)", "out is missing");
    binds(vadd, "", "zeros(4) ones(4) ones(4) ones(4)", "'ones(4)' is one argument more than the kernel takes");
    binds(vadd, "", "a=zeros(4) a=ones(4)", "argument 'a' is given twice");
    binds(vadd, "", "e=zeros(4)", "the kernel has no parameter 'e'; it has a, b, c, d");
    binds(vadd, "x,y", "z=zeros(4)", "the kernel has no parameter 'z'; it has a (x), b (y), c, d");
    binds(vadd, "x,y,z,d,e", "", "5 names for 4 parameters");
    binds(vadd, "", "d=17", "parameter 'd' is the constant 16 in this kernel; for 17 it must be exported again");
    binds(vadd, "", "zeros(4) 5", "argument 'b': '5' is a number, but an array is needed");
    binds(vadd, "", "zeros(4) ones(4) @a", "");
    binds(vadd, "", "@b @c @a", "arguments share memory in a circle");
    binds(vadd, "", "zeros(4) @d ones(4)", "argument 'b': parameter 'd' is not an array");
    binds(vadd, "", "zeros(4) null ones(4)", "argument 'b': only raw pointers may be null");
    binds(vadd, "", "zeros(4) @a(f32,3,strides=[1],offset=1) @a(f32,3,offset=2)",
          "argument 'c': 3 elements from 2 on do not fit the 16 bytes that are shared");
    const char *tuple = "k_Kt2_T3A1f32_1l0I3T1Si64_B1_F3fe0000000000000_Sf16";
    binds(tuple, "", "(zeros(4),(5)) 1.5", "");
    binds(tuple, "", "(zeros(4),3,[5]) 1.5 b=true c=0.5", "");
    binds(tuple, "", "a.0=zeros(4) a.2.0=5 d=1e-3", "");
    binds(tuple, "", "(zeros(4),4,[5]) 1.5",
          "parameter 'a.1' is the constant 3 in this kernel; for 4 it must be exported again");
    binds(tuple, "", "zeros(4)", "parameter 'a' is a tuple; write its items as (first, second)");
    binds(tuple, "", "(zeros(4))", "parameter 'a' is a tuple of 3, 2 of them no constants; 1 items were given");
    binds(tuple, "", "a.0=zeros(4) a.2.0=5.5 d=1",
          "argument 'a.2.0': the parameter is of type i64 and takes whole numbers, not '5.5'");
    binds(tuple, "", "a.0=zeros(4) a.2.0=5 d=f32:1", "argument 'd': 'f32:1' is f32, but the kernel takes f16");
    binds(tuple, "", "a.0.0=zeros(4)", "the kernel has no parameter 'a.0.0'; it has a, b, c, d");
    const char *list = "k_Kt1_LiA1i32_1t1_Si32";
    binds(list, "", "[zeros(4),arange(5),@a[0]] 5", "");
    binds(list, "", "[] 5", "");
    binds(list, "", "zeros(4) 5", "argument 'a[0]': a list is needed, as in [first.npy, second.npy]");
    binds(list, "", "[zeros(4),5] 5", "argument 'a[1]': '5' is a number, but an array is needed");
    binds(list, "", "a[0]=zeros(4)", "give 'a' as a list: a=[first, second]");
    binds("k_Kt1_Si32_Su8_Sb8_Sf32_Stf32", "", "0x7fffffff 255 true nan 1", "");
    binds("k_Kt1_Si32", "", "2147483648", "argument 'a': i32: '2147483648' is out of range");
    binds("k_Kt1_Si32", "", "nan", "argument 'a': the parameter is of type i32 and takes whole numbers, not 'nan'");
    binds("k_Kt1_Si32", "", "1.2.3", "argument 'a': i32: '1.2.3' is not a number");
    binds("k_Kt1_Sb8", "", "2.5", "argument 'a': bool: '2.5' is not a number");
    binds("k_Kt1_Si32", "", "zeros(1)", "argument 'a': 'zeros(1)' is not a number, but one i32 is needed");
}

/* ---- comparing ---- */

static void compares(const char *got, const char *want, const char *keys, const char *expected)
{
    arg_array g, w;
    arg_comparison c;
    arg_spec spec;
    char call[128];
    bc_text text;
    CHECK_MSG(make(got, TV_F32, &g) && make(want, TV_F32, &w), "%s", error.text);
    arg_tolerance t = arg_tolerance_default(g.dtype);
    snprintf(call, sizeof call, "file(x.npy%s%s)", keys[0] ? "," : "", keys);
    CHECK(arg_spec_parse(&arena, bc_str(call), &spec, &error));
    bool good = arg_tolerance_keys(&spec, &t, &error) && arg_compare(&g, &w, &t, &c, &error);
    bc_text_init(&text, NULL);
    if (!good) {
        bc_text_puts(&text, error.text);
    } else if (c.wrong) {
        arg_comparison_print(&text, "c", &g, &c);
    }
    bc_text_char(&text, 0);
    CHECK_MSG(strcmp(text.ptr, expected) == 0, "%s against %s\n%s\nexpected\n%s", got, want, text.ptr, expected);
    if (good)
        arg_comparison_free(&c);
    bc_text_release(&text);
    arg_array_free(&g);
    arg_array_free(&w);
}

static void test_comparing(void)
{
    compares("values([1,2,nan,inf])", "values([1,2,nan,inf])", "", "");
    compares("values([1,2,-0.0])", "values([1.0000001,1.999999,0])", "", "");
    compares("values([1,2])", "values([1,2,3])", "", "it is f32[2], but f32[3] is expected");
    compares("values(i32,[1,2])", "values(f32,[1,2])", "", "it is i32[2], but f32[2] is expected");
    compares("values(f16,[1,2])", "values(f64,[1.0001,2])", "", "");
    compares("values([1,2])", "values([1,2])", "rtol=x", "rtol is 'x'; it must be a number from 0 on");
    compares("values([1,2])", "values([1,2])", "mode=x", "mode is 'x'; it is close, equal, bits or sorted");
    compares("values([3,1,2])", "values([1,2,3])", "mode=sorted", "");
    compares("values(i32,[3,1,2])", "values(i32,[4,1,0])", "atol=1",
             "c: 1 of 3 elements differ (rtol 0, atol 1)\n  worst:\n"
             "    [2]  got 2  want 0  (0x00000002, 0x00000000)  off by 2\n"
             "  where (a mark is 1 x 1 elements; . none, + some, # all wrong):\n    ..#\n");
    compares("values([0,1,nan])", "values([-0.0,1.5,2])", "mode=bits",
             "c: 3 of 3 elements differ (same bits asked for)\n  worst:\n"
             "    [2]  got nan  want 2  (0x7fffffff, 0x40000000)\n"
             "    [1]  got 1  want 1.5  (0x3f800000, 0x3fc00000)  off by 0.5, 4194304 ulp\n"
             "    [0]  got 0  want -0  (0x00000000, 0x80000000)  off by 0, 0 ulp\n"
             "  where (a mark is 1 x 1 elements; . none, + some, # all wrong):\n    ###\n");
    compares("values([3,1,2])", "values([1,2,4])", "mode=sorted",
             "c: 1 of 3 elements differ (sorted)\n  worst:\n"
             "    sorted 2  got 3  want 4  (0x40400000, 0x40800000)  off by 1, 4194304 ulp\n");
    compares("arange(f16,[4,3],mod=5)", "arange(f16,[4,3])", "",
             "c: 7 of 12 elements differ (rtol 0.001, atol 1e-05)\n  worst:\n"
             "    [3, 1]  got 0  want 10  (0x0000, 0x4900)  off by 10, 18688 ulp\n"
             "    [1, 2]  got 0  want 5  (0x0000, 0x4500)  off by 5, 17664 ulp\n"
             "    [3, 2]  got 1  want 11  (0x3c00, 0x4980)  off by 10, 3456 ulp\n"
             "    [2, 0]  got 1  want 6  (0x3c00, 0x4600)  off by 5, 2560 ulp\n"
             "    [2, 1]  got 2  want 7  (0x4000, 0x4700)  off by 5, 1792 ulp\n"
             "  where (a mark is 1 x 1 elements; . none, + some, # all wrong):\n    ...\n    ..#\n    ###\n    ###\n");
    compares("zeros([130,100])", "arange([130,100],mod=100)", "atol=49.5",
             "c: 6500 of 13000 elements differ (rtol 1.3e-06, atol 49.5)\n  worst:\n"
             "    [0, 99]  got 0  want 99  (0x00000000, 0x42c60000)  off by 99, 1120272384 ulp\n"
             "    [1, 99]  got 0  want 99  (0x00000000, 0x42c60000)  off by 99, 1120272384 ulp\n"
             "    [2, 99]  got 0  want 99  (0x00000000, 0x42c60000)  off by 99, 1120272384 ulp\n"
             "    [3, 99]  got 0  want 99  (0x00000000, 0x42c60000)  off by 99, 1120272384 ulp\n"
             "    [4, 99]  got 0  want 99  (0x00000000, 0x42c60000)  off by 99, 1120272384 ulp\n"
             "  where (a mark is 9 x 2 elements; . none, + some, # all wrong):\n"
#define ROW "    .........................#########################\n"
             ROW ROW ROW ROW ROW ROW ROW ROW ROW ROW ROW ROW ROW ROW ROW);
#undef ROW
}

/* ---- saving, argument files ---- */

static void test_saving(void)
{
    char folder[] = "/tmp/tilevm-test-XXXXXX", first[128], second[128], spec[160];
    arg_array a, b, back;
    CHECK(mkdtemp(folder) != NULL && make("arange(bf16,[2,3],order=F)", TV_BF16, &a)
          && make("ones(i32,2)", TV_I32, &b));
    snprintf(first, sizeof first, "%s/both.npz", folder);
    snprintf(second, sizeof second, "%s/a.npy", folder);
    snprintf(spec, sizeof spec, "%s:other", first);
    arg_save saves[] = {{"a", &a, bc_str(first)}, {"b", &b, bc_str(spec)}, {"a", &a, bc_str(second)}};
    CHECK_MSG(arg_save_all(saves, 3, &error), "%s", error.text);
    gives(spec, TV_I32, "i32[2]/1: 1 1");
    gives(second, TV_BF16, "bf16[2, 3]/3,1: 0 1 2 3 4 5");
    snprintf(spec, sizeof spec, "%s:a", first);
    gives(spec, TV_BF16, "bf16[2, 3]/3,1: 0 1 2 3 4 5");
    unlink(first);
    unlink(second);
    /* One that cannot be written leaves none behind. */
    snprintf(spec, sizeof spec, "%s/x.txt", folder);
    saves[2].path = bc_str(spec);
    CHECK(!arg_save_all(saves, 3, &error) && strstr(error.text, "files are saved as .npy"));
    CHECK(access(first, F_OK) != 0);
    saves[1].path = saves[0].path;
    saves[1].name = "a";
    CHECK(!arg_save_all(saves, 2, &error) && strstr(error.text, "two arrays are named 'a'"));
    CHECK(access(first, F_OK) != 0);
    saves[0].path = saves[1].path = bc_str(second);
    saves[1].name = "b";
    CHECK(!arg_save_all(saves, 2, &error) && strstr(error.text, "one file holds one array"));
    CHECK(access(second, F_OK) != 0);
    CHECK(!make(second, TV_BF16, &back));
    arg_array_free(&a);
    arg_array_free(&b);
    CHECK(rmdir(folder) == 0);
}

static bool read_json(const char *json, arg_file *out)
{
    char path[] = "/tmp/tilevm-test-XXXXXX";
    int fd = mkstemp(path);
    bool good = fd >= 0 && write(fd, json, strlen(json)) == (ssize_t)strlen(json)
                && arg_file_read(&arena, path, out, &error);
    if (fd >= 0)
        close(fd);
    unlink(path);
    return good;
}

static void test_argument_files(void)
{
    arg_file f;
    CHECK(read_json(
        "{\"entry\":\"k\",\"grid\":[4,2],\"names\":[\"x\",\"y\"],\"args\":{\"x\":\"a.npy\",\"n\":5,\"s\":[1.5,true]},"
        "\"save\":{\"x\":\"o.npy\"},\"expect\":{\"x\":\"ones(f32,4)\"},\"rtol\":0.5,\"seed\":7}",
        &f));
    CHECK(bc_str_is(f.entry, "k") && f.has_grid && f.grid[0] == 4 && f.grid[1] == 2 && f.grid[2] == 1);
    CHECK(bc_str_is(f.names, "[x, y]") && f.arg_count == 3 && bc_str_is(f.args[2].text, "[1.5, true]")
          && bc_str_is(f.args[1].text, "5") && bc_str_is(f.args[0].target, "x") && strcmp(f.folder, "/tmp") == 0);
    CHECK(f.save_count == 1 && f.expect_count == 1 && f.has_rtol && f.rtol == 0.5 && !f.has_atol && f.seed == 7);
    CHECK(read_json("{\"args\":[\"a.npy\", 3],\"grid\":128}", &f) && f.arg_count == 2 && f.args[0].target.len == 0
          && f.grid[0] == 128);
    CHECK(read_json("{\"grid\":\"3,4\"}", &f) && f.grid[1] == 4);
    static const char *const bad[][2] = {{"[1]", "not a JSON object"},
                                         {"{\"grid\":1", ":1: not JSON"},
                                         {"{\n\n\"grid\":x}", ":3: not JSON"},
                                         {"{\"grid\":0}", "'0' is not a grid"},
                                         {"{\"grid\":[1,2,3,4]}", "'1,2,3,4' is not a grid"},
                                         {"{\"grid\":[]}", "is not a grid"},
                                         {"{\"grid\":[1.5]}", "is not a grid"},
                                         {"{\"gird\":1}", "unknown member 'gird'; did you mean 'grid'?"},
                                         {"{\"args\":5}", "'args' must be an object or a list"},
                                         {"{\"args\":{\"a\":{}}}", "the values of args are strings"},
                                         {"{\"save\":[\"a\"]}", "'save' must be an object"},
                                         {"{\"save\":{\"a\":1}}", "the values of 'save' must be strings"},
                                         {"{\"rtol\":-1}", "'rtol' must be a number from 0 on"},
                                         {"{\"seed\":1.5}", "'seed' must be a whole number"},
                                         {"{\"entry\":1}", "'entry' must be a string"},
                                         {"{\"grid\":1,\"grid\":2}", "'grid' is there twice"},
                                         {"{\"args\":[[[[[[[[[[1]]]]]]]]]]}", "the values of args are strings"},
                                         {"{} x", "not JSON"}};
    for (size_t i = 0; i < TV_COUNT(bad); i++)
        CHECK_MSG(!read_json(bad[i][0], &f) && strstr(error.text, bad[i][1]), "%s\n  %s", bad[i][0], error.text);
}

static void test_grids(void)
{
    uint32_t g[3];
    CHECK(arg_parse_grid(bc_str("128"), g, &error) && g[0] == 128 && g[1] == 1 && g[2] == 1);
    CHECK(arg_parse_grid(bc_str("1,2,16777215"), g, &error) && g[1] == 2 && g[2] == 16777215);
    static const char *const bad[] = {"",         "0", "1,", "1,0", "1,2,3,4",
                                      "16777216", "x", "-1", "1 ",  "99999999999999999999"};
    for (size_t i = 0; i < TV_COUNT(bad); i++)
        CHECK_MSG(!arg_parse_grid(bc_str(bad[i]), g, &error), "%s", bad[i]);
}

/* Damaged specs are refused or understood; the sanitizers judge. */
static void test_damage(void)
{
    static const char *const specs[] = {"randn(f32,[4,4],seed=7,strides=[8,1])",
                                        "[zeros(f32,3),@a(f32,[2],offset=1),(1,2)]",
                                        "bf16:tests/data/arrays/stored.npz:a",
                                        "values(i8,[1,2,'3'],order=F,rtol=1e-3)"};
    static const char letters[] = "[](),='\"@:.-+0129eEfinaxz _";
    uint32_t state = 3;
    for (int round = 0; round < 40000; round++) {
        const char *from = specs[arg_hash(state, (uint64_t)round) % 4];
        size_t len = strlen(from);
        char *tight = malloc(len);
        arg_array a = {0};
        arg_spec spec;
        arg_context c = context();
        if (!tight)
            return;
        memcpy(tight, from, len);
        for (uint32_t k = arg_hash(state + 1, (uint64_t)round) % 4; k > 0; k--)
            tight[arg_hash(state + 2 + k, (uint64_t)round) % len] =
                letters[arg_hash(state + 9 + k, (uint64_t)round) % (sizeof letters - 1)];
        if (arg_spec_parse(&arena, (tv_str){tight, len}, &spec, &error)) {
            uint64_t bits;
            arg_make_array(&c, &spec, TV_F32, 0, &a, &error);
            arg_make_scalar(&spec, TV_F16, &bits, &error);
        }
        arg_array_free(&a);
        free(tight);
        if (round % 1000 == 0) {
            bc_arena_release(&arena);
            bc_arena_init(&arena, NULL, 0);
        }
    }
    CHECK(true);
}

int main(void)
{
    if (access("tests/data/arrays/f32_c.npy", R_OK) != 0) {
        fprintf(stderr, "run this from the top folder of the project\n");
        return 2;
    }
    bc_arena_init(&arena, NULL, 0);
    test_generators();
    test_layouts();
    test_refused();
    test_files();
    test_statistics();
    test_guards();
    test_binding();
    test_comparing();
    test_saving();
    test_argument_files();
    test_grids();
    test_damage();
    bc_arena_release(&arena);
    return TEST_END("args");
}
