/* mmaf, mmai and mmaf_scaled in every legal combination of types, bit by bit in the order that vm/op/mma.c documents.
   Compiled code has integers, f32 and f64 the same; others within the bounds of docs/reference/numerics.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/matrix/exact.h"
#include "tests/matrix/parts.h"

typedef struct mma_shape {
    uint32_t batch, m, n, k; /* batch 0: rank 2 */
} mma_shape;

static const mma_shape shapes[] = {{0, 1, 1, 1},   {0, 2, 4, 8},    {0, 16, 16, 32}, {0, 1, 32, 4},
                                   {0, 32, 1, 16}, {0, 8, 64, 2},   {2, 4, 8, 16},   {1, 16, 2, 4},
                                   {4, 2, 2, 64},  {0, 64, 16, 16}, {2, 16, 32, 64}, {2, 64, 16, 32}};

/* For scales by tcgen05, which multiplies 128 rows at a time. */
static const mma_shape scaled_shapes[] = {{0, 128, 16, 64}, {2, 128, 32, 64}, {0, 128, 64, 128}};

/* One mma: two factors, an accumulator, and scales for each factor where blocks of k have them. */
typedef struct mma_case {
    mx_kernel k;
    bc_kind in, acc, scale;
    bool is_scaled, is_int, lhs_signed, rhs_signed, fast;
    uint32_t block; /* elements of k that share a scale */
    mma_shape s;
    uint64_t *lhs, *rhs, *start, *lhs_scale, *rhs_scale;
    exact *x, *y; /* floats: the factors, times their scales */
} mma_case;

static mx_shape matrix(const mma_case *c, uint32_t rows, uint32_t columns)
{
    if (c->s.batch)
        return (mx_shape){3, {c->s.batch, rows, columns}};
    return (mx_shape){2, {rows, columns}};
}

static uint64_t *make(bc_kind kind, size_t n, uint64_t seed, bool tame)
{
    uint64_t *x = malloc((n + !n) * sizeof *x);
    if (!x)
        abort();
    for (size_t i = 0; i < n; i++) {
        x[i] = mx_sample(kind, seed + i);
        const exact_format *f = exact_format_of(kind);
        if (tame && f) { /* exponents near one, both signs */
            uint64_t r = mx_random(seed * 5 + i), bits;
            uint64_t field = (uint64_t)f->bias - (f->exponent > 2 ? 3 : 1) + r % (f->exponent > 2 ? 6 : 3);
            bits = field << f->mantissa | (mx_random(r) & exact_mask(f->mantissa));
            bits |= f->has_sign ? (r >> 32 & 1) << (f->exponent + f->mantissa) : 0;
            x[i] = kind == BC_TF32 ? bits << 13 : bits;
        }
    }
    return x;
}

/* Scales with exponents near one, none negative: what those would give is undefined. */
static uint64_t *make_scales(bc_kind kind, size_t n, uint64_t seed)
{
    uint64_t *x = make(kind, n, seed, true);
    const exact_format *f = exact_format_of(kind);
    for (size_t i = 0; i < n; i++)
        x[i] &= exact_mask(f->exponent + f->mantissa);
    return x;
}

/* ---- what must come out ---- */

/* A factor, times its scale. tf32 counts its upper 19 bits. */
static void factor(const mma_case *c, uint64_t x, const uint64_t *scale, exact *out)
{
    exact value, s;
    exact_of_float(c->is_scaled ? &value : out, c->in, c->in == BC_TF32 ? x & ~(uint64_t)0x1FFF : x);
    if (!c->is_scaled)
        return;
    exact_of_float(&s, c->scale, *scale);
    exact_mul(out, &value, &s);
}

static exact *new_factors(size_t n)
{
    exact *x = malloc(n * sizeof *x);
    if (!x)
        abort();
    return x;
}

static void make_factors(mma_case *c, uint32_t batch, uint32_t blocks)
{
    const mma_shape *s = &c->s;
    c->x = new_factors((size_t)batch * s->m * s->k);
    c->y = new_factors((size_t)batch * s->k * s->n);
    for (size_t row = 0; row < (size_t)batch * s->m; row++)
        for (uint32_t k = 0; k < s->k; k++)
            factor(c, c->lhs[row * s->k + k], c->is_scaled ? &c->lhs_scale[row * blocks + k / c->block] : NULL,
                   &c->x[row * s->k + k]);
    for (uint32_t b = 0; b < batch; b++)
        for (size_t k = 0; k < s->k; k++)
            for (uint32_t j = 0; j < s->n; j++)
                factor(c, c->rhs[(b * s->k + k) * s->n + j],
                       c->is_scaled ? &c->rhs_scale[((size_t)b * blocks + k / c->block) * s->n + j] : NULL,
                       &c->y[(b * s->k + k) * s->n + j]);
}

/* Sums are fused: from zero on, the accumulator last (f32), or from the accumulator on, in f32, or in f64 for f64 and
   scaled factors. */
static uint64_t expect_float(const mma_case *c, uint32_t b, uint32_t i, uint32_t j)
{
    const mma_shape *s = &c->s;
    bool last = c->in == BC_F32;
    bc_kind work = c->is_scaled || c->in == BC_F64 ? BC_F64 : BC_F32;
    uint64_t first = c->start[((size_t)b * s->m + i) * s->n + j];
    exact sum, start, product, next;
    if (last)
        exact_of_int(&sum, 0, 32, false);
    else
        exact_of_float(&sum, c->acc, first);
    for (size_t k = 0; k < s->k; k++) {
        exact_mul(&product, &c->x[((size_t)b * s->m + i) * s->k + k], &c->y[(b * s->k + k) * s->n + j]);
        exact_add(&next, &sum, &product, false);
        exact_of_float(&sum, work, exact_round(work, &next, BC_RoundingMode_nearest_even));
    }
    if (!last)
        return exact_round(c->acc, &sum, BC_RoundingMode_nearest_even);
    exact_of_float(&start, c->acc, first);
    exact_add(&next, &sum, &start, false);
    return exact_round(c->acc, &next, BC_RoundingMode_nearest_even);
}

/* Types whose sums the instructions of a GPU form in their own way. */
static bool is_rounded_freely(const mma_case *c)
{
    return mx_is_ptx() && !c->is_int && c->in != BC_F32 && c->in != BC_F64;
}

/* Whether a result is as near to the sum of the products as docs/reference/numerics.md says: k + 1 steps, each off by a
   unit in the last place of the sum of all magnitudes. What has no finite sum, or none that any order keeps finite, is
   not looked at. */
static bool is_near(const mma_case *c, uint32_t b, uint32_t i, uint32_t j, uint64_t result)
{
    const mma_shape *s = &c->s;
    const exact_format *f = exact_format_of(c->acc);
    long double sum = exact_value(c->acc, c->start[((size_t)b * s->m + i) * s->n + j]), all = fabsl(sum);
    uint32_t blocks = c->is_scaled ? s->k / c->block : 0;
    for (uint32_t k = 0; k < s->k; k++) {
        uint64_t x = c->lhs[((size_t)b * s->m + i) * s->k + k], y = c->rhs[((size_t)b * s->k + k) * s->n + j];
        long double product = exact_value(c->in, x) * exact_value(c->in, y);
        if (c->is_scaled)
            product *= exact_value(c->scale, c->lhs_scale[((size_t)b * s->m + i) * blocks + k / c->block])
                       * exact_value(c->scale, c->rhs_scale[((size_t)b * blocks + k / c->block) * s->n + j]);
        sum += product;
        all += fabsl(product);
    }
    if (!(all < exact_value(c->acc, f->max_finite) / 2))
        return true;
    /* the smallest normal number: units may take subnormal ones for zero */
    long double least = ldexpl(1, 1 - (int)f->bias), unit = ldexpl(1, 1 - (int)f->mantissa);
    return fabsl(exact_value(c->acc, result) - sum) <= (s->k + 1) * (unit * all + least);
}

static uint64_t expect_int(const mma_case *c, uint32_t b, uint32_t i, uint32_t j)
{
    const mma_shape *s = &c->s;
    uint64_t sum = c->start[((size_t)b * s->m + i) * s->n + j];
    for (uint32_t k = 0; k < s->k; k++) {
        uint64_t x = c->lhs[((size_t)b * s->m + i) * s->k + k], y = c->rhs[((size_t)b * s->k + k) * s->n + j];
        sum += (c->lhs_signed ? (uint64_t)exact_signed(x, 8) : x) * (c->rhs_signed ? (uint64_t)exact_signed(y, 8) : y);
    }
    return sum & UINT32_MAX;
}

/* ---- a case ---- */

static unsigned operand(mma_case *c, bc_kind kind, uint32_t rows, uint32_t columns, const uint64_t *x, mx_form form)
{
    mx_shape shape = matrix(c, rows, columns);
    return mx_load(&c->k, mx_input(&c->k, kind, x, mx_count(shape)), shape, form);
}

static void put_op(mma_case *c, const unsigned *v, unsigned result)
{
    const mma_shape *s = &c->s;
    char lhs[96], rhs[96], acc[96];
    snprintf(lhs, sizeof lhs, "%s", mx_tile(matrix(c, s->m, s->k), c->in));
    snprintf(rhs, sizeof rhs, "%s", mx_tile(matrix(c, s->k, s->n), c->in));
    snprintf(acc, sizeof acc, "%s", mx_tile(matrix(c, s->m, s->n), c->acc));
    if (c->is_scaled)
        mx_op(&c->k, "%%v%u = mmaf_scaled %%v%u, %%v%u, %%v%u, %%v%u, %%v%u : %s, %s, %s, %s, %s", result, v[0], v[1],
              v[2], v[3], v[4], lhs, rhs, acc, mx_tile(matrix(c, s->m, s->k / c->block), c->scale),
              mx_tile(matrix(c, s->k / c->block, s->n), c->scale));
    else if (c->is_int)
        mx_op(&c->k, "%%v%u = mmai %%v%u, %%v%u, %%v%u %s %s : %s, %s, %s", result, v[0], v[1], v[2],
              c->lhs_signed ? "signed" : "unsigned", c->rhs_signed ? "signed" : "unsigned", lhs, rhs, acc);
    else
        mx_op(&c->k, "%%v%u = mmaf %%v%u, %%v%u, %%v%u%s : %s, %s, %s", result, v[0], v[1], v[2],
              c->fast ? " fast_acc" : "", lhs, rhs, acc);
}

static bool is_right(const mma_case *c, uint32_t b, uint32_t i, uint32_t j, uint64_t result)
{
    if (is_rounded_freely(c))
        return is_near(c, b, i, j, result);
    return mx_same(c->acc, result, c->is_int ? expect_int(c, b, i, j) : expect_float(c, b, i, j));
}

static void run_case(mx_report *r, mma_case *c, uint64_t seed)
{
    if (!mx_is_turn(r))
        return;
    const mma_shape *s = &c->s;
    uint32_t batch = s->batch ? s->batch : 1, blocks = c->is_scaled ? s->k / c->block : 0;
    size_t bad = 0;
    bool tame = seed % 4 != 0, half = c->in == BC_F4E2M1FN;
    mx_form form = !half && seed % 3 == 0 ? MX_PERMUTED : !half && seed % 3 == 1 ? MX_VIEW : MX_PLAIN;
    c->lhs = make(c->in, (size_t)batch * s->m * s->k, seed, tame);
    c->rhs = make(c->in, (size_t)batch * s->k * s->n, seed + 10000, tame);
    c->start = make(c->acc, (size_t)batch * s->m * s->n, seed + 20000, tame);
    c->lhs_scale = make_scales(c->scale, (size_t)batch * s->m * blocks, seed + 30000);
    c->rhs_scale = make_scales(c->scale, (size_t)batch * blocks * s->n, seed + 40000);
    mx_begin(&c->k);
    unsigned v[5] = {0};
    v[0] = operand(c, c->in, s->m, s->k, c->lhs, form);
    v[1] = operand(c, c->in, s->k, s->n, c->rhs, form);
    v[2] = operand(c, c->acc, s->m, s->n, c->start, MX_PLAIN);
    if (c->is_scaled) {
        v[3] = operand(c, c->scale, s->m, blocks, c->lhs_scale, MX_PLAIN);
        v[4] = operand(c, c->scale, blocks, s->n, c->rhs_scale, MX_PLAIN);
    }
    unsigned result = mx_new(&c->k), out = mx_output(&c->k, c->acc, (size_t)batch * s->m * s->n);
    put_op(c, v, result);
    mx_store(&c->k, out, matrix(c, s->m, s->n), result);
    tv_status status = mx_run(&c->k, NULL);
    if (!c->is_int && !is_rounded_freely(c))
        make_factors(c, batch, blocks);
    for (uint32_t b = 0; b < batch && status == TV_OK; b++)
        for (uint32_t i = 0; i < s->m; i++)
            for (uint32_t j = 0; j < s->n; j++)
                bad += !is_right(c, b, i, j, mx_result(&c->k, out, ((size_t)b * s->m + i) * s->n + j));
    if (status == TV_OK && bad == 0)
        mx_pass(r);
    else
        mx_fail(r, &c->k, "mma %ux%ux%ux%u of %s into %s: status %d, %zu wrong", s->batch, s->m, s->n, s->k,
                mx_kind(c->in), mx_kind(c->acc), (int)status, bad);
    mx_end(&c->k);
    free(c->lhs);
    free(c->rhs);
    free(c->start);
    free(c->lhs_scale);
    free(c->rhs_scale);
    free(c->x);
    free(c->y);
    c->x = c->y = NULL;
}

/* The quick form takes one of them. */
static void scaled_by_tcgen05(mx_report *r, mma_case c, mx_effort effort)
{
    for (size_t i = 0; i < TV_COUNT(scaled_shapes); i++) {
        c.s = scaled_shapes[i];
        if (!effort.quick || i == 1)
            run_case(r, &c, 100 + i);
    }
}

static void every_shape(mx_report *r, mma_case c, mx_effort effort)
{
    for (size_t i = 0; i < TV_COUNT(shapes); i++) {
        c.s = shapes[i];
        if (c.is_scaled) {
            c.s.k = c.s.k < c.block ? c.block : c.s.k;
            c.s.m = c.s.m > 16 ? 16 : c.s.m;
        }
        if (!effort.quick || i % 4 == 1)
            for (uint64_t seed = 0; seed < (effort.quick ? 1u : 3u); seed++)
                run_case(r, &c, i * 5 + seed);
    }
}

void mx_mma(mx_report *r, mx_effort effort)
{
    static const struct {
        bc_kind in, acc;
    } floats[] = {{BC_F16, BC_F16},    {BC_F16, BC_F32},   {BC_BF16, BC_F32},     {BC_TF32, BC_F32},
                  {BC_F32, BC_F32},    {BC_F64, BC_F64},   {BC_F8E4M3FN, BC_F16}, {BC_F8E4M3FN, BC_F32},
                  {BC_F8E5M2, BC_F16}, {BC_F8E5M2, BC_F32}};
    static const struct {
        bc_kind in, scale;
        uint32_t block;
    } scaled[] = {{BC_F8E4M3FN, BC_F8E8M0FNU, 32},  {BC_F8E5M2, BC_F8E8M0FNU, 32},  {BC_F4E2M1FN, BC_F8E8M0FNU, 32},
                  {BC_F4E2M1FN, BC_F8E8M0FNU, 16},  {BC_F4E2M1FN, BC_F8E4M3FN, 16}, {BC_F4E2M1FN, BC_FNV8E5M3FNU, 16},
                  {BC_F4E2M1FN, BC_FNV8E5M3FNU, 32}};
    for (size_t i = 0; i < TV_COUNT(floats); i++)
        for (int fast = 0; fast < 2; fast++)
            every_shape(r, (mma_case){.in = floats[i].in, .acc = floats[i].acc, .scale = BC_F16, .fast = fast}, effort);
    for (int signs = 0; signs < 4; signs++)
        every_shape(r,
                    (mma_case){.in = BC_I8,
                               .acc = BC_I32,
                               .scale = BC_F16,
                               .is_int = true,
                               .lhs_signed = signs & 1,
                               .rhs_signed = signs >> 1},
                    effort);
    for (size_t i = 0; i < TV_COUNT(scaled); i++) {
        mma_case c = {
            .in = scaled[i].in, .acc = BC_F32, .scale = scaled[i].scale, .is_scaled = true, .block = scaled[i].block};
        every_shape(r, c, effort);
        scaled_by_tcgen05(r, c, effort);
    }
}
