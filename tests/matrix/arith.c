/* Arithmetic, comparisons and select, element by element. */
#include <stdio.h>
#include <string.h>

#include "tests/matrix/map.h"
#include "tests/matrix/parts.h"

static const bc_kind ints[] = {BC_I1, BC_I8, BC_I16, BC_I32, BC_I64};
static const bc_kind floats[] = {BC_F16, BC_BF16, BC_F32, BC_F64};
static const char *const mode_names[] = {"nearest_even", "zero", "negative_inf", "positive_inf"};
static const char *const sign_names[] = {"unsigned", "signed"};

static void both(mx_report *r, const mx_map *map, mx_effort effort, uint64_t deep)
{
    uint64_t seed = mx_random(strlen(map->text) * 131 + (uint64_t)map->in[0] * 7 + (unsigned char)map->text[0]);
    mx_map_shapes(r, map, effort, seed);
    mx_map_deep(r, map, deep >> effort.shift, seed);
}

/* ---- integers: operation references, section 2 ---- */

enum { ADD, SUB, MUL, MULHI, DIV, REM, NEG, ABS, MAX, MIN, AND, OR, XOR, SHL, SHR, CMP };

/* Bit by bit, so that nothing is shared with the kernels: product mod 2^128 as two words. */
static void long_product(uint64_t x, uint64_t y, uint64_t *high, uint64_t *low)
{
    *high = *low = 0;
    for (int b = 63; b >= 0; b--) {
        *high = *high << 1 | *low >> 63;
        *low <<= 1;
        if (y >> b & 1) {
            *low += x;
            *high += *low < x;
        }
    }
}

/* floor(x / y) by subtraction of shifted divisors. */
static uint64_t long_quotient(uint64_t x, uint64_t y)
{
    uint64_t q = 0;
    for (int b = 63; b >= 0; b--)
        if (y <= x >> b) {
            x -= y << b;
            q |= (uint64_t)1 << b;
        }
    return q;
}

static uint64_t divide(const mx_map *m, uint64_t x, uint64_t y, unsigned width)
{
    uint64_t all = exact_mask(width), sign = (uint64_t)1 << (width - 1);
    bool minus_x = m->is_signed && (x & sign), minus_y = m->is_signed && (y & sign);
    uint64_t ax = minus_x ? (0 - x) & all : x, ay = minus_y ? (0 - y) & all : y;
    if (y == 0)
        return all; /* undefined; what a GPU gives for most types */
    uint64_t q = long_quotient(ax, ay), rest = ax - q * ay;
    if (m->what == REM)
        return (minus_x ? 0 - rest : rest) & all;
    bool minus = minus_x != minus_y;
    if (rest
        && ((m->mode == BC_RoundingMode_positive_inf && !minus) || (m->mode == BC_RoundingMode_negative_inf && minus)))
        q++;
    return (minus ? 0 - q : q) & all;
}

static uint64_t shift(const mx_map *m, uint64_t x, uint64_t y, unsigned width)
{
    uint64_t amount = width == 64 ? y & UINT32_MAX : y; /* a GPU looks at the low 32 bits */
    bool minus = m->what == SHR && m->is_signed && x >> (width - 1);
    for (uint64_t i = 0; i < amount && i < 64; i++) {
        if (m->what == SHL)
            x <<= 1;
        else
            x = x >> 1 | (minus ? (uint64_t)1 << (width - 1) : 0);
    }
    return x & exact_mask(width);
}

static bool holds(int predicate, int order)
{
    const bool table[6] = {order == 0, order != 0, order<0, order <= 0, order> 0, order >= 0};
    return table[predicate];
}

static int order_of_ints(const mx_map *m, uint64_t x, uint64_t y, unsigned width)
{
    if (m->is_signed) {
        int64_t sx = exact_signed(x, width), sy = exact_signed(y, width);
        return (sx > sy) - (sx < sy);
    }
    return (x > y) - (x < y);
}

static uint64_t expect_int(const mx_map *m, const uint64_t *v)
{
    unsigned width = exact_bits(m->in[0]);
    uint64_t x = v[0], y = v[1], high, low;
    switch (m->what) {
    case ADD: return (x + y) & exact_mask(width);
    case SUB: return (x - y) & exact_mask(width);
    case MUL: long_product(x, y, &high, &low); return low & exact_mask(width);
    case MULHI: long_product(x, y, &high, &low); return width == 64 ? high : low >> width & exact_mask(width);
    case DIV:
    case REM: return divide(m, x, y, width);
    case NEG: return (0 - x) & exact_mask(width);
    case ABS: return (x >> (width - 1) ? 0 - x : x) & exact_mask(width);
    case MAX: return order_of_ints(m, x, y, width) > 0 ? x : y;
    case MIN: return order_of_ints(m, x, y, width) < 0 ? x : y;
    case AND: return x & y;
    case OR: return x | y;
    case XOR: return x ^ y;
    default: return shift(m, x, y, width);
    }
}

static uint64_t expect_cmpi(const mx_map *m, const uint64_t *v)
{
    return holds(m->what, order_of_ints(m, v[0], v[1], exact_bits(m->in[0])));
}

/* INT_MIN / -1 wraps; by zero anything comes out. */
static bool divides_by_zero(const mx_map *m, const uint64_t *x)
{
    (void)m;
    return x[1] == 0;
}

static void one_int(mx_report *r, mx_effort effort, bc_kind kind, mx_map map)
{
    map.in[0] = map.in[1] = kind;
    map.out = kind;
    map.expected = expect_int;
    both(r, &map, effort, kind == BC_I1 ? 16 : 16384);
}

/* Without attributes but overflow, which changes nothing. */
static void plain_ints(mx_report *r, mx_effort effort, bc_kind kind)
{
    static const struct {
        const char *name;
        int what;
        unsigned operands, overflows;
    } ops[] = {{"addi", ADD, 2, 4}, {"subi", SUB, 2, 4}, {"muli", MUL, 2, 4}, {"mulhii", MULHI, 2, 0},
               {"negi", NEG, 1, 4}, {"absi", ABS, 1, 0}, {"andi", AND, 2, 0}, {"ori", OR, 2, 0},
               {"xori", XOR, 2, 0}, {"shli", SHL, 2, 4}};
    static const char *const overflows[] = {"", " overflow<no_signed_wrap>", " overflow<no_unsigned_wrap>",
                                            " overflow<no_wrap>"};
    for (size_t i = 0; i < TV_COUNT(ops); i++) {
        for (unsigned o = 0; o == 0 || o < ops[i].overflows; o++) {
            mx_map map = {.operands = ops[i].operands, .what = ops[i].what};
            if (ops[i].what == NEG && o == 2)
                continue; /* V-INT-05 */
            snprintf(map.text, sizeof map.text, "%s $0%s%s : #r", ops[i].name, ops[i].operands > 1 ? ", $1" : "",
                     overflows[o]);
            one_int(r, effort, kind, map);
        }
    }
}

static void signed_ints(mx_report *r, mx_effort effort, bc_kind kind)
{
    static const struct {
        const char *name;
        int what;
    } ops[] = {{"maxi", MAX}, {"mini", MIN}, {"remi", REM}, {"shri", SHR}};
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < TV_COUNT(ops); i++) {
            mx_map map = {.operands = 2,
                          .what = ops[i].what,
                          .is_signed = s,
                          .undefined = ops[i].what == REM ? divides_by_zero : NULL};
            snprintf(map.text, sizeof map.text, "%s $0, $1 %s : #r", ops[i].name, sign_names[s]);
            one_int(r, effort, kind, map);
        }
        for (int mode = 1; mode < 4; mode++) {
            mx_map map = {.operands = 2,
                          .what = DIV,
                          .is_signed = s,
                          .mode = (bc_RoundingMode)mode,
                          .undefined = divides_by_zero};
            if (mode == BC_RoundingMode_negative_inf && !s)
                continue; /* V-INT-04 */
            snprintf(map.text, sizeof map.text, "divi $0, $1 %s rounding<%s> : #r", sign_names[s], mode_names[mode]);
            one_int(r, effort, kind, map);
        }
    }
}

static const char *const predicates[] = {"equal",        "not_equal",
                                         "less_than",    "less_than_or_equal",
                                         "greater_than", "greater_than_or_equal"};

static void compared_ints(mx_report *r, mx_effort effort, bc_kind kind)
{
    for (int p = 0; p < 6; p++) {
        for (int s = 0; s < 2; s++) {
            mx_map map = {
                .operands = 2, .in = {kind, kind}, .out = BC_I1, .expected = expect_cmpi, .what = p, .is_signed = s};
            snprintf(map.text, sizeof map.text, "cmpi %s $0, $1, %s : #0 -> #r", predicates[p], sign_names[s]);
            both(r, &map, effort, 4096);
        }
    }
}

/* ---- floats: section 3 ---- */

enum { ADDF, SUBF, MULF, DIVF, FMA, SQRT, REMF, ABSF, NEGF, CEIL, FLOOR, MAXF, MINF };

static void compute(const mx_map *m, const exact *x, exact *out)
{
    exact t;
    bool down = m->mode == BC_RoundingMode_negative_inf;
    switch (m->what) {
    case ADDF: exact_add(out, &x[0], &x[1], down); return;
    case SUBF:
        t = x[1];
        t.negative = !t.negative;
        exact_add(out, &x[0], &t, down);
        return;
    case MULF: exact_mul(out, &x[0], &x[1]); return;
    case DIVF: exact_div(out, &x[0], &x[1]); return;
    case FMA:
        exact_mul(&t, &x[0], &x[1]);
        exact_add(out, &t, &x[2], down);
        return;
    case SQRT: exact_sqrt(out, &x[0]); return;
    case REMF: exact_remainder(out, &x[0], &x[1]); return;
    default:
        *out = x[0];
        if (m->what == ABSF)
            out->negative = false;
        if (m->what == NEGF)
            out->negative = !out->negative;
        if (m->what == CEIL || m->what == FLOOR)
            exact_to_integral(out, m->what == CEIL ? BC_RoundingMode_positive_inf : BC_RoundingMode_negative_inf);
        return;
    }
}

static uint64_t expect_float(const mx_map *m, const uint64_t *v)
{
    exact x[3], result;
    for (unsigned i = 0; i < m->operands; i++)
        exact_of_float(&x[i], m->in[i], m->flush ? exact_flush(m->in[i], v[i]) : v[i]);
    compute(m, x, &result);
    return m->flush ? exact_round_flushed(m->out, &result, m->mode) : exact_round(m->out, &result, m->mode);
}

static uint64_t expect_extreme(const mx_map *m, const uint64_t *v)
{
    uint64_t p[2];
    exact x[2];
    for (unsigned i = 0; i < 2; i++) {
        p[i] = m->flush ? exact_flush(m->in[0], v[i]) : v[i];
        exact_of_float(&x[i], m->in[0], p[i]);
    }
    bool nan[2] = {x[0].class_ == EXACT_NAN, x[1].class_ == EXACT_NAN};
    if (nan[0] || nan[1])
        return nan[0] == m->flag ? p[0] : p[1]; /* flag: the NaN; else the other */
    int order = exact_compare(&x[0], &x[1]);
    if (order == 0)
        order = (int)x[1].negative - (int)x[0].negative; /* -0 is below +0 */
    return (m->what == MAXF ? order >= 0 : order <= 0) ? p[0] : p[1];
}

static uint64_t expect_cmpf(const mx_map *m, const uint64_t *v)
{
    exact x, y;
    exact_of_float(&x, m->in[0], v[0]);
    exact_of_float(&y, m->in[0], v[1]);
    if (x.class_ == EXACT_NAN || y.class_ == EXACT_NAN)
        return !m->flag;
    return holds(m->what, exact_compare(&x, &y));
}

/* The instruction for f32: "divf approx" of section 3 gives 0 for the largest divisors. */
static bool divides_by_extreme(const mx_map *m, const uint64_t *x)
{
    uint32_t size = (uint32_t)x[1] & 0x7FFFFFFF;
    (void)m;
    return size < 0x00800000 || size > 0x7E800000; /* 2^-126, 2^126 */
}

static void rounded_floats(mx_report *r, mx_effort effort, bc_kind kind)
{
    static const struct {
        const char *name;
        int what;
        unsigned operands;
    } ops[] = {{"addf", ADDF, 2}, {"subf", SUBF, 2}, {"mulf", MULF, 2},
               {"divf", DIVF, 2}, {"fma", FMA, 3},   {"sqrt", SQRT, 1}};
    static const char *const operands[] = {"", "$0", "$0, $1", "$0, $1, $2"};
    for (size_t i = 0; i < TV_COUNT(ops); i++) {
        for (int mode = 0; mode < 6; mode++) {
            bool loose = mode >= 4; /* approx, full: f32 */
            if (loose && (kind != BC_F32 || (ops[i].what != DIVF && (ops[i].what != SQRT || mode == 5))))
                continue;
            for (int flush = 0; flush <= (kind == BC_F32); flush++) {
                mx_map map = {.operands = ops[i].operands,
                              .in = {kind, kind, kind},
                              .out = kind,
                              .what = ops[i].what,
                              .expected = expect_float,
                              .flush = flush,
                              .mode = loose ? BC_RoundingMode_nearest_even : (bc_RoundingMode)mode,
                              .undefined = mode == 4 && ops[i].what == DIVF ? divides_by_extreme : NULL,
                              .ulps = !loose                ? 0
                                      : ops[i].what == SQRT ? 1
                                                            : 2};
                snprintf(map.text, sizeof map.text, "%s %s rounding<%s>%s : #r", ops[i].name, operands[ops[i].operands],
                         loose ? (mode == 4 ? "approx" : "full") : mode_names[mode], flush ? " flush_to_zero" : "");
                both(r, &map, effort, kind == BC_F16 || kind == BC_BF16 ? 131072 : 65536);
            }
        }
    }
}

/* Numbers that are divided without a look at each other (codegen/ops/quotients.c), zeros among them; every 4096th may
   be any. */
static void make_ordinary(const mx_map *map, uint64_t number, uint64_t *x)
{
    enum { ANY = 4096, ZEROS = 16, NEAR = 5 };
    bc_kind kind = map->in[0];
    unsigned bits = exact_bits(kind), fraction = kind == BC_F16 ? 10 : kind == BC_BF16 ? 7 : 23;
    uint64_t bias = kind == BC_F16 ? 15 : 127, spread = kind == BC_F16 ? 12 : 24;
    for (unsigned j = 0; j < 2; j++) {
        uint64_t r = mx_random(number * 2 + j);
        uint64_t exponent = bias - spread / 2 + (r >> 32) % spread;
        x[j] = (r & (((uint64_t)1 << fraction) - 1)) | exponent << fraction | (r >> 62 & 1) << (bits - 1);
        if (j == 0 && (r >> 40) % ZEROS == 0)
            x[j] = (r >> 63) << (bits - 1);
        if ((r >> 44) % ANY == 0)
            x[j] = mx_sample(kind, r);
    }
    if (number % NEAR == 0)
        x[0] = x[1] + number / NEAR % NEAR - NEAR / 2;
}

static void shared_divisors(mx_report *r, mx_effort effort, bc_kind kind)
{
    static const mx_form forms[] = {MX_SPLAT, MX_COLUMN, MX_ROW};
    mx_map map = {.text = "divf $0, $1 : #r",
                  .operands = 2,
                  .in = {kind, kind},
                  .out = kind,
                  .what = DIVF,
                  .expected = expect_float};
    for (size_t i = 0; i < TV_COUNT(forms); i++) {
        mx_map_run run = {.shape = {2, {64, 64}},
                          .form = {MX_VIEW, forms[i]},
                          .blocks = 64 >> effort.shift ? 64 >> effort.shift : 1,
                          .seed = 4096 * i,
                          .make = make_ordinary};
        mx_map_check(r, &map, &run);
    }
}

/* The same by constants or of them, as bit patterns: ordinary ones, and some that have to go another way. */
static void constant_division(mx_report *r, uint32_t number, bool is_dividend)
{
    if (!mx_is_turn(r))
        return;
    enum { COUNT = 4096 };
    static const mx_shape shape = {2, {64, 64}};
    static uint64_t x[COUNT];
    mx_map map = {.operands = 2, .in = {BC_F32, BC_F32}, .out = BC_F32, .what = DIVF, .expected = expect_float};
    mx_kernel k;
    mx_begin(&k);
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t pair[2];
        make_ordinary(&map, i + number, pair);
        x[i] = is_dividend && i % 2 ? mx_sample(BC_F32, mx_random(i)) : pair[0];
    }
    unsigned input = mx_input(&k, BC_F32, x, COUNT), output = mx_output(&k, BC_F32, COUNT);
    unsigned value = mx_load(&k, input, shape, MX_VIEW), constant = mx_new(&k), result = mx_new(&k);
    mx_op(&k, "%%v%u = constant <f32: 0x%08x> : %s", constant, number, mx_tile(shape, BC_F32));
    mx_op(&k, "%%v%u = divf %%v%u, %%v%u : %s", result, is_dividend ? constant : value, is_dividend ? value : constant,
          mx_tile(shape, BC_F32));
    mx_store(&k, output, shape, result);
    tv_status status = mx_run(&k, NULL);
    size_t bad = 0;
    for (size_t i = 0; status == TV_OK && i < COUNT; i++) {
        const uint64_t by[] = {x[i], number}, of[] = {number, x[i]};
        bad += !mx_same(BC_F32, mx_result(&k, output, i), expect_float(&map, is_dividend ? of : by));
    }
    if (status != TV_OK || bad)
        mx_fail(r, &k, "%zu quotients %s 0x%08x are wrong, status %d", bad, is_dividend ? "of" : "by", number,
                (int)status);
    else
        mx_pass(r);
    mx_end(&k);
}

static void constant_divisions(mx_report *r)
{
    static const uint32_t divisors[] = {0x42480000, 0x40400000, 0x3DCCCCCD, 0xC0E00000,
                                        0x3FB504F3, 0x4BFFFFFE, /* ordinary */
                                        0x41000000, 0x3FFFFFFF, 0x4C400000, 0x00000003,
                                        0x80000000, 0x7F800000, 0x7FC00000};
    for (size_t i = 0; i < TV_COUNT(divisors); i++)
        constant_division(r, divisors[i], false);
    static const uint32_t dividends[] = {0x3F800000, /* one: a reciprocal */ 0xBF800000, 0x3F800001, 0x40000000};
    for (size_t i = 0; i < TV_COUNT(dividends); i++)
        constant_division(r, dividends[i], true);
}

static void other_floats(mx_report *r, mx_effort effort, bc_kind kind)
{
    static const struct {
        const char *text;
        int what;
        unsigned operands;
    } ops[] = {{"remf $0, $1 : #r", REMF, 2},
               {"absf $0 : #r", ABSF, 1},
               {"negf $0 : #r", NEGF, 1},
               {"ceil $0 : #r", CEIL, 1},
               {"floor $0 : #r", FLOOR, 1}};
    for (size_t i = 0; i < TV_COUNT(ops); i++) {
        mx_map map = {.operands = ops[i].operands,
                      .in = {kind, kind},
                      .out = kind,
                      .what = ops[i].what,
                      .expected = expect_float};
        snprintf(map.text, sizeof map.text, "%s", ops[i].text);
        both(r, &map, effort, 65536);
    }
    for (int flags = 0; flags < (kind == BC_F32 ? 8 : 4); flags++) {
        mx_map map = {.operands = 2,
                      .in = {kind, kind},
                      .out = kind,
                      .what = flags & 1 ? MINF : MAXF,
                      .expected = expect_extreme,
                      .flag = flags & 2,
                      .flush = flags & 4};
        snprintf(map.text, sizeof map.text, "%s $0, $1%s%s : #r", flags & 1 ? "minf" : "maxf",
                 flags & 4 ? " flush_to_zero" : "", flags & 2 ? " propagate_nan" : "");
        both(r, &map, effort, 65536);
    }
    for (int p = 0; p < 12; p++) {
        mx_map map = {
            .operands = 2, .in = {kind, kind}, .out = BC_I1, .what = p % 6, .expected = expect_cmpf, .flag = p < 6};
        snprintf(map.text, sizeof map.text, "cmpf %s %s $0, $1 : #0 -> #r", predicates[p % 6],
                 map.flag ? "ordered" : "unordered");
        both(r, &map, effort, 8192);
    }
}

/* ---- select ---- */

static uint64_t expect_select(const mx_map *m, const uint64_t *v)
{
    (void)m;
    return v[0] ? v[1] : v[2];
}

static void selects(mx_report *r, mx_effort effort)
{
    for (int kind = 0; kind < BC_KIND_COUNT; kind++) {
        bool number = bc_kinds[kind].kind_class == BC_CLASS_INTEGER || bc_kinds[kind].kind_class == BC_CLASS_FLOAT;
        if ((!number && kind != BC_PTR) || kind == BC_F4E2M1FN)
            continue;
        mx_map map = {.operands = 3,
                      .in = {BC_I1, (bc_kind)kind, (bc_kind)kind},
                      .out = (bc_kind)kind,
                      .expected = expect_select,
                      .text = "select $0, $1, $2 : #0, #r"};
        both(r, &map, effort, 2048);
    }
}

void mx_arith(mx_report *r, mx_effort effort)
{
    for (size_t i = 0; i < TV_COUNT(ints); i++) {
        plain_ints(r, effort, ints[i]);
        signed_ints(r, effort, ints[i]);
        compared_ints(r, effort, ints[i]);
    }
    for (size_t i = 0; i < TV_COUNT(floats); i++) {
        rounded_floats(r, effort, floats[i]);
        other_floats(r, effort, floats[i]);
        if (floats[i] != BC_F64)
            shared_divisors(r, effort, floats[i]);
    }
    constant_divisions(r);
    selects(r, effort);
}
