#include "tests/matrix/map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of the op with its values and types. */
static void add_op(mx_kernel *k, const mx_map *map, mx_shape shape, const unsigned *values, unsigned result)
{
    bc_text_printf(&k->body, "  %%v%u = ", result);
    for (const char *p = map->text; *p; p++) {
        if (*p != '$' && *p != '#') {
            bc_text_char(&k->body, *p);
            continue;
        }
        bool is_value = *p++ == '$';
        if (is_value)
            bc_text_printf(&k->body, "%%v%u", values[*p - '0']);
        else
            bc_text_puts(&k->body, mx_tile(shape, *p == 'r' ? map->out : map->in[*p - '0']));
    }
    bc_text_char(&k->body, '\n');
}

/* The value of a function at elements, the second of which may be an integer. */
static long double apply(const mx_map *map, const uint64_t *x)
{
    long double v[2] = {0, 0};
    for (unsigned j = 0; j < map->operands; j++)
        v[j] = exact_is_float(map->in[j]) ? exact_value(map->in[j], map->flush ? exact_flush(map->in[j], x[j]) : x[j])
                                          : (long double)exact_signed(x[j], exact_bits(map->in[j]));
    return map->function(v[0], v[1]);
}

/* Distance of an element from what it must be; 0 is right and more than map->ulps wrong. */
static double distance(const mx_map *map, const uint64_t *x, uint64_t got, long double *out_want)
{
    if (!map->function) {
        uint64_t want = map->expected(map, x);
        *out_want = 0;
        if (mx_same(map->out, got, want))
            return 0;
        if (map->ulps <= 0)
            return HUGE_VAL;
        *out_want = exact_value(map->out, want);
        return exact_ulps(map->out, got, *out_want);
    }
    *out_want = apply(map, x);
    double d = exact_ulps(map->out, got, *out_want);
    bool zero = (got & 0x7FFFFFFF) == 0 && signbit(*out_want) == (got != 0);
    if (map->flush && fabsl(*out_want) <= 0x1p-126L) /* subnormal, or rounded to the smallest normal number */
        return zero || (d <= map->ulps && !exact_is_subnormal(map->out, got)) ? 0 : HUGE_VAL;
    if (*out_want == 0 && !mx_same(map->out, got, signbit(*out_want) ? (uint64_t)1 << (exact_bits(map->out) - 1) : 0))
        return HUGE_VAL; /* the other zero */
    return d;
}

static void compare(mx_report *r, const mx_kernel *k, const mx_map *map, const mx_map_run *run, unsigned output)
{
    size_t n = mx_count(run->shape), total = n * run->blocks, bad = 0;
    double worst = 0;
    for (size_t i = 0; i < total; i++) {
        uint64_t x[3] = {0}, got = mx_result(k, output, i);
        long double want;
        for (unsigned j = 0; j < map->operands; j++)
            x[j] = k->buffers[j].patterns[i / n * n + mx_source(run->form[j], run->shape, i % n)];
        if (map->undefined && mx_is_ptx() && map->undefined(map, x))
            continue;
        double far = distance(map, x, got, &want);
        worst = far > worst ? far : worst;
        if (far <= map->ulps || bad++ > 0)
            continue;
        mx_fail(r, k, "%s (%s): element %zu of (0x%llx, 0x%llx, 0x%llx) is 0x%llx", map->text,
                mx_tile(run->shape, map->in[0]), i, (unsigned long long)x[0], (unsigned long long)x[1],
                (unsigned long long)x[2], (unsigned long long)got);
        if (map->function)
            printf("    expected %.21Lg: %.3g ulp\n", want, far);
        else
            printf("    expected 0x%llx\n", (unsigned long long)map->expected(map, x));
    }
    if (run->worst && worst > *run->worst)
        *run->worst = worst;
    if (bad == 0)
        mx_pass(r);
}

void mx_map_check(mx_report *r, const mx_map *map, const mx_map_run *run)
{
    if (!mx_is_turn(r))
        return;
    mx_kernel k;
    size_t n = mx_count(run->shape), total = n * run->blocks;
    unsigned values[3] = {0}, result;
    uint64_t *inputs = malloc(3 * total * sizeof *inputs);
    if (!inputs)
        abort();
    mx_begin(&k);
    k.grid[0] = run->blocks;
    for (size_t i = 0; i < total; i++) {
        uint64_t x[3] = {0};
        (run->make ? run->make : mx_map_make)(map, run->seed + i, x);
        for (unsigned j = 0; j < 3; j++)
            inputs[j * total + i] = x[j];
    }
    for (unsigned j = 0; j < map->operands; j++)
        mx_input(&k, map->in[j], inputs + j * total, total);
    unsigned output = mx_output(&k, map->out, total);
    for (unsigned j = 0; j < map->operands; j++)
        values[j] = mx_load(&k, j, run->shape, run->form[j]);
    result = mx_new(&k);
    add_op(&k, map, run->shape, values, result);
    mx_store(&k, output, run->shape, result);
    tv_status status = mx_run(&k, NULL);
    if (status == TV_OK)
        compare(r, &k, map, run, output);
    else
        mx_fail(r, &k, "%s (%s) ends with status %d", map->text, mx_tile(run->shape, map->in[0]), (int)status);
    mx_end(&k);
    free(inputs);
}

static bool is_half_byte(bc_kind kind)
{
    return kind == BC_I4 || kind == BC_F4E2M1FN;
}

static bool has_half_bytes(const mx_map *map)
{
    for (unsigned j = 0; j < map->operands; j++)
        if (is_half_byte(map->in[j]))
            return true;
    return is_half_byte(map->out);
}

/* f4 has no tiles of one element. */
static bool shape_is_legal(const mx_map *map, mx_shape shape)
{
    for (unsigned j = 0; j <= map->operands; j++)
        if ((j < map->operands ? map->in[j] : map->out) == BC_F4E2M1FN && mx_count(shape) < 2)
            return false;
    return true;
}

static bool form_is_legal(bc_kind kind, mx_form form, uint32_t blocks)
{
    if (form == MX_CONSTANT)
        return blocks == 1 && kind != BC_I4 && kind != BC_PTR;
    return !is_half_byte(kind) || form == MX_PLAIN || form == MX_VIEW || form == MX_PERMUTED;
}

static mx_form form_of(bc_kind kind, uint32_t blocks, uint64_t seed)
{
    mx_form form = (mx_form)(mx_random(seed) % MX_FORMS);
    return form_is_legal(kind, form, blocks) ? form : MX_PLAIN;
}

void mx_map_shapes(mx_report *r, const mx_map *map, mx_effort effort, uint64_t seed)
{
    static const mx_shape large = {3, {4, 16, 64}}; /* more than the machine has in hand at a time */
    for (size_t i = 0; i <= mx_shape_count; i++) {
        mx_shape shape = i < mx_shape_count ? mx_shapes[i] : large;
        seed = mx_random(seed + i);
        if (!shape_is_legal(map, shape) || (effort.quick && seed % 6 != 0))
            continue;
        mx_map_run run = {.shape = shape, .blocks = (uint32_t)(seed % 3 + 1), .seed = seed};
        if (has_half_bytes(map) && mx_count(run.shape) == 1)
            run.blocks = 1; /* the second block's element would be half a byte away */
        for (unsigned j = 0; j < 3; j++)
            run.form[j] = form_of(map->in[j], run.blocks, seed + j);
        mx_map_check(r, map, &run);
    }
}

static void make_pattern(const mx_map *map, uint64_t number, uint64_t *x)
{
    (void)map;
    x[0] = number;
}

void mx_map_deep(mx_report *r, const mx_map *map, uint64_t count, uint64_t seed)
{
    enum { BLOCK = 1024 };
    unsigned bits = exact_bits(map->in[0]);
    mx_map_run run = {.shape = mx_vector(BLOCK), .form = {MX_VIEW, MX_VIEW, MX_VIEW}, .seed = seed};
    if (map->operands == 1 && bits <= 16 && (uint64_t)1 << bits <= count) {
        run.make = make_pattern;
        run.seed = 0;
        run.shape = mx_vector(bits == 16 ? BLOCK : (size_t)1 << bits);
        run.blocks = bits == 16 ? 64 : 1;
    } else {
        run.blocks = (uint32_t)(count / BLOCK + 1);
    }
    mx_map_check(r, map, &run);
}

void mx_map_make(const mx_map *map, uint64_t number, uint64_t *x)
{
    uint64_t r = mx_random(number * 7 + 1);
    for (unsigned j = 0; j < 3; j++)
        x[j] = mx_sample(map->in[j], number * 3 + j);
    unsigned last = map->operands - 1, bits = exact_bits(map->in[0]);
    if (map->operands >= 2 && map->in[0] == map->in[last] && r % 6 == 0 && bits > 1)
        x[last] = (x[0] + (r >> 8) % 5 - 2) ^ (r >> 16 & 1) << (bits - 1);
    for (unsigned j = 0; j < 3; j++)
        x[j] &= exact_mask(exact_bits(map->in[j])) & (map->in[j] == BC_TF32 ? ~(uint64_t)0x1FFF : UINT64_MAX);
}
