/* The caller's floating-point environment changes nothing that a public call computes, on any thread, and is found
   again as it was: every rounding mode, flushing of subnormals, traps, flags. */
#include <fenv.h>
#include <string.h>

#include "bytecode/base/compiler.h"
#include "bytecode/base/text.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

enum { BLOCKS = 8, TILE = 256, ELEMENTS = BLOCKS * TILE };

#define VIEW "tensor_view<2048xf32, strides=[1]>"
#define PART "partition_view<tile=(256), " VIEW ">"

/* Sums, quotients, subnormals, directed rounding, formats of all sizes, products, constants and text. */
static const char kernel[] = "entry @k(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {\n"
                             "  %i, %by, %bz = get_tile_block_id : tile<i32>\n"
                             "  %xv = make_tensor_view %x, shape = [2048], strides = [1] : " VIEW "\n"
                             "  %yv = make_tensor_view %y, shape = [2048], strides = [1] : " VIEW "\n"
                             "  %xp = make_partition_view %xv : " PART "\n"
                             "  %yp = make_partition_view %yv : " PART "\n"
                             "  %t, %t0 = load_view_tko weak %xp[%i] : " PART ", tile<i32> -> tile<256xf32>, token\n"
                             "  %c = constant <f32: 0.1> : tile<256xf32>\n"
                             "  %tiny = constant <f32: 1.3e-39> : tile<256xf32>\n"
                             "  %q = divf %t, %c : tile<256xf32>\n"
                             "  %up = addf %q, %c rounding<positive_inf> : tile<256xf32>\n"
                             "  %s = mulf %t, %tiny : tile<256xf32>\n"
                             "  %big = constant <f32: 1.0e+38> : tile<256xf32>\n"
                             "  %back = mulf %s, %big : tile<256xf32>\n"
                             "  %e = exp %t : tile<256xf32>\n"
                             "  %h = ftof %e : tile<256xf32> -> tile<256xf16>\n"
                             "  %h2 = mulf %h, %h : tile<256xf16>\n"
                             "  %w = ftof %h2 : tile<256xf16> -> tile<256xf32>\n"
                             "  %d = ftof %t : tile<256xf32> -> tile<256xf64>\n"
                             "  %dr = sqrt %d : tile<256xf64>\n"
                             "  %n = ftof %dr : tile<256xf64> -> tile<256xf32>\n"
                             "  %l = reshape %t : tile<256xf32> -> tile<16x16xf32>\n"
                             "  %zero = constant <f32: 0.0> : tile<16x16xf32>\n"
                             "  %m = mmaf %l, %l, %zero : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>\n"
                             "  %mf = reshape %m : tile<16x16xf32> -> tile<256xf32>\n"
                             "  %r1 = addf %up, %back : tile<256xf32>\n"
                             "  %r2 = addf %r1, %w : tile<256xf32>\n"
                             "  %r3 = addf %r2, %n : tile<256xf32>\n"
                             "  %r4 = addf %r3, %mf : tile<256xf32>\n"
                             "  %r5 = addf %r4, %s : tile<256xf32>\n"
                             "  %small = cmpf less_than ordered %t, %c : tile<256xf32> -> tile<256xi1>\n"
                             "  %r = select %small, %s, %r5 : tile<256xi1>, tile<256xf32>\n"
                             "  %t1 = store_view_tko weak %r, %yp[%i] : tile<256xf32>, " PART ", tile<i32> -> token\n"
                             "  %pi = constant <f64: 3.14159265358979312> : tile<f64>\n"
                             "  %third = constant <f64: 0.33333333333333331> : tile<f64>\n"
                             "  %p = mulf %pi, %third : tile<f64>\n"
                             "  %t2 = print_tko \"%.17g\\n\", %p : tile<f64> -> token\n"
                             "  return\n"
                             "}\n";

/* A float constant among the parameters. */
static const char symbol[] = "k_Kt2_F3fb999999999999a_F0000000000000001";

static float input[ELEMENTS], output[ELEMENTS];

static void report(void *user, const tv_diag *diag)
{
    bc_text_printf(user, "%s %.*s\n", diag->rule, (int)diag->message.len, diag->message.ptr);
}

/* Calls with a result of their own each; all they give goes into one text. */
typedef struct calls {
    bc_text text;
    tv_module *module;
    unsigned threads;
} calls;

static tv_writer writer(calls *c)
{
    return (tv_writer){.user = &c->text, .write = bc_text_append};
}

static void call_parse(calls *c)
{
    const tv_sink sink = {.user = &c->text, .report = report};
    CHECK(tv_module_parse(kernel, strlen(kernel), 0, NULL, sink, &c->module) == TV_OK);
}

static void call_verify(calls *c)
{
    CHECK(tv_module_verify(c->module, NULL, (tv_sink){.user = &c->text, .report = report}) == TV_OK);
}

static void call_print(calls *c)
{
    CHECK(tv_module_print(c->module, NULL, writer(c)) == TV_OK);
}

static void call_compile(calls *c)
{
    CHECK(tv_compile_ptx(c->module, NULL, (tv_sink){.user = &c->text, .report = report}, writer(c)) == TV_OK);
}

static void call_signature(calls *c)
{
    tv_signature *s;
    tv_status status =
        tv_signature_open((tv_str){symbol, strlen(symbol)}, NULL, (tv_sink){.user = &c->text, .report = report}, &s);
    for (size_t i = 0; status == TV_OK && i < tv_signature_param_count(s); i++)
        CHECK(tv_param_print(tv_signature_param(s, i), writer(c)) == TV_OK);
    if (status == TV_OK)
        tv_signature_close(s);
}

static void call_run(calls *c)
{
    const tv_sink sink = {.user = &c->text, .report = report};
    const tv_vm_options options = {.threads = c->threads, .output = writer(c)};
    const void *x = input;
    void *y = output;
    const void *const params[2] = {&x, &y};
    const uint32_t grid[3] = {BLOCKS, 1, 1};
    tv_vm *vm;
    memset(output, 0, sizeof output);
    CHECK(tv_vm_new(c->module, &options, sink, &vm) == TV_OK);
    CHECK(tv_vm_add_buffer(vm, input, sizeof input, "x", false, sink) == TV_OK);
    CHECK(tv_vm_add_buffer(vm, output, sizeof output, "y", true, sink) == TV_OK);
    CHECK(tv_vm_run(vm, NULL, grid, params, 2, sink) == TV_OK);
    tv_vm_free(vm);
    bc_text_bytes(&c->text, output, sizeof output);
}

static void (*const steps[])(calls *c) = {call_parse, call_verify, call_print, call_compile, call_signature, call_run};
static const char *const names[] = {"parse", "verify", "print", "compile", "signature", "run"};

/* ---- environments ---- */

typedef struct environment {
    char name[48];
    tv_float_env env;
} environment;

enum { MAX_ENVIRONMENTS = 64 };
static environment environments[MAX_ENVIRONMENTS];
static unsigned environment_count;

static void add(const char *mode, const char *flags, tv_float_env env)
{
    environment *e = &environments[environment_count++];
    snprintf(e->name, sizeof e->name, "%s%s", mode, flags);
    e->env = env;
}

/* The environment that is set, also with everything that only this machine knows. */
static void add_flags(const char *mode, tv_float_env env)
{
    add(mode, "", env);
#if defined(__x86_64__) && !defined(TV_PLAIN_C)
    static const char *const flags[] = {"", " FTZ", " DAZ", " FTZ DAZ"};
    for (unsigned i = 1; i < 4; i++) {
        tv_float_env flushing = env;
        flushing.vectors |= (i & 1 ? 0x8000u : 0) | (i & 2 ? 0x40u : 0);
        add(mode, flags[i], flushing);
        flushing.vectors &= ~(0x1f80u | 0x3fu); /* nothing happened yet, and what happens traps */
        add(mode, " flushing and traps", flushing);
    }
#elif defined(__aarch64__) && !defined(TV_PLAIN_C)
    static const char *const flags[] = {"", " FZ", " FZ16", " FZ FZ16"};
    for (unsigned i = 1; i < 4; i++) {
        tv_float_env flushing = env;
        flushing.control |= (i & 1 ? 1u << 24 : 0) | (i & 2 ? 1u << 19 : 0);
        add(mode, flags[i], flushing);
        flushing.control |= 1u << 25;
        add(mode, " and the default NaN", flushing);
    }
#endif
}

static void make_environments(void)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    static const char *const mode_names[] = {"nearest", "upward", "downward", "toward zero"};
    for (unsigned i = 0; i < TV_COUNT(modes); i++) {
        tv_float_env before = tv_float_enter(), env;
        CHECK(fesetround(modes[i]) == 0);
        feraiseexcept(i % 2 ? FE_INEXACT : FE_UNDERFLOW);
        env = tv_float_enter();
        tv_float_leave(before);
        add_flags(mode_names[i], env);
    }
}

/* ---- comparing ---- */

static void release(calls *c)
{
    if (c->module)
        tv_module_close(c->module);
    bc_text_release(&c->text);
}

static void compare(const environment *e, unsigned threads)
{
    calls want = {.threads = threads}, got = {.threads = threads};
    bc_text_init(&want.text, NULL);
    bc_text_init(&got.text, NULL);
    for (unsigned i = 0; i < TV_COUNT(steps); i++) {
        size_t start = want.text.len;
        steps[i](&want);
        tv_float_leave(e->env);
        steps[i](&got);
        tv_float_env after = tv_float_enter();
        CHECK_MSG(memcmp(&after, &e->env, sizeof after) == 0, "%s leaves another environment than %s", names[i],
                  e->name);
        CHECK_MSG(want.text.len == got.text.len
                      && (want.text.len == start
                          || memcmp(want.text.ptr + start, got.text.ptr + start, want.text.len - start) == 0),
                  "%s differs with %s, %u threads", names[i], e->name, threads);
    }
    CHECK(want.text.len > sizeof output);
    release(&want);
    release(&got);
}

int main(void)
{
    for (unsigned i = 0; i < ELEMENTS; i++)
        input[i] = (float)((i * 2654435761u >> 8) % 100003u) / 30000.0f;
    make_environments();
    for (unsigned i = 0; i < environment_count; i++)
        for (unsigned threads = 1; threads <= 4; threads += 3)
            compare(&environments[i], threads);
    return TEST_END("float_env");
}
