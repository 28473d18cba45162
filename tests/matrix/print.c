/* The text of print_tko and assert: every element type, rank and conversion, put together here with the C library. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/matrix/exact.h"
#include "tests/matrix/parts.h"

/* ---- one element as device printf gets it: operation references, section 10 ---- */

static bool is_wide(bc_kind kind)
{
    return kind == BC_I64;
}

/* conversion has the length that fits the kind, as cuTile writes it: ll for i64. */
static void put_element(bc_text *out, const char *conversion, bc_kind kind, uint64_t x)
{
    char text[400], letter = conversion[strlen(conversion) - 1];
    unsigned width = exact_bits(kind);
    bool grows = kind == BC_I8 || kind == BC_I16 || kind == BC_I32; /* i1 and i4 are not made signed */
    int64_t number = grows ? exact_signed(x, width) : (int64_t)x;
    if (kind == BC_PTR)
        snprintf(text, sizeof text, x ? "0x%llx" : "(nil)", (unsigned long long)x);
    else if (exact_is_float(kind))
        snprintf(text, sizeof text, conversion, exact_is_nan(kind, x) ? (double)NAN : (double)exact_value(kind, x));
    else if (is_wide(kind) && strchr("di", letter))
        snprintf(text, sizeof text, conversion, (long long)x);
    else if (is_wide(kind))
        snprintf(text, sizeof text, conversion, (unsigned long long)x);
    else if (strchr("dic", letter))
        snprintf(text, sizeof text, conversion, (int)number);
    else
        snprintf(text, sizeof text, conversion, (unsigned)number);
    bc_text_puts(out, text);
}

static void put_tile(bc_text *out, const char *conversion, bc_kind kind, mx_shape shape, const uint64_t *x)
{
    size_t n = mx_count(shape);
    for (size_t i = 0; i < n; i++) {
        size_t block = 1;
        for (unsigned d = shape.rank, opened = 0; d-- > 0;) {
            block *= shape.dim[d];
            opened += i % block == 0;
            if (d == 0) {
                if (i)
                    bc_text_puts(out, ", ");
                for (unsigned k = 0; k < opened; k++)
                    bc_text_char(out, '[');
            }
        }
        put_element(out, conversion, kind, x[i]);
        block = 1;
        for (unsigned d = shape.rank; d-- > 0;) {
            block *= shape.dim[d];
            if ((i + 1) % block == 0)
                bc_text_char(out, ']');
        }
    }
}

/* ---- print_tko ---- */

static void escape(bc_text *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '\n')
            bc_text_puts(out, "\\n");
        else
            bc_text_char(out, *s);
    }
}

static void print_case(mx_report *r, const char *conversion, bc_kind kind, mx_shape shape, uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    bc_text want, format;
    uint64_t x[256];
    size_t n = mx_count(shape);
    for (size_t i = 0; i < n; i++) {
        x[i] = mx_sample(kind, seed + i);
        if (conversion[strlen(conversion) - 1] == 'c')
            x[i] = 'A' + i % 26;
        if (mx_is_gpu() && exact_is_float(kind)
            && exact_is_nan(kind, x[i])) /* a GPU shows the sign of a NaN, we do not */
            x[i] &= ~((uint64_t)1 << (exact_bits(kind) - 1));
    }
    bc_text_init(&want, NULL);
    bc_text_init(&format, NULL);
    bc_text_printf(&format, "100%%%% of %s|\n", conversion);
    bc_text_puts(&want, "100% of ");
    put_tile(&want, conversion, kind, shape, x);
    bc_text_puts(&want, "|\n");
    mx_begin(&k);
    unsigned v = mx_load(&k, mx_input(&k, kind, x, n), shape, seed % 2 ? MX_PLAIN : MX_PERMUTED);
    bc_text_puts(&k.body, "  %printed = print_tko \"");
    escape(&k.body, bc_text_get(&format).ptr);
    bc_text_printf(&k.body, "\", %%v%u : %s -> token\n", v, mx_tile(shape, kind));
    tv_status status = mx_run(&k, NULL);
    tv_str got = bc_text_get(&k.output), expected = bc_text_get(&want);
    if (status == TV_OK && bc_str_eq(got, expected))
        mx_pass(r);
    else
        mx_fail(r, &k, "print %s of %s: status %d\n  got      %.*s  expected %.*s", conversion, mx_tile(shape, kind),
                (int)status, (int)got.len, got.len ? got.ptr : "", (int)expected.len, expected.ptr);
    bc_text_release(&want);
    bc_text_release(&format);
    mx_end(&k);
}

/* No letter fits in a bit or four, and one half byte is no tile of f4. */
static bool prints_well(const char *conversion, bc_kind kind, mx_shape shape)
{
    return (exact_bits(kind) >= 8 || !strchr(conversion, 'c')) && (kind != BC_F4E2M1FN || mx_count(shape) > 1);
}

static void prints(mx_report *r, mx_effort effort)
{
    static const char *const ints[] = {"%d",   "%i",  "%u",  "%x",   "%X",   "%o", "%5d",
                                       "%-7d", "%+d", "%#x", "%08d", "%.3d", "%c", "% d"};
    static const char *const wides[] = {"%lld", "%lli", "%llu", "%llx", "%20lld", "%-22llu", "%#llo", "%ld", "%lu"};
    static const char *const floats[] = {"%f",     "%e",      "%g",  "%a",   "%F",  "%E",      "%G",  "%A",
                                         "%10.3f", "%-12.4e", "%+g", "%.0f", "%#g", "%012.5f", "%lf", "% f"};
    static const char *const pointers[] = {"%p"};
    for (int kind = 0; kind < BC_KIND_COUNT; kind++) {
        bool is_float = exact_is_float((bc_kind)kind), is_int = bc_kinds[kind].kind_class == BC_CLASS_INTEGER;
        const char *const *conversions = is_float ? floats : is_wide((bc_kind)kind) ? wides : is_int ? ints : pointers;
        size_t count = is_float                 ? TV_COUNT(floats)
                       : is_wide((bc_kind)kind) ? TV_COUNT(wides)
                       : is_int                 ? TV_COUNT(ints)
                                                : 1;
        if (!is_float && !is_int && kind != BC_PTR)
            continue;
        for (size_t c = 0; c < count; c++)
            for (size_t s = 0; s < mx_shape_count; s++)
                if (prints_well(conversions[c], (bc_kind)kind, mx_shapes[s]) && (!effort.quick || (c + s) % 6 == 0))
                    print_case(r, conversions[c], (bc_kind)kind, mx_shapes[s], c * 20 + s);
    }
}

/* Formats whose text does not depend on the machine, written out. */
static void fixed_prints(mx_report *r)
{
    static const struct {
        const char *format, *want;
    } rows[] = {{"plain\n", "plain\n"},
                {"%d and %f, %x\n", "-7 and 2.500000, fffffff9\n"},
                {"%% %d %%%f%% %i\n", "% -7 %2.500000% -7\n"},
                {"no newline %d %f %u", "no newline -7 2.500000 4294967289"},
                {"[%6d] [%-6.1f] [%06d]\n", "[    -7] [2.5   ] [-00007]\n"}};
    for (size_t i = 0; i < TV_COUNT(rows); i++) {
        if (!mx_is_turn(r))
            continue;
        mx_kernel k;
        mx_begin(&k);
        mx_op(&k, "%%i = constant <i32: -7> : tile<i32>");
        mx_op(&k, "%%f = constant <f32: 2.5> : tile<f32>");
        bc_text_puts(&k.body, "  %t = print_tko \"");
        escape(&k.body, rows[i].format);
        bc_text_puts(&k.body, i ? "\", %i, %f, %i : tile<i32>, tile<f32>, tile<i32> -> token\n" : "\" -> token\n");
        tv_status status = mx_run(&k, NULL);
        if (status == TV_OK && bc_str_is(bc_text_get(&k.output), rows[i].want))
            mx_pass(r);
        else
            mx_fail(r, &k, "print \"%s\": status %d", rows[i].format, (int)status);
        mx_end(&k);
    }
}

/* ---- assert ---- */

static void assert_case(mx_report *r, mx_shape shape, uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    bc_text want;
    uint64_t x[256];
    size_t n = mx_count(shape), wrong = 0;
    bc_text_init(&want, NULL);
    for (size_t i = 0; i < n; i++) {
        x[i] = seed % 4 == 0 || mx_random(seed + i) % 3 != 0;
        wrong += !x[i];
        if (x[i])
            continue;
        bc_text_puts(&want, "(unknown):0: tile block: [0, 0, 0], position: [");
        for (unsigned d = 0; d < shape.rank; d++) {
            size_t below = 1;
            for (unsigned e = d + 1; e < shape.rank; e++)
                below *= shape.dim[e];
            bc_text_printf(&want, "%s%zu", d ? ", " : "", i / below % shape.dim[d]);
        }
        bc_text_puts(&want, "]: not so\n");
    }
    mx_begin(&k);
    unsigned v = mx_load(&k, mx_input(&k, BC_I1, x, n), shape, MX_PERMUTED);
    mx_op(&k, "assert %%v%u, \"not so\" : %s", v, mx_tile(shape, BC_I1));
    tv_status status = mx_run(&k, NULL);
    tv_str got = bc_text_get(&k.output), expected = bc_text_get(&want);
    if (status == (wrong ? TV_TRAP : TV_OK) && (got.len == expected.len) && bc_str_eq(got, expected))
        mx_pass(r);
    else
        mx_fail(r, &k, "assert of %s: status %d\n  got %.*s", mx_tile(shape, BC_I1), (int)status, (int)got.len,
                got.len ? got.ptr : "");
    bc_text_release(&want);
    mx_end(&k);
}

void mx_print(mx_report *r, mx_effort effort)
{
    prints(r, effort);
    fixed_prints(r);
    for (size_t s = 0; s < mx_shape_count; s++) /* on a GPU each of them costs a context */
        for (uint64_t seed = 0; seed < (mx_is_gpu() ? 1 : 6); seed++)
            assert_case(r, mx_shapes[s], seed);
}
