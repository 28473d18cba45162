/* Checks of operands against arithmetic in wider integers: every pair of i8, and every f16 that becomes an integer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/base/text.h"
#include "tests/unit/test.h"

typedef bool wrong_fn(int a, int b);

/* a and b are the patterns, 0 to 255. */
static int s(int x)
{
    return x < 128 ? x : x - 256;
}
static bool outside(int x)
{
    return x < -128 || x > 127;
}
static bool add_signed(int a, int b)
{
    return outside(s(a) + s(b));
}
static bool add_unsigned(int a, int b)
{
    return a + b > 255;
}
static bool sub_signed(int a, int b)
{
    return outside(s(a) - s(b));
}
static bool sub_unsigned(int a, int b)
{
    return a - b < 0;
}
static bool mul_signed(int a, int b)
{
    return outside(s(a) * s(b));
}
static bool mul_unsigned(int a, int b)
{
    return a * b > 255;
}
static bool shl_signed(int a, int b)
{
    return b < 8 && outside(s(a) * (1 << b));
}
static bool shl_unsigned(int a, int b)
{
    return b < 8 && a * (1 << b) > 255;
}
static bool too_far(int a, int b)
{
    (void)a;
    return b >= 8;
}
static bool by_zero(int a, int b)
{
    (void)a;
    return b == 0;
}
static bool quotient(int a, int b)
{
    return s(b) == -1 && s(a) == -128;
}
static bool never(int a, int b)
{
    (void)a;
    (void)b;
    return false;
}

typedef struct binary_case {
    const char *op; /* between "%r =" and ": tile" */
    const char *rule;
    wrong_fn *wrong;
} binary_case;

static const binary_case binary_cases[] = {
    {"addi %i, %c overflow<no_signed_wrap>", "X-OVF-01", add_signed},
    {"addi %i, %c overflow<no_unsigned_wrap>", "X-OVF-02", add_unsigned},
    {"addi %i, %c overflow<no_wrap>", "X-OVF-01", add_signed},
    {"addi %i, %c overflow<no_wrap>", "X-OVF-02", add_unsigned},
    {"addi %i, %c", "X-OVF-01", never},
    {"subi %i, %c overflow<no_signed_wrap>", "X-OVF-01", sub_signed},
    {"subi %i, %c overflow<no_unsigned_wrap>", "X-OVF-02", sub_unsigned},
    {"muli %i, %c overflow<no_signed_wrap>", "X-OVF-01", mul_signed},
    {"muli %i, %c overflow<no_unsigned_wrap>", "X-OVF-02", mul_unsigned},
    {"shli %i, %c overflow<no_signed_wrap>", "X-OVF-01", shl_signed},
    {"shli %i, %c overflow<no_unsigned_wrap>", "X-OVF-02", shl_unsigned},
    {"shli %i, %c", "X-SHF-01", too_far},
    {"shri %i, %c signed", "X-SHF-01", too_far},
    {"shri %i, %c unsigned", "X-SHF-01", too_far},
    {"divi %i, %c signed", "X-DIV-01", by_zero},
    {"divi %i, %c signed", "X-DIV-02", quotient},
    {"divi %i, %c unsigned", "X-DIV-01", by_zero},
    {"divi %i, %c unsigned", "X-DIV-02", never},
    {"remi %i, %c signed", "X-DIV-01", by_zero},
    {"remi %i, %c signed", "X-DIV-02", quotient},
};

/* ---- running ---- */

typedef struct counter {
    const char *rule;
    unsigned long elements;
    bool failed; /* something else was reported */
} counter;

/* "..., for N of M elements"; without it, 1. */
static void count(void *user, const tv_diag *d)
{
    counter *c = user;
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)d->message.len, d->message.ptr);
    const char *at = strstr(text, ", for ");
    if (d->rule[0] != 'X' || d->rule[2] == 'R')
        c->failed = true;
    if (strcmp(d->rule, c->rule) == 0)
        c->elements = at ? strtoul(at + 6, NULL, 10) : 1;
}

static tv_module *parse(const char *text, unsigned minor)
{
    tv_module *m = NULL;
    tv_sink none = {NULL, NULL};
    CHECK_MSG(tv_module_parse(text, strlen(text), minor, NULL, none, &m) == TV_OK, "%s", text);
    if (m && tv_module_verify(m, NULL, none) != TV_OK) {
        CHECK_MSG(false, "%s", text);
        tv_module_close(m);
        m = NULL;
    }
    return m;
}

static unsigned long run(tv_vm *vm, const void *param, const char *rule)
{
    counter c = {rule, 0, false};
    const void *params[] = {param};
    tv_status status = tv_vm_run(vm, "k", (const uint32_t[]){1, 1, 1}, params, 1, (tv_sink){&c, count});
    CHECK_MSG(!c.failed && (status == TV_OK || status == TV_INVALID), "%s: %d", rule, (int)status);
    return c.elements;
}

static tv_vm *machine(const tv_module *m)
{
    tv_vm *vm = NULL;
    tv_sink none = {NULL, NULL};
    CHECK(tv_vm_new(m, &(tv_vm_options){.checks = TV_CHECK_VALUES}, none, &vm) == TV_OK);
    return vm;
}

static void check_binary(const binary_case *k)
{
    char text[1024];
    snprintf(text, sizeof text,
             "entry @k(%%b: tile<i8>) {\n"
             "  %%i = iota : tile<256xi8>\n"
             "  %%d = reshape %%b : tile<i8> -> tile<1xi8>\n"
             "  %%c = broadcast %%d : tile<1xi8> -> tile<256xi8>\n"
             "  %%r = %s : tile<256xi8>\n"
             "  return\n"
             "}\n",
             k->op);
    tv_module *m = parse(text, 0);
    tv_vm *vm = m ? machine(m) : NULL;
    for (int b = 0; b < 256 && vm; b++) {
        uint8_t param = (uint8_t)b;
        unsigned long want = 0, got = run(vm, &param, k->rule);
        for (int a = 0; a < 256; a++)
            want += k->wrong(a, b);
        CHECK_MSG(got == want, "%s, %s, %d: %lu elements, expected %lu", k->op, k->rule, b, got, want);
    }
    tv_vm_free(vm);
    if (m)
        tv_module_close(m);
}

/* ---- conversions ---- */

static double f16_value(unsigned bits)
{
    unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
    double x = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + fraction, (int)exponent - 25)
                              : ldexp(fraction, -24);
    return bits >> 15 ? -x : x;
}

static void check_ftoi(unsigned width, bool is_signed, bool saturating)
{
    char text[1024];
    double low = is_signed ? -ldexp(1, (int)width - 1) : 0, high = ldexp(1, (int)width - is_signed) - 1;
    unsigned long want = 0;
    for (unsigned bits = 0; bits < 65536; bits++) {
        double x = trunc(f16_value(bits));
        want += !saturating && !(x >= low && x <= high);
    }
    snprintf(text, sizeof text,
             "entry @k(%%b: tile<i8>) {\n"
             "  %%i = iota : tile<65536xi16>\n"
             "  %%x = bitcast %%i : tile<65536xi16> -> tile<65536xf16>\n"
             "  %%r = ftoi %%x %s%s : tile<65536xf16> -> tile<65536xi%u>\n"
             "  return\n"
             "}\n",
             is_signed ? "signed" : "unsigned", saturating ? " saturating" : "", width);
    tv_module *m = parse(text, 4);
    tv_vm *vm = m ? machine(m) : NULL;
    uint8_t param = 0;
    unsigned long got = vm ? run(vm, &param, "X-CVT-01") : 0;
    CHECK_MSG(got == want, "i%u %d %d: %lu elements, expected %lu", width, is_signed, saturating, got, want);
    tv_vm_free(vm);
    if (m)
        tv_module_close(m);
}

int main(void)
{
    for (size_t i = 0; i < sizeof binary_cases / sizeof *binary_cases; i++)
        check_binary(&binary_cases[i]);
    for (unsigned width = 8; width <= 64; width *= 2)
        for (unsigned form = 0; form < 4; form++)
            check_ftoi(width, form & 1, form & 2);
    return TEST_END("check_values");
}
