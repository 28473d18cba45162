/* options.precision: what kernels would give without rounding, beside references in long double, and which op is to
   blame for what is lost (vm/precision). */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/said.h"
#include "tests/unit/test.h"
#include "tilevm/tilevm.h"

enum { N = 64 };

/* ---- a machine ---- */

typedef struct machine {
    tv_module *module;
    tv_vm *vm;
} machine;

static bool start(machine *m, const char *text)
{
    const tv_vm_options options = {.precision = true};
    *m = (machine){0};
    said[0] = 0;
    bool good = tv_module_parse(text, strlen(text), 0, NULL, sink, &m->module) == TV_OK
                && tv_module_verify(m->module, NULL, sink) == TV_OK
                && tv_vm_new(m->module, &options, sink, &m->vm) == TV_OK;
    CHECK_MSG(good, "%s in:\n%s", said, text);
    return good;
}

static void stop(machine *m)
{
    tv_vm_free(m->vm);
    tv_module_close(m->module);
}

/* Runs a kernel of pointers to so many arrays of one type, each of N elements. */
static bool go(machine *m, tv_dtype dtype, void *const *arrays, size_t count, unsigned blocks)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    const void *params[4];
    for (size_t i = 0; i < count; i++) {
        const int64_t shape = N, stride = 1;
        const tv_array array = {.data = arrays[i], .dtype = dtype, .ndim = 1, .shape = &shape, .strides = &stride};
        size_t size = N * tv_dtype_bits(dtype) / 8;
        params[i] = &arrays[i];
        CHECK_MSG(tv_vm_add_buffer(m->vm, arrays[i], size, names[i], true, sink) == TV_OK, "%s", said);
        CHECK_MSG(tv_vm_describe_array(m->vm, &array, names[i], false, sink) == TV_OK, "%s", said);
    }
    tv_status status = tv_vm_run(m->vm, NULL, (const uint32_t[]){blocks, 1, 1}, params, count, sink);
    CHECK_MSG(status == TV_OK, "%s", said);
    return status == TV_OK;
}

/* The op that loses most of what is stored, as `tilevm run --precision` ranks them. */
static tv_vm_op_precision worst_op(const tv_vm *vm)
{
    tv_vm_op_precision op, worst = {.op = ""};
    double most = -1;
    for (size_t i = 0; tv_vm_op_precision_at(vm, i, &op); i++) {
        double lost = fmax(op.caused, op.amplified);
        if (lost > most || (lost == most && op.amplified >= op.caused && worst.amplified < worst.caused)) {
            most = lost;
            worst = op;
        }
    }
    return worst;
}

static tv_vm_op_precision op_named(const tv_vm *vm, const char *name)
{
    tv_vm_op_precision op;
    for (size_t i = 0; tv_vm_op_precision_at(vm, i, &op); i++)
        if (strcmp(op.op, name) == 0)
            return op;
    CHECK_MSG(false, "no figures of %s", name);
    return (tv_vm_op_precision){.op = ""};
}

static double ulps(long double x, long double exact, int mantissa, int least)
{
    long double larger = fmaxl(fabsl(x), fabsl(exact));
    int exponent = larger > 0 ? (int)ilogbl(larger) : least;
    return (double)(fabsl(x - exact) / ldexpl(1, (exponent > least ? exponent : least) - mantissa));
}

/* ---- every element-wise op ---- */

/* a / b, which is rounded, goes into an op, with c as the second operand and a as the third where it has them. */
static const char *const chain = "entry @k(%%a: tile<ptr<f32>>, %%b: tile<ptr<f32>>, %%c: tile<ptr<f32>>, "
                                 "%%d: tile<ptr<f32>>) {\n"
                                 "  %%i = iota : tile<64xi32>\n"
                                 "%s%s%s%s"
                                 "  %%x, %%t0 = load_ptr_tko weak %%ap : tile<64xptr<f32>> -> tile<64xf32>, token\n"
                                 "  %%y, %%t1 = load_ptr_tko weak %%bp : tile<64xptr<f32>> -> tile<64xf32>, token\n"
                                 "  %%z, %%t2 = load_ptr_tko weak %%cp : tile<64xptr<f32>> -> tile<64xf32>, token\n"
                                 "  %%u = divf %%x, %%y : tile<64xf32>\n"
                                 "  %%r = %s\n"
                                 "  %%t3 = store_ptr_tko weak %%dp, %%r : tile<64xptr<f32>>, tile<64xf32> -> token\n"
                                 "  return\n"
                                 "}\n";

static const char *const pointers =
    "  %%%c1 = reshape %%%c : tile<ptr<f32>> -> tile<1xptr<f32>>\n"
    "  %%%c64 = broadcast %%%c1 : tile<1xptr<f32>> -> tile<64xptr<f32>>\n"
    "  %%%cp = offset %%%c64, %%i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>\n";

typedef long double reference(long double u, long double z, long double x);

#define REFERENCE(name, expression)                                            \
    static long double ref_##name(long double u, long double z, long double x) \
    {                                                                          \
        (void)u, (void)z, (void)x;                                             \
        return expression;                                                     \
    }
REFERENCE(addf, u + z)
REFERENCE(subf, u - z)
REFERENCE(mulf, u *z)
REFERENCE(divf, u / z)
REFERENCE(fma, u *z + x)
REFERENCE(sqrt, sqrtl(u))
REFERENCE(rsqrt, 1 / sqrtl(u))
REFERENCE(negf, -u)
REFERENCE(absf, fabsl(-u))
REFERENCE(maxf, fmaxl(u, z))
REFERENCE(minf, fminl(u, z))
REFERENCE(remf, fmodl(u, z))
REFERENCE(sin, sinl(u))
REFERENCE(cos, cosl(u))
REFERENCE(tan, tanl(u))
REFERENCE(sinh, sinhl(u))
REFERENCE(cosh, coshl(u))
REFERENCE(tanh, tanhl(u))
REFERENCE(exp, expl(u))
REFERENCE(exp2, exp2l(u))
REFERENCE(log, logl(u))
REFERENCE(log2, log2l(u))
REFERENCE(atan2, atan2l(u, z))
REFERENCE(fpowf, powl(u, z))
REFERENCE(floor, floorl(u))
REFERENCE(ceil, ceill(u))

static const struct {
    const char *name;
    unsigned operands;
    reference *exact;
} maps[] = {
    {"addf", 2, ref_addf},   {"subf", 2, ref_subf}, {"mulf", 2, ref_mulf},   {"divf", 2, ref_divf},
    {"fma", 3, ref_fma},     {"sqrt", 1, ref_sqrt}, {"rsqrt", 1, ref_rsqrt}, {"negf", 1, ref_negf},
    {"absf", 1, ref_absf},   {"maxf", 2, ref_maxf}, {"minf", 2, ref_minf},   {"remf", 2, ref_remf},
    {"sin", 1, ref_sin},     {"cos", 1, ref_cos},   {"tan", 1, ref_tan},     {"sinh", 1, ref_sinh},
    {"cosh", 1, ref_cosh},   {"tanh", 1, ref_tanh}, {"exp", 1, ref_exp},     {"exp2", 1, ref_exp2},
    {"log", 1, ref_log},     {"log2", 1, ref_log2}, {"atan2", 2, ref_atan2}, {"fpowf", 2, ref_fpowf},
    {"floor", 1, ref_floor}, {"ceil", 1, ref_ceil},
};

static void put_chain(char *out, size_t size, const char *op)
{
    char parts[4][512];
    for (int i = 0; i < 4; i++) {
        char c = (char)('a' + i);
        snprintf(parts[i], sizeof parts[i], pointers, c, c, c, c, c, c);
    }
    snprintf(out, size, chain, parts[0], parts[1], parts[2], parts[3], op);
}

/* The figures of the array are those of the elements that the reference gives. */
static void check_map(size_t which)
{
    static const char *const operands[] = {"", "%u", "%u, %z", "%u, %z, %x"};
    char op[200], text[6000];
    float a[N], b[N], c[N], d[N];
    machine m;
    tv_vm_array_precision array;
    double worst = 0, sum = 0;
    snprintf(op, sizeof op, "%s %s : tile<64xf32>", maps[which].name, operands[maps[which].operands]);
    put_chain(text, sizeof text, op);
    for (int i = 0; i < N; i++) {
        a[i] = 1.3F + (float)i * 0.37F;
        b[i] = 3.1F + (float)((i * 7) % N) * 0.11F;
        c[i] = 0.7F + (float)((i * 5) % N) * 0.013F;
    }
    if (!start(&m, text) || !go(&m, TV_F32, (void *const[]){a, b, c, d}, 4, 1))
        return;
    for (int i = 0; i < N; i++) {
        double error = ulps(d[i], maps[which].exact((long double)a[i] / (long double)b[i], c[i], a[i]), 23, -126);
        worst = fmax(worst, error);
        sum += error;
    }
    bool found = tv_vm_array_precision_at(m.vm, 0, &array);
    CHECK_MSG(found && array.elements == N, "%s", maps[which].name);
    CHECK_MSG(found && fabs(array.error.worst - worst) <= 1e-4 * worst, "%s: worst %g, expected %g", maps[which].name,
              array.error.worst, worst);
    CHECK_MSG(found && fabs(array.error.mean - sum / N) <= 1e-4 * sum / N, "%s: mean %g, expected %g", maps[which].name,
              array.error.mean, sum / N);
    stop(&m);
}

/* ---- what ops do to exact elements that they only move, choose or convert ---- */

/* Each has element `from` of a / b at the place `at`. */
static const struct {
    const char *what, *ops;
    int from, at;
} moves[] = {
    {"reshape, permute, reshape",
     "  %m0 = reshape %u : tile<64xf32> -> tile<4x16xf32>\n"
     "  %m1 = permute %m0 [1, 0] : tile<4x16xf32> -> tile<16x4xf32>\n"
     "  %r = reshape %m1 : tile<16x4xf32> -> tile<64xf32>\n",
     1, 4},
    {"extract, cat",
     "  %one = constant <i32: 1> : tile<i32>\n"
     "  %h = extract %u[%one] : tile<64xf32> -> tile<32xf32>\n"
     "  %r = cat %h, %h dim = 0 : tile<32xf32>, tile<32xf32> -> tile<64xf32>\n",
     32, 0},
    {"broadcast",
     "  %three = constant <i32: 3> : tile<i32>\n"
     "  %h = extract %u[%three] : tile<64xf32> -> tile<1xf32>\n"
     "  %r = broadcast %h : tile<1xf32> -> tile<64xf32>\n",
     3, 0},
    {"insert",
     "  %zero = constant <i32: 0> : tile<i32>\n"
     "  %one = constant <i32: 1> : tile<i32>\n"
     "  %h = extract %u[%one] : tile<64xf32> -> tile<16xf32>\n"
     "  %r = insert %h, %z[%zero] : tile<16xf32>, tile<64xf32>\n",
     16, 0},
    {"select",
     "  %less = cmpf less_than ordered %u, %z : tile<64xf32> -> tile<64xi1>\n"
     "  %s = select %less, %u, %u : tile<64xi1>, tile<64xf32>\n"
     "  %r = select %less, %s, %s : tile<64xi1>, tile<64xf32>\n",
     0, 0},
    {"if",
     "  %zero = constant <i32: 0> : tile<i32>\n"
     "  %one = constant <i32: 1> : tile<i32>\n"
     "  %less = cmpi less_than %zero, %one, signed : tile<i32> -> tile<i1>\n"
     "  %r = if %less -> (tile<64xf32>) {\n    yield %u : tile<64xf32>\n  } else {\n    yield %z : tile<64xf32>\n  }\n",
     0, 0},
    {"for, which swaps its values",
     "  %zero = constant <i32: 0> : tile<i32>\n"
     "  %one = constant <i32: 1> : tile<i32>\n"
     "  %five = constant <i32: 5> : tile<i32>\n"
     "  %q, %r = for %j in (%zero to %five, step %one) : tile<i32> iter_values(%v = %u, %w = %z) -> (tile<64xf32>,"
     " tile<64xf32>) {\n    continue %w, %v : tile<64xf32>, tile<64xf32>\n  }\n",
     0, 0},
    {"loop", "  %r = loop iter_values(%v = %u) : tile<64xf32> -> tile<64xf32> {\n    break %v : tile<64xf32>\n  }\n", 0,
     0},
    {"memory",
     "  %t5 = store_ptr_tko weak %dp, %u : tile<64xptr<f32>>, tile<64xf32> -> token\n"
     "  %r, %t6 = load_ptr_tko weak %dp token=%t5 : tile<64xptr<f32>> -> tile<64xf32>, token\n",
     0, 0},
    {"f64 and back",
     "  %m0 = ftof %u : tile<64xf32> -> tile<64xf64>\n"
     "  %r = ftof %m0 : tile<64xf64> -> tile<64xf32>\n",
     0, 0},
};

/* Puts ops in place of the one of the chain. */
static void put_ops(char *out, size_t size, const char *ops)
{
    char rest[2000];
    put_chain(out, size, "@");
    char *at = strstr(out, "  %r = @\n");
    snprintf(rest, sizeof rest, "%s", at + strlen("  %r = @\n"));
    snprintf(at, size - (size_t)(at - out), "%s%s", ops, rest);
}

/* Only one quotient is rounded: its error is that of one element. */
static void check_move(size_t which)
{
    char text[8000];
    float a[N], b[N], c[N], d[N];
    machine m;
    tv_vm_array_precision array = {0};
    put_ops(text, sizeof text, moves[which].ops);
    for (int i = 0; i < N; i++) {
        a[i] = i == moves[which].from ? 1.3F : 2;
        b[i] = i == moves[which].from ? 3.1F : 1;
        c[i] = 1;
    }
    if (!start(&m, text) || !go(&m, TV_F32, (void *const[]){a, b, c, d}, 4, 1))
        return;
    double error = ulps(d[moves[which].at], (long double)1.3F / (long double)3.1F, 23, -126);
    CHECK(error > 0);
    CHECK_MSG(tv_vm_array_precision_at(m.vm, 0, &array) && array.index[0] == moves[which].at
                  && fabs(array.error.worst - error) <= 1e-4 * error,
              "%s: %g at %lld, expected %g", moves[which].what, array.error.worst, (long long)array.index[0], error);
    CHECK_MSG(worst_op(m.vm).op_index == op_named(m.vm, "divf").op_index, "%s: %s is to blame", moves[which].what,
              worst_op(m.vm).op);
    stop(&m);
}

/* ---- sums ---- */

/* Sums along a dimension, one after the other and in a tree, products and updates of memory, all of u = a / b. */
static const struct {
    const char *what, *ops, *name;
    int kind; /* of the reference */
} sums[] = {
    {"reduce",
     "  %s = reduce %u dim=0 identities=[0.0 : f32] : tile<64xf32> -> tile<f32> (%p: tile<f32>, %q: tile<f32>) {\n"
     "    %v = addf %p, %q : tile<f32>\n    yield %v : tile<f32>\n  }\n"
     "  %s1 = reshape %s : tile<f32> -> tile<1xf32>\n"
     "  %r = broadcast %s1 : tile<1xf32> -> tile<64xf32>\n",
     "addf", 0},
    {"scan",
     "  %r = scan %u dim=0 reverse=false identities=[0.0 : f32] : tile<64xf32> -> tile<64xf32> (%p: tile<f32>, "
     "%q: tile<f32>) {\n    %v = addf %p, %q : tile<f32>\n    yield %v : tile<f32>\n  }\n",
     "addf", 1},
    {"mmaf",
     "  %l = reshape %u : tile<64xf32> -> tile<8x8xf32>\n"
     "  %o = reshape %z : tile<64xf32> -> tile<8x8xf32>\n"
     "  %m = mmaf %l, %l, %o : tile<8x8xf32>, tile<8x8xf32>, tile<8x8xf32>\n"
     "  %r = reshape %m : tile<8x8xf32> -> tile<64xf32>\n",
     "mmaf", 2},
};

static long double sum_reference(int kind, const float *a, const float *b, const float *c, int i)
{
    long double sum = kind == 2 ? (long double)c[i] : 0;
    if (kind == 2)
        for (int k = 0; k < 8; k++)
            sum += (long double)a[i / 8 * 8 + k] / b[i / 8 * 8 + k]
                   * ((long double)a[k * 8 + i % 8] / b[k * 8 + i % 8]);
    else
        for (int k = 0; k < (kind == 0 ? N : i + 1); k++)
            sum += (long double)a[k] / b[k];
    return sum;
}

static void check_sum(size_t which)
{
    char text[8000];
    float a[N], b[N], c[N], d[N];
    machine m;
    tv_vm_array_precision array = {0};
    double worst = 0, total = 0;
    put_ops(text, sizeof text, sums[which].ops);
    for (int i = 0; i < N; i++) {
        a[i] = 1.3F + (float)i * 0.37F;
        b[i] = 3.1F + (float)((i * 7) % N) * 0.11F;
        c[i] = 0.25F;
    }
    if (!start(&m, text) || !go(&m, TV_F32, (void *const[]){a, b, c, d}, 4, 1))
        return;
    for (int i = 0; i < N; i++) {
        double error = ulps(d[i], sum_reference(sums[which].kind, a, b, c, i), 23, -126);
        worst = fmax(worst, error);
        total += error;
    }
    CHECK_MSG(tv_vm_array_precision_at(m.vm, 0, &array) && fabs(array.error.worst - worst) <= 1e-4 * worst
                  && fabs(array.error.mean - total / N) <= 1e-4 * total / N,
              "%s: worst %g, mean %g, expected %g, %g", sums[which].what, array.error.worst, array.error.mean, worst,
              total / N);
    CHECK_MSG(op_named(m.vm, sums[which].name).accumulated.worst > 0, "%s", sums[which].what);
    stop(&m);
}

/* ---- kernels with known losses ---- */

/* One tile of N elements goes through some ops: x is loaded from a, r stored to b. */
static void put_kernel(char *out, size_t size, const char *type, const char *ops)
{
    snprintf(out, size,
             "entry @k(%%a: tile<ptr<%s>>, %%b: tile<ptr<%s>>) {\n"
             "  %%zero = constant <i32: 0> : tile<i32>\n"
             "  %%av = make_tensor_view %%a, shape = [64], strides = [1] : tensor_view<64x%s, strides=[1]>\n"
             "  %%aw = make_partition_view %%av : partition_view<tile=(64), tensor_view<64x%s, strides=[1]>>\n"
             "  %%bv = make_tensor_view %%b, shape = [64], strides = [1] : tensor_view<64x%s, strides=[1]>\n"
             "  %%bw = make_partition_view %%bv : partition_view<tile=(64), tensor_view<64x%s, strides=[1]>>\n"
             "  %%x, %%t0 = load_view_tko weak %%aw[%%zero] : partition_view<tile=(64), tensor_view<64x%s,"
             " strides=[1]>>, tile<i32> -> tile<64x%s>, token\n"
             "%s"
             "  %%t1 = store_view_tko weak %%r, %%bw[%%zero] : tile<64x%s>, partition_view<tile=(64),"
             " tensor_view<64x%s, strides=[1]>>, tile<i32> -> token\n"
             "  return\n"
             "}\n",
             type, type, type, type, type, type, type, type, ops, type, type);
}

#define SUM(to, from)                                                                                            \
    "  %" to " = reduce %" from " dim=0 identities=[0.0 : f32] : tile<64xf32> -> tile<f32> (%p: tile<f32>, %q: " \
    "tile<f32>) {\n    %v" to " = addf %p, %q : tile<f32>\n    yield %v" to " : tile<f32>\n  }\n"
#define SPREAD(to, from)                                          \
    "  %" to "1 = reshape %" from " : tile<f32> -> tile<1xf32>\n" \
    "  %" to " = broadcast %" to "1 : tile<1xf32> -> tile<64xf32>\n"

static const struct {
    const char *what, *ops, *op; /* the op that loses most */
    float first, step;           /* elements */
    double least, most;          /* of its loss; infinite: nothing is left */
    bool cancels;
} losses[] = {
    {"1e8 and small numbers", "  %big = constant <f32: 1.0e8> : tile<64xf32>\n  %r = addf %x, %big : tile<64xf32>\n",
     "addf", 1.1F, 0.037F, 0.3, 0.5, false},
    {"1e8 and small numbers, less 1e8",
     "  %big = constant <f32: 1.0e8> : tile<64xf32>\n  %s = addf %x, %big : tile<64xf32>\n"
     "  %r = subf %s, %big : tile<64xf32>\n",
     "subf", 1.1F, 0.037F, 1e6, 1.7e7, true},
    {"a square less a near number",
     "  %near = constant <f32: 1.0e6> : tile<64xf32>\n  %q = mulf %x, %x : tile<64xf32>\n"
     "  %r = subf %q, %near : tile<64xf32>\n",
     "subf", 1000.001F, 0.001F, 100, 1e6, true},
    {"variance by the mean of squares",
     "  %n = constant <f32: 64.0> : tile<f32>\n  %sq = mulf %x, %x : tile<64xf32>\n" SUM("s", "x")
         SUM("t",
             "sq") "  %m = divf %s, %n : tile<f32>\n  %mq = divf %t, %n : tile<f32>\n  %mm = mulf %m, %m : tile<f32>\n"
                   "  %var = subf %mq, %mm : tile<f32>\n" SPREAD("r", "var"),
     "subf", 1000, 0.001F, 1e5, 1.7e7, true},
    {"rsqrt of that",
     "  %n = constant <f32: 64.0> : tile<f32>\n  %eps = constant <f32: 1.0e-5> : tile<f32>\n"
     "  %sq = mulf %x, %x : tile<64xf32>\n" SUM("s", "x")
         SUM("t",
             "sq") "  %m = divf %s, %n : tile<f32>\n  %mq = divf %t, %n : tile<f32>\n  %mm = mulf %m, %m : tile<f32>\n"
                   "  %var = subf %mq, %mm : tile<f32>\n  %e = addf %var, %eps : tile<f32>\n  %rs = rsqrt %e : "
                   "tile<f32>\n" SPREAD("r", "rs"),
     "subf", 1000, 0.001F, 1e5, 1.7e7, true},
    {"rsqrt alone", "  %r = rsqrt %x : tile<64xf32>\n", "rsqrt", 1.1F, 0.37F, 0.3, 1.1, false},
    {"softmax without the maximum",
     "  %ex = exp %x : tile<64xf32>\n" SUM("s", "ex") SPREAD("sb", "s") "  %r = divf %ex, %sb : tile<64xf32>\n", "exp",
     30, 1, (double)INFINITY, (double)INFINITY, false},
    {"exp of rounded numbers",
     "  %three = constant <f32: 3.0> : tile<64xf32>\n  %th = divf %x, %three : tile<64xf32>\n"
     "  %r = exp %th : tile<64xf32>\n",
     "exp", 200, 0.77F, 8, 200, false},
};

static void check_loss(size_t which)
{
    char text[6000];
    float a[N], b[N];
    machine m;
    put_kernel(text, sizeof text, "f32", losses[which].ops);
    for (int i = 0; i < N; i++)
        a[i] = losses[which].first + (float)i * losses[which].step;
    if (!start(&m, text) || !go(&m, TV_F32, (void *const[]){a, b}, 2, 1))
        return;
    tv_vm_op_precision op = worst_op(m.vm);
    double lost = fmax(op.caused, op.amplified);
    CHECK_MSG(strcmp(op.op, losses[which].op) == 0, "%s: %s loses most, not %s", losses[which].what, op.op,
              losses[which].op);
    CHECK_MSG(lost >= losses[which].least && lost <= losses[which].most, "%s: %g", losses[which].what, lost);
    CHECK_MSG(losses[which].cancels == (op.is_sum && op.grown > 0), "%s", losses[which].what);
    stop(&m);
}

/* A sum of many small numbers in f16 stops growing. */
static void check_f16(void)
{
    char text[6000];
    uint16_t a[N], b[N];
    machine m;
    tv_vm_array_precision array = {0};
    put_kernel(text, sizeof text, "f16",
               "  %one = constant <i32: 1> : tile<i32>\n  %n = constant <i32: 4096> : tile<i32>\n"
               "  %start = constant <f16: 0.0> : tile<64xf16>\n"
               "  %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%s = %start) -> (tile<64xf16>) {\n"
               "    %y = addf %s, %x : tile<64xf16>\n    continue %y : tile<64xf16>\n  }\n");
    for (int i = 0; i < N; i++)
        a[i] = 0x3c00; /* 1 */
    if (!start(&m, text) || !go(&m, TV_F16, (void *const[]){a, b}, 2, 1))
        return;
    CHECK(b[5] == 0x6800); /* 2048 */
    CHECK(tv_vm_array_precision_at(m.vm, 0, &array) && array.error.exact == 4096 && array.error.value == 2048);
    CHECK(array.error.worst == 512 && array.error.mean == 512); /* of 4 */
    CHECK(strcmp(worst_op(m.vm).op, "addf") == 0 && op_named(m.vm, "addf").elements == 4096 * N);
    stop(&m);
}

/* 1e20 + 1 - 1e20 in f64: the exact elements have more digits than that. */
static void check_f64(void)
{
    char text[6000];
    double a[N], b[N];
    machine m;
    tv_vm_array_precision array = {0};
    put_kernel(text, sizeof text, "f64",
               "  %big = constant <f64: 1.0e20> : tile<64xf64>\n  %s = addf %x, %big : tile<64xf64>\n"
               "  %r = subf %s, %big : tile<64xf64>\n");
    for (int i = 0; i < N; i++)
        a[i] = 1 + i;
    if (!start(&m, text) || !go(&m, TV_F64, (void *const[]){a, b}, 2, 1))
        return;
    CHECK(b[7] == 0);
    CHECK(tv_vm_array_precision_at(m.vm, 0, &array) && array.error.value == 0 && array.largest == N);
    CHECK(strcmp(worst_op(m.vm).op, "subf") == 0);
    stop(&m);
}

/* What follows the kernel's values although others would lead elsewhere, and what drops exact elements. */
static void check_decisions(void)
{
    char text[6000];
    float a[N], b[N];
    machine m;
    put_kernel(text, sizeof text, "f32",
               "  %big = constant <f32: 1.0e8> : tile<64xf32>\n  %half = constant <f32: 0.5> : tile<64xf32>\n"
               "  %s = addf %x, %big : tile<64xf32>\n  %y = subf %s, %big : tile<64xf32>\n"
               "  %less = cmpf less_than ordered %y, %half : tile<64xf32> -> tile<64xi1>\n"
               "  %f = floor %y : tile<64xf32>\n"
               "  %i = ftoi %y signed : tile<64xf32> -> tile<64xi32>\n"
               "  %bits = bitcast %y : tile<64xf32> -> tile<64xi32>\n"
               "  %c = bitcast %bits : tile<64xi32> -> tile<64xf32>\n"
               "  %r = select %less, %c, %x : tile<64xi1>, tile<64xf32>\n");
    for (int i = 0; i < N; i++)
        a[i] = i < 10 ? 1.25F : 8; /* 1.25 is lost, 8 is not */
    if (!start(&m, text) || !go(&m, TV_F32, (void *const[]){a, b}, 2, 2))
        return;
    tv_vm_op_precision less = op_named(m.vm, "cmpf"), integer = op_named(m.vm, "ftoi");
    CHECK(less.decisions == 20 && less.elements == 0 && less.decided.block[0] == 0 && less.decided.element == 0);
    CHECK(less.decided.value == -0.5 && less.decided.exact == 0.75);
    CHECK(integer.decisions == 20 && integer.drops && op_named(m.vm, "floor").decisions == 20);
    CHECK(op_named(m.vm, "bitcast").drops && !less.drops);
    tv_vm_array_precision array = {0};
    CHECK(tv_vm_array_precision_at(m.vm, 0, &array) && array.error.worst == 0); /* the bits count as exact */
    stop(&m);
}

/* Tile blocks that add to one place, and what the next op reads there. */
static void check_updates(void)
{
    char text[6000];
    float a[N], b[N] = {0};
    machine m;
    tv_vm_array_precision array = {0};
    put_kernel(text, sizeof text, "f32",
               "  %m = constant <i1: true> : tile<64xi1>\n  %i = iota : tile<64xi32>\n"
               "  %seven = constant <f32: 7.0> : tile<64xf32>\n"
               "  %y = divf %x, %seven : tile<64xf32>\n"
               "  %b1 = reshape %b : tile<ptr<f32>> -> tile<1xptr<f32>>\n"
               "  %b64 = broadcast %b1 : tile<1xptr<f32>> -> tile<64xptr<f32>>\n"
               "  %old, %t2 = atomic_rmw_tko relaxed device %b64, addf, %y : tile<64xptr<f32>>, tile<64xf32> ->"
               " tile<64xf32>, token\n"
               "  %bo = offset %b64, %i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>\n"
               "  %r, %t3 = load_ptr_tko weak %bo token=%t2 : tile<64xptr<f32>> -> tile<64xf32>, token\n");
    for (int i = 0; i < N; i++)
        a[i] = 1 + (float)i;
    if (!start(&m, text) || !go(&m, TV_F32, (void *const[]){a, b}, 2, 3))
        return;
    long double exact = 3 * (long double)(N * (N + 1) / 2) / 7;
    CHECK(tv_vm_array_precision_at(m.vm, 0, &array));
    CHECK_MSG(fabs(array.error.exact - (double)exact) < 1e-12 * (double)exact, "%.17g", array.error.exact);
    double error = ulps(b[0], exact, 23, -126);
    CHECK_MSG(array.index[0] == 0 && fabs(array.error.worst - error) <= 1e-6 * error, "%lld: %.17g, expected %.17g",
              (long long)array.index[0], array.error.worst, error);
    CHECK(op_named(m.vm, "atomic_rmw_tko").elements == 3 * N);
    stop(&m);
}

static void check_usage(void)
{
    const tv_vm_options both = {.precision = true, .checks = TV_CHECK_ALL};
    char text[6000];
    machine m;
    tv_vm *vm;
    tv_vm_op_precision op;
    tv_vm_array_precision array;
    put_kernel(text, sizeof text, "f32", "  %r = negf %x : tile<64xf32>\n");
    if (!start(&m, text))
        return;
    CHECK(!tv_vm_op_precision_at(m.vm, 0, &op) && !tv_vm_array_precision_at(m.vm, 0, &array));
    CHECK(tv_vm_new(m.module, &both, sink, &vm) == TV_USAGE && strstr(said, "not both"));
    stop(&m);
}

int main(void)
{
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        check_map(i);
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        check_move(i);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        check_sum(i);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        check_loss(i);
    check_f16();
    check_f64();
    check_decisions();
    check_updates();
    check_usage();
    return TEST_END("precision");
}
