/* Ops that reach memory or move elements, compiled to PTX and run on the simulator, beside the virtual machine: both
   must leave the same bytes. The corpus has what front ends emit; here is what they do not. */
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/ptxsim/ptxsim.h"
#include "tests/unit/test.h"

enum { BYTES = 4096, BUFFERS = 3 };

/* A kernel with three pointers a, b and c to BYTES bytes each and a number n. */
typedef struct example {
    const char *name;
    uint32_t n;
    const char *pointee[BUFFERS];
    const char *body;
    const char *ptx; /* must be part of the text */
} example;

/* %p = pointers a + (0 .. 255), %q = b + (0 .. 255), %i the numbers. */
#define ROWS(type)                                                                                                    \
    "%0 = make_token : token\n %i = iota : tile<256xi32>\n"                                                           \
    "%a0 = assume div_by<16>, %a : tile<ptr<" type ">>\n %a1 = reshape %a0 : tile<ptr<" type ">> -> tile<1xptr<" type \
    ">>\n"                                                                                                            \
    "%a2 = broadcast %a1 : tile<1xptr<" type ">> -> tile<256xptr<" type ">>\n"                                        \
    "%p = offset %a2, %i : tile<256xptr<" type ">>, tile<256xi32> -> tile<256xptr<" type ">>\n"                       \
    "%b0 = assume div_by<16>, %b : tile<ptr<" type ">>\n %b1 = reshape %b0 : tile<ptr<" type ">> -> tile<1xptr<" type \
    ">>\n"                                                                                                            \
    "%b2 = broadcast %b1 : tile<1xptr<" type ">> -> tile<256xptr<" type ">>\n"                                        \
    "%q = offset %b2, %i : tile<256xptr<" type ">>, tile<256xi32> -> tile<256xptr<" type ">>\n"
#define MASK(divisor)                                                                                   \
    "%n0 = assume div_by<" divisor ">, %n : tile<i32>\n %n1 = reshape %n0 : tile<i32> -> tile<1xi32>\n" \
    "%n2 = broadcast %n1 : tile<1xi32> -> tile<256xi32>\n"                                              \
    "%mask = cmpi less_than %i, %n2, signed : tile<256xi32> -> tile<256xi1>\n"
#define MASKED_COPY                                                                                               \
    "%pad = constant <i32: -7> : tile<256xi32>\n"                                                                 \
    "%x, %t = load_ptr_tko weak %p, %mask, %pad token = %0 : tile<256xptr<i32>>, tile<256xi1>, tile<256xi32> -> " \
    "tile<256xi32>, token\n"                                                                                      \
    "%u = store_ptr_tko weak %q, %x token = %t : tile<256xptr<i32>>, tile<256xi32> -> token\n"
/* sum n = 31 times sum m, and the quotient and the remainder of x by a constant. */
#define DIVIDED(m, n, type, x, by, how, rounding)                                                                      \
    "%c" n " = constant <" type ": " by "> : tile<256x" type ">\n %d" n " = divi " x ", %c" n " " how                  \
    " rounding<" rounding "> : tile<256x" type ">\n %r" n " = remi " x ", %c" n " " how " : tile<256x" type ">\n %m" n \
    " = muli %sum" m ", %times : tile<256x" type ">\n %s" n " = addi %m" n ", %d" n " : tile<256x" type ">\n %sum" n   \
    " = xori %s" n ", %r" n " : tile<256x" type ">\n"
#define DIVIDE(type, more)                                                                    \
    ROWS(type)                                                                                \
    "%times = constant <" type ": 31> : tile<256x" type ">\n"                                 \
    "%sum0, %t = load_ptr_tko weak %p token = %0 : tile<256xptr<" type ">> -> tile<256x" type \
    ">, token\n" DIVIDED("0", "1", type, "%sum0", "8", "signed", "zero")                      \
        DIVIDED("1", "2", type, "%sum0", "64", "signed", "negative_inf")                      \
            DIVIDED("2", "3", type, "%sum0", "16", "unsigned", "zero")                        \
                DIVIDED("3", "4", type, "%sum0", "1", "signed", "zero") more                  \
        "%u = store_ptr_tko weak %q, %sum4 token = %t : tile<256xptr<" type ">>, tile<256x" type "> -> token\n"
#define UP(m, n, type, by, how)                                                                                     \
    "%c" n " = constant <" type ": " by "> : tile<256x" type ">\n %d" n " = divi %sum0, %c" n " " how               \
    " rounding<positive_inf> : tile<256x" type ">\n %m" n " = muli %sum" m ", %times : tile<256x" type ">\n %sum" n \
    " = addi %m" n ", %d" n " : tile<256x" type ">\n"
#define DIVIDE_UP(type)                                                                                            \
    ROWS(type)                                                                                                     \
    "%times = constant <" type ": 31> : tile<256x" type ">\n"                                                      \
    "%sum0, %t = load_ptr_tko weak %p token = %0 : tile<256xptr<" type ">> -> tile<256x" type                      \
    ">, token\n" UP("0", "1", type, "8", "signed") UP("1", "2", type, "64", "unsigned")                            \
        UP("2", "3", type, "1", "signed")                                                                          \
            UP("3", "4", type, "32", "signed") "%u = store_ptr_tko weak %q, %sum4 token = %t : tile<256xptr<" type \
                                               ">>, tile<256x" type "> -> token\n"
#define HALVES "tensor_view<48x64xf4E2M1FN, strides=[64,1]>"
#define WIDE(type, elements)                                                                                           \
    "%0 = make_token : token\n %zero = constant <i32: 0> : tile<i32>\n"                                                \
    "%a0 = assume div_by<64>, %a : tile<ptr<" type ">>\n %b0 = assume div_by<32>, %b : tile<ptr<" type ">>\n"          \
    "%ta = make_tensor_view %a0, shape = [" elements "], strides = [1] : tensor_view<" elements "x" type               \
    ", strides=[1]>\n"                                                                                                 \
    "%tb = make_tensor_view %b0, shape = [" elements "], strides = [1] : tensor_view<" elements "x" type               \
    ", strides=[1]>\n"                                                                                                 \
    "%pa = make_partition_view %ta : partition_view<tile=(" elements "), tensor_view<" elements "x" type               \
    ", strides=[1]>>\n"                                                                                                \
    "%pb = make_partition_view %tb : partition_view<tile=(" elements "), tensor_view<" elements "x" type               \
    ", strides=[1]>>\n"                                                                                                \
    "%x, %t = load_view_tko weak %pa[%zero] token = %0 : partition_view<tile=(" elements "), tensor_view<" elements    \
    "x" type ", strides=[1]>>, tile<i32> -> tile<" elements "x" type ">, token\n"                                      \
    "%u = store_view_tko weak %x, %pb[%zero] token = %t : tile<" elements "x" type ">, partition_view<tile=(" elements \
    "), "                                                                                                              \
    "tensor_view<" elements "x" type ", strides=[1]>>, tile<i32> -> token\n"
#define ODD "tensor_view<?xi32, strides=[1]>"

static const example examples[] = {
    {"pointers with a mask of aligned runs",
     208,
     {"i32", "i32", "i32"},
     ROWS("i32") MASK("16") MASKED_COPY,
     "ld.global.v4.b32"},
    {"pointers with any mask", 203, {"i32", "i32", "i32"}, ROWS("i32") MASK("1") MASKED_COPY, "ld.global.b32"},
    {"quotients by powers of two", 0, {"i32", "i32", "i32"}, DIVIDE("i32", ""), "shr.s32"},
    {"of 64 bits", 0, {"i64", "i64", "i32"}, DIVIDE("i64", ""), "shr.s64"},
    {"of 16 bits", 0, {"i16", "i16", "i32"}, DIVIDE("i16", ""), "shr.s32"},
    {"quotients rounded up", 0, {"i32", "i32", "i32"}, DIVIDE_UP("i32"), "shr.s32"},
    {"of 64 bits, rounded up", 0, {"i64", "i64", "i32"}, DIVIDE_UP("i64"), "shr.s64"},
    {"of 16 bits, rounded up", 0, {"i16", "i16", "i32"}, DIVIDE_UP("i16"), "shr.s32"},
    {"quotients of what is not negative",
     0,
     {"i32", "i32", "i32"},
     ROWS("i32") "%times = constant <i32: 8388607> : tile<256xi32>\n %sum0 = muli %i, %times : tile<256xi32>\n" /* below
                                                                                                                   2^31
                                                                                                                 */
     DIVIDED("0", "1", "i32", "%sum0", "3", "signed", "negative_inf")
         DIVIDED("1", "2", "i32", "%sum0", "641", "signed", "zero") DIVIDED("2", "3", "i32", "%sum0", "2147483647",
                                                                            "unsigned", "zero")
             DIVIDED("3", "4", "i32", "%sum0", "32", "signed", "negative_inf") DIVIDED(
                 "4", "5", "i32", "%sum0", "7", "unsigned",
                 "zero") "%u = store_ptr_tko weak %q, %sum5 token = %0 : tile<256xptr<i32>>, tile<256xi32> -> token\n",
     "mul.hi.u32"},
    {"a mask that is false, and zeros instead",
     0,
     {"i32", "i32", "i32"},
     ROWS("i32") "%mask = constant <i1: false> : tile<256xi1>\n %pad = constant <i32: 0> : tile<256xi32>\n"
                 "%x, %t = load_ptr_tko weak %p, %mask, %pad token = %0 : tile<256xptr<i32>>, tile<256xi1>, "
                 "tile<256xi32> -> tile<256xi32>, token\n"
                 "%u = store_ptr_tko weak %q, %x token = %t : tile<256xptr<i32>>, tile<256xi32> -> token\n",
     "mov.b32"},
    {"ordered loads of one value by all threads",
     0,
     {"i32", "i32", "i32"},
     ROWS("i32") "%x, %t = load_ptr_tko acquire device %a0 token = %0 : tile<ptr<i32>> -> tile<i32>, token\n"
                 "%x1 = reshape %x : tile<i32> -> tile<1xi32>\n %x2 = broadcast %x1 : tile<1xi32> -> tile<256xi32>\n"
                 "%y = addi %x2, %i : tile<256xi32>\n"
                 "%u = store_ptr_tko release device %q, %y token = %t : tile<256xptr<i32>>, tile<256xi32> -> token\n",
     "ld.acquire.gpu.global"},
    {"fences between a store and a load in another order",
     0,
     {"i32", "i32", "i32"},
     ROWS("i32") "%k = constant <i32: 255> : tile<256xi32>\n %rev = subi %k, %i : tile<256xi32>\n"
                 "%r = offset %b2, %rev : tile<256xptr<i32>>, tile<256xi32> -> tile<256xptr<i32>>\n"
                 "%t = store_ptr_tko weak %q, %i token = %0 : tile<256xptr<i32>>, tile<256xi32> -> token\n"
                 "%f = memory_fence_alias_tko %t\n %g = gdc_wait_tko token = %f -> token\n"
                 "%x, %u = load_ptr_tko weak %r token = %g : tile<256xptr<i32>> -> tile<256xi32>, token\n"
                 "%v = store_ptr_tko weak %p, %x token = %u : tile<256xptr<i32>>, tile<256xi32> -> token\n",
     "griddepcontrol.wait"},
    {"a wait for another grid between a store and a load in another order",
     0,
     {"i32", "i32", "i32"},
     ROWS("i32") "%k = constant <i32: 255> : tile<256xi32>\n %rev = subi %k, %i : tile<256xi32>\n"
                 "%r = offset %b2, %rev : tile<256xptr<i32>>, tile<256xi32> -> tile<256xptr<i32>>\n"
                 "%t = store_ptr_tko weak %q, %i token = %0 : tile<256xptr<i32>>, tile<256xi32> -> token\n"
                 "%g = gdc_wait_tko token = %t -> token\n %h = gdc_launch_dependents_tko token = %g -> token\n"
                 "%x, %u = load_ptr_tko weak %r token = %h : tile<256xptr<i32>> -> tile<256xi32>, token\n"
                 "%v = store_ptr_tko weak %p, %x token = %u : tile<256xptr<i32>>, tile<256xi32> -> token\n",
     "griddepcontrol.launch_dependents"},
    {"an insert at an index of the run, and its extract",
     3,
     {"i32", "i32", "i32"},
     ROWS("i32") "%m = reshape %i : tile<256xi32> -> tile<16x16xi32>\n %s = constant <i32: -5> : tile<4x4xi32>\n"
                 "%one = constant <i32: 1> : tile<i32>\n"
                 "%w = insert %s, %m[%n, %one] : tile<4x4xi32>, tile<16x16xi32>\n"
                 "%e = extract %w[%one, %n] : tile<16x16xi32> -> tile<8x4xi32>\n"
                 "%w1 = reshape %w : tile<16x16xi32> -> tile<256xi32>\n"
                 "%t = store_ptr_tko weak %q, %w1 token = %0 : tile<256xptr<i32>>, tile<256xi32> -> token\n"
                 "%tv = make_tensor_view %c, shape = [32], strides = [1] : tensor_view<32xi32, strides=[1]>\n"
                 "%pv = make_partition_view %tv : partition_view<tile=(32), tensor_view<32xi32, strides=[1]>>\n"
                 "%zero = constant <i32: 0> : tile<i32>\n %e1 = reshape %e : tile<8x4xi32> -> tile<32xi32>\n"
                 "%u = store_view_tko weak %e1, %pv[%zero] token = %t : tile<32xi32>, partition_view<tile=(32), "
                 "tensor_view<32xi32, strides=[1]>>,"
                 " tile<i32> -> token\n",
     ""},
    {"halves of bytes through views, the last rows outside",
     0,
     {"f4E2M1FN", "i8", "f4E2M1FN"},
     "%0 = make_token : token\n %a0 = assume div_by<16>, %a : tile<ptr<f4E2M1FN>>\n %c0 = assume div_by<16>, %c : "
     "tile<ptr<f4E2M1FN>>\n"
     "%tv = make_tensor_view %a0, shape = [48, 64], strides = [64, 1] : " HALVES "\n"
     "%tc = make_tensor_view %c0, shape = [48, 64], strides = [64, 1] : " HALVES "\n"
     "%tb = make_tensor_view %b, shape = [512], strides = [1] : tensor_view<512xi8, strides=[1]>\n"
     "%zero = constant <i32: 0> : tile<i32>\n %one = constant <i32: 1> : tile<i32>\n"
     "%pv = make_partition_view %tv : partition_view<tile=(32x32), padding_value = zero, " HALVES ">\n"
     "%pc = make_partition_view %tc : partition_view<tile=(32x32), " HALVES ">\n"
     "%pb = make_partition_view %tb : partition_view<tile=(512), tensor_view<512xi8, strides=[1]>>\n"
     "%x, %t = load_view_tko weak %pv[%one, %one] token = %0 : partition_view<tile=(32x32), padding_value = "
     "zero, " HALVES ">,"
     " tile<i32> -> tile<32x32xf4E2M1FN>, token\n"
     "%f = reshape %x : tile<32x32xf4E2M1FN> -> tile<1024xf4E2M1FN>\n %k = pack %f : tile<1024xf4E2M1FN> -> "
     "tile<512xi8>\n"
     "%u = store_view_tko weak %k, %pb[%zero] token = %t : tile<512xi8>, partition_view<tile=(512), "
     "tensor_view<512xi8, strides=[1]>>,"
     " tile<i32> -> token\n"
     "%v = store_view_tko weak %x, %pc[%zero, %zero] token = %u : tile<32x32xf4E2M1FN>, "
     "partition_view<tile=(32x32), " HALVES ">,"
     " tile<i32> -> token\n",
     ""},
    {"32 bytes an access: words", 0, {"f32", "f32", "f32"}, WIDE("f32", "1024"), "st.global.v8.b32"},
    {"32 bytes an access: double words", 0, {"i64", "i64", "i64"}, WIDE("i64", "512"), "ld.global.v4.b64"},
    {"32 bytes an access: bytes", 0, {"i8", "i8", "i8"}, WIDE("i8", "4096"), "ld.global.v8.b32"},
    {"32 bytes an access: halves of bytes",
     0,
     {"f4E2M1FN", "f4E2M1FN", "f4E2M1FN"},
     WIDE("f4E2M1FN", "8192"),
     "st.global.v8.b32"},
    {"32 bytes an access: pointers",
     0,
     {"i16", "i16", "i16"},
     "%0 = make_token : token\n %i = iota : tile<2048xi32>\n"
     "%a0 = assume div_by<32>, %a : tile<ptr<i16>>\n %a1 = reshape %a0 : tile<ptr<i16>> -> tile<1xptr<i16>>\n"
     "%a2 = broadcast %a1 : tile<1xptr<i16>> -> tile<2048xptr<i16>>\n"
     "%p = offset %a2, %i : tile<2048xptr<i16>>, tile<2048xi32> -> tile<2048xptr<i16>>\n"
     "%x, %t = load_ptr_tko weak %p token = %0 : tile<2048xptr<i16>> -> tile<2048xi16>, token\n"
     "%y = addi %x, %x : tile<2048xi16>\n"
     "%u = store_ptr_tko weak %p, %y token = %t : tile<2048xptr<i16>>, tile<2048xi16> -> token\n",
     "st.global.v8.b32"},
    {"an odd extent: vectors inside, elements at the end",
     777,
     {"i32", "i32", "i32"},
     "%0 = make_token : token\n %a0 = assume div_by<16>, %a : tile<ptr<i32>>\n %b0 = assume div_by<16>, %b : "
     "tile<ptr<i32>>\n"
     "%ta = make_tensor_view %a0, shape = [%n], strides = [1] : tile<i32> -> " ODD "\n"
     "%tb = make_tensor_view %b0, shape = [%n], strides = [1] : tile<i32> -> " ODD "\n"
     "%pa = make_partition_view %ta : partition_view<tile=(512), padding_value = zero, " ODD ">\n"
     "%pb = make_partition_view %tb : partition_view<tile=(512), " ODD ">\n"
     "%zero = constant <i32: 0> : tile<i32>\n %one = constant <i32: 1> : tile<i32>\n %two = constant <i32: 2> : "
     "tile<i32>\n"
     "for %k in (%zero to %two, step %one) : tile<i32> {\n"
     "%x, %t = load_view_tko weak %pa[%k] token = %0 : partition_view<tile=(512), padding_value = zero, " ODD
     ">, tile<i32>"
     " -> tile<512xi32>, token\n"
     "%u = store_view_tko weak %x, %pb[%k] token = %t : tile<512xi32>, partition_view<tile=(512), " ODD
     ">, tile<i32> -> token\n"
     "continue\n}\n",
     "ld.global.v4.b32"},
};

static void report(void *user, const tv_diag *d)
{
    fprintf(stderr, "%s: %s: %.*s\n", (const char *)user, d->rule, (int)d->message.len, d->message.ptr);
}

typedef struct memory {
    _Alignas(256) unsigned char bytes[BUFFERS][BYTES];
} memory;

static void fill(memory *m)
{
    for (uint32_t i = 0; i < BUFFERS * BYTES; i++)
        m->bytes[i / BYTES][i % BYTES] = (unsigned char)((i * 2654435761u) >> 24);
}

static bool run_vm(const example *e, const tv_module *module, memory *m)
{
    tv_vm *vm;
    tv_sink sink = {(void *)(uintptr_t)e->name, report};
    void *pointers[BUFFERS] = {m->bytes[0], m->bytes[1], m->bytes[2]};
    const void *params[] = {&pointers[0], &pointers[1], &pointers[2], &e->n};
    if (tv_vm_new(module, NULL, sink, &vm) != TV_OK)
        return false;
    for (int i = 0; i < BUFFERS; i++)
        tv_vm_add_buffer(vm, m->bytes[i], BYTES, NULL, true, sink);
    tv_status status = tv_vm_run(vm, 0, (uint32_t[]){1, 1, 1}, params, 4, sink);
    tv_vm_free(vm);
    return status == TV_OK;
}

static bool run_ptx(const example *e, const bc_text *text, memory *m)
{
    char error[256] = "";
    uint64_t address[BUFFERS];
    ptxsim *sim = ptxsim_load(text->ptr, text->len, error, sizeof error);
    CHECK_MSG(sim, "%s: %s", e->name, error);
    if (!sim)
        return false;
    for (int i = 0; i < BUFFERS; i++)
        address[i] = ptxsim_buffer_add(sim, m->bytes[i], BYTES, e->name);
    const void *params[] = {&address[0], &address[1], &address[2], &e->n};
    bool ok = ptxsim_run(sim, &(ptxsim_launch){.grid = {1, 1, 1}, .params = params});
    CHECK_MSG(ok, "%s: %s", e->name, ptxsim_report_text(sim));
    ptxsim_free(sim);
    return ok;
}

static void check_example(const example *e)
{
    static memory by_vm, by_ptx;
    tv_module *module = NULL;
    tv_sink sink = {(void *)(uintptr_t)e->name, report};
    bc_text source, text;
    bc_text_init(&source, NULL);
    bc_text_init(&text, NULL);
    bc_text_printf(
        &source,
        "cuda_tile.module @m { entry @k(%%a: tile<ptr<%s>>, %%b: tile<ptr<%s>>, %%c: tile<ptr<%s>>, %%n: tile<i32>) {\n"
        "%s return\n} }\n",
        e->pointee[0], e->pointee[1], e->pointee[2], e->body);
    bool ok =
        tv_module_parse(source.ptr, source.len, 0, NULL, sink, &module) == TV_OK
        && tv_module_verify(module, NULL, sink) == TV_OK
        && tv_compile_ptx(module, &(tv_compile_options){.target = "sm_100"}, sink, (tv_writer){&text, bc_text_append})
               == TV_OK;
    CHECK_MSG(ok, "%s", e->name);
    if (ok) {
        fill(&by_vm);
        fill(&by_ptx);
        CHECK_MSG(run_vm(e, module, &by_vm), "%s", e->name);
        CHECK_MSG(run_ptx(e, &text, &by_ptx), "%s", e->name);
        for (int i = 0; i < BUFFERS; i++)
            CHECK_MSG(memcmp(by_vm.bytes[i], by_ptx.bytes[i], BYTES) == 0, "%s: buffer %d differs", e->name, i);
        CHECK_MSG(strstr(text.ptr, e->ptx), "%s: no '%s'", e->name, e->ptx);
    }
    tv_module_close(module);
    bc_text_release(&source);
    bc_text_release(&text);
}

/* Barriers that token edges cost. %r: pointers of another parameter, in another order than %p. */
static const struct order {
    const char *name, *body;
    unsigned barriers;
} orders[] = {
#define LOAD(token) "%x, %t = load_ptr_tko weak %p token = " token " : tile<256xptr<i32>> -> tile<256xi32>, token\n"
#define STORE(pointers, token) \
    "%u = store_ptr_tko weak " pointers ", %x token = " token " : tile<256xptr<i32>>, tile<256xi32> -> token\n"
#define TURNED                                                                        \
    "%k = constant <i32: 255> : tile<256xi32>\n %rev = subi %k, %i : tile<256xi32>\n" \
    "%r = offset %b2, %rev : tile<256xptr<i32>>, tile<256xi32> -> tile<256xptr<i32>>\n"
#define SUM(result, of)                                                                                  \
    result " = reduce " of                                                                               \
           " dim=0 identities=[0 : i32] : tile<256xi32> -> tile<i32> (%l: tile<i32>, %m: tile<i32>) {\n" \
           "%o = addi %l, %m : tile<i32>\n yield %o : tile<i32> }\n"
    {"a store after the load", ROWS("i32") TURNED LOAD("%0") STORE("%r", "%t"), 1},
    {"no edge", ROWS("i32") TURNED LOAD("%0") STORE("%r", "%0"), 0},
    {"the load's token among others",
     ROWS("i32") TURNED LOAD("%0") "%v = make_token : token\n %j = join_tokens %v, %t : token\n" STORE("%r", "%j"), 1},
    {"other tokens alone",
     ROWS("i32") TURNED LOAD("%0") "%v = make_token : token\n %j = join_tokens %v, %0 : token\n" STORE("%r", "%j"), 0},
    {"no edge, the same parameter", ROWS("i32") LOAD("%0") STORE("%p", "%0"), 1},
    {"a token through a branch",
     ROWS("i32") TURNED LOAD(
         "%0") "%yes = cmpi equal %n, %n, signed : tile<i32> -> tile<i1>\n"
               "%b9 = if %yes -> (token) { yield %0 : token } else { yield %t : token }\n" STORE("%r", "%b9"),
     1},
    {"two sums lie apart",
     ROWS("i32") LOAD("%0")
         SUM("%s", "%x") "%s1 = reshape %s : tile<i32> -> tile<1xi32>\n %s2 = broadcast %s1 : tile<1xi32> -> "
                         "tile<256xi32>\n %y = muli %x, %s2 : tile<256xi32>\n" SUM(
                             "%z",
                             "%y") "%w = store_ptr_tko weak %b0, %z token = %0 : tile<ptr<i32>>, tile<i32> -> token\n",
     2},
};

/* Barriers that an order costs: after an acquire no thread may go on before all have acquired, and before a release all
   must have come. `words` are to follow one another in the PTX. */
static const struct ordered {
    const char *name, *body;
    const char *words[4];
} ordered[] = {
#define VIEW                                                                                         \
    "%zero = constant <i32: 0> : tile<i32>\n"                                                        \
    "%tv = make_tensor_view %a0, shape = [256], strides = [1] : tensor_view<256xi32, strides=[1]>\n" \
    "%pv = make_partition_view %tv : partition_view<tile=(256), tensor_view<256xi32, strides=[1]>>\n"
#define LATER                                                                                 \
    "%y, %s = load_ptr_tko weak %q token = %0 : tile<256xptr<i32>> -> tile<256xi32>, token\n" \
    "%w = store_ptr_tko weak %q, %y token = %s : tile<256xptr<i32>>, tile<256xi32> -> token\n"
#define EARLIER "%s = store_ptr_tko weak %q, %i token = %0 : tile<256xptr<i32>>, tile<256xi32> -> token\n"
#define LOAD_VIEW(order)                                                                                        \
    "%x, %t = load_view_tko " order " %pv[%zero] token = %0 : partition_view<tile=(256), tensor_view<256xi32, " \
    "strides=[1]>>, tile<i32> -> tile<256xi32>, token\n"
#define STORE_VIEW(order)                                                                                  \
    "%u = store_view_tko " order " %i, %pv[%zero] token = %0 : tile<256xi32>, partition_view<tile=(256), " \
    "tensor_view<256xi32, strides=[1]>>, tile<i32> -> token\n"
#define ADD(order)                                                                                            \
    "%x, %t = atomic_rmw_tko " order " device %p, add, %i token = %0 : tile<256xptr<i32>>, tile<256xi32> -> " \
    "tile<256xi32>, token\n"
    {"an acquire through a view",
     ROWS("i32") VIEW LOAD_VIEW("acquire device") LATER,
     {"ld.acquire.gpu.global", "bar.sync", "ld.global"}},
    {"an acquire through pointers",
     ROWS("i32") "%x, %t = load_ptr_tko acquire device %p token = %0 : tile<256xptr<i32>> -> tile<256xi32>, "
                 "token\n" LATER,
     {"ld.acquire.gpu.global", "bar.sync", "ld.global"}},
    {"a release through a view",
     ROWS("i32") VIEW EARLIER STORE_VIEW("release device"),
     {"st.global", "bar.sync", "st.release.gpu.global"}},
    {"a release through pointers",
     ROWS("i32") EARLIER
     "%u = store_ptr_tko release device %p, %i token = %0 : tile<256xptr<i32>>, tile<256xi32> -> token\n",
     {"st.global", "bar.sync", "st.release.gpu.global"}},
    {"an atomic acquire",
     ROWS("i32") ADD("acquire") LATER,
     {"red.relaxed.gpu.global", "fence.acq_rel.gpu", "bar.sync", "ld.global"}},
    {"an atomic release",
     ROWS("i32") EARLIER ADD("release"),
     {"st.global", "bar.sync", "fence.acq_rel.gpu", "red.relaxed.gpu.global"}},
    {"both, before",
     ROWS("i32") EARLIER ADD("acq_rel"),
     {"st.global", "bar.sync", "fence.acq_rel.gpu", "red.relaxed.gpu.global"}},
    {"both, after",
     ROWS("i32") ADD("acq_rel") LATER,
     {"red.relaxed.gpu.global", "fence.acq_rel.gpu", "bar.sync", "ld.global"}},
};

/* The PTX of a body, or an empty text. */
static void compile_body(const char *name, const char *body, bc_text *out)
{
    tv_module *module = NULL;
    tv_sink sink = {(void *)(uintptr_t)name, report};
    bc_text source;
    bc_text_init(&source, NULL);
    bc_text_init(out, NULL);
    bc_text_printf(
        &source,
        "cuda_tile.module @m { entry @k(%%a: tile<ptr<i32>>, %%b: tile<ptr<i32>>, %%n: tile<i32>) {\n%s return\n} }\n",
        body);
    bool ok =
        tv_module_parse(source.ptr, source.len, 0, NULL, sink, &module) == TV_OK
        && tv_module_verify(module, NULL, (tv_sink){0}) /* warns */ == TV_OK
        && tv_compile_ptx(module, &(tv_compile_options){.target = "sm_90"}, sink, (tv_writer){out, bc_text_append})
               == TV_OK;
    CHECK_MSG(ok, "%s", name);
    tv_module_close(module);
    bc_text_release(&source);
}

static void check_order(const struct order *o)
{
    bc_text text;
    unsigned barriers = 0;
    compile_body(o->name, o->body, &text);
    for (const char *at = text.ptr; at && (at = strstr(at, "bar.sync")) != NULL; at++)
        barriers++;
    CHECK_MSG(barriers == o->barriers, "%s: %u barriers", o->name, barriers);
    bc_text_release(&text);
}

static void check_ordered(const struct ordered *o)
{
    bc_text text;
    compile_body(o->name, o->body, &text);
    const char *at = text.ptr;
    for (size_t i = 0; i < TV_COUNT(o->words) && o->words[i]; i++) {
        at = at ? strstr(at, o->words[i]) : NULL;
        CHECK_MSG(at, "%s: no '%s' where it should be", o->name, o->words[i]);
    }
    bc_text_release(&text);
}

int main(void)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check_example(&examples[i]);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        check_order(&orders[i]);
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++)
        check_ordered(&ordered[i]);
    return TEST_END("compile_memory");
}
