/* sin, exp and the like: distance from the exact value, against the bounds that docs/reference/numerics.md gives.

   The reference is the C library in long double. f16 and bf16 are tried whole, f32 and f64 by samples. `matrix
   --measure N` tries N of them (4294967296: every f32) and prints the largest distances found. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "tests/matrix/map.h"
#include "tests/matrix/parts.h"

typedef long double function(long double x, long double y);

#define UNARY(name, value)                                      \
    static long double ref_##name(long double x, long double y) \
    {                                                           \
        (void)y;                                                \
        return value;                                           \
    }
UNARY(rsqrt, x == 0 ? copysignl(HUGE_VALL, x) : 1 / sqrtl(x))
UNARY(exp, expl(x))
UNARY(exp2, exp2l(x))
UNARY(log, logl(x))
UNARY(log2, log2l(x))
UNARY(sin, sinl(x))
UNARY(cos, cosl(x))
UNARY(tan, tanl(x))
UNARY(sinh, sinhl(x))
UNARY(cosh, coshl(x))
UNARY(tanh, tanhl(x))

static long double ref_atan2(long double x, long double y)
{
    return atan2l(x, y);
}
static long double ref_pow(long double x, long double y)
{
    return powl(x, y);
}

/* Largest distance from the correctly rounded result, in units in the last place: what CUDA documents for its functions
   of that name (CUDA C++ Programming Guide, mathematical functions). Distances are measured from the exact value, which
   is half a unit further away at most. f16 and bf16 are f32 results rounded. */
enum { NARROW_PERCENT = 51 };

typedef struct function_row {
    const char *text, *name;
    function *reference;
    unsigned operands;
    double f32, f64;
    double ptx32, ptx64; /* of the code generator */
    bool approx;         /* f32 only */
    bool flush;          /* has flush_to_zero (f32) */
} function_row;

static const function_row rows[] = {
    {"rsqrt $0", "rsqrt", ref_rsqrt, 1, 2, 1, 1.5, 0.51, false, true},
    {"exp $0", "exp", ref_exp, 1, 2, 1, 2.5, 0.9, false, false},
    {"exp $0 rounding<approx>", "exp approx", ref_exp, 1, 2, 0, 64, 0, true, false},
    {"exp2 $0", "exp2", ref_exp2, 1, 2, 1, 2.2, 0.95, false, true},
    {"log $0", "log", ref_log, 1, 1, 1, 1.0, 0.55, false, false},
    {"log2 $0", "log2", ref_log2, 1, 1, 1, 1.0, 0.8, false, false},
    {"sin $0", "sin", ref_sin, 1, 2, 2, 1.6, 1.2, false, false},
    {"cos $0", "cos", ref_cos, 1, 2, 2, 1.6, 1.2, false, false},
    {"tan $0", "tan", ref_tan, 1, 4, 2, 3.5, 0.8, false, false},
    {"sinh $0", "sinh", ref_sinh, 1, 3, 2, 3.0, 1.0, false, false},
    {"cosh $0", "cosh", ref_cosh, 1, 2, 1, 2.5, 1.0, false, false},
    {"tanh $0", "tanh", ref_tanh, 1, 2, 1, 2.5, 1.2, false, false},
    {"tanh $0 rounding<approx>", "tanh approx", ref_tanh, 1, 2, 0, 256, 0, true, false},
    {"atan2 $0, $1", "atan2", ref_atan2, 2, 3, 2, 0.8, 0.8, false, false},
    {"fpowf $0, $1", "fpowf", ref_pow, 2, 4, 2, 0.8, 0.8, false, false},
};

static const bc_kind kinds[] = {BC_F16, BC_BF16, BC_F32, BC_F64};

/* ---- operands ---- */

/* Arguments for which the result is neither zero nor infinite, as well as any. */
static void make_operands(const mx_map *map, uint64_t number, uint64_t *x)
{
    const exact_format *f = exact_format_of(map->in[0]);
    for (unsigned j = 0; j < map->operands; j++) {
        uint64_t r = mx_random(number * 2 + j);
        unsigned sign_at = (unsigned)f->exponent + f->mantissa;
        x[j] = mx_sample(map->in[j], r);
        if (r % 4) { /* exponents -12 to 8 */
            uint64_t field = (uint64_t)(f->bias - 12) + (r >> 8) % 21, top = exact_mask(f->exponent);
            x[j] = (r >> 60 & 1) << sign_at | (field < top ? field : top - 1) << f->mantissa
                   | (mx_random(r) & exact_mask(f->mantissa));
        }
    }
}

static double allowed(const function_row *row, bc_kind kind)
{
    if (kind != BC_F64 && kind != BC_F32)
        return NARROW_PERCENT / 100.0;
    if (mx_is_ptx())
        return kind == BC_F64 ? row->ptx64 : row->ptx32;
    return (kind == BC_F64 ? row->f64 : row->f32) + 0.5;
}

static void run_row(mx_report *r, const function_row *row, bc_kind kind, bool flush, uint64_t count)
{
    mx_map map = {.operands = row->operands,
                  .in = {kind, kind},
                  .out = kind,
                  .function = row->reference,
                  .flush = flush,
                  .ulps = allowed(row, kind)};
    snprintf(map.text, sizeof map.text, "%s%s : #r", row->text, flush ? " flush_to_zero" : "");
    mx_map_run run = {
        .shape = mx_vector(1024), .form = {MX_VIEW, MX_VIEW}, .blocks = 64, .make = make_operands, .seed = 7};
    if (row->operands == 1 && exact_bits(kind) == 16) {
        mx_map_deep(r, &map, 65536, 0);
        return;
    }
    run.blocks = (uint32_t)(count / 1024 + 1);
    mx_map_check(r, &map, &run);
}

/* ---- powers of a warp at once ---- */

/* Between the least exponent of a normal f32 and 128, with the limits themselves, infinity and NaN; one of 4096 is
   less, for which a warp goes another way. */
static void make_powers(const mx_map *map, uint64_t number, uint64_t *x)
{
    static const uint32_t edges[] = {0xC2FC0000, 0xC2FBFFFF, 0x80000000, 0x80000001,
                                     0x00000001, 0x7F800000, 0x7FC00000, 0x42FE0000},
                          beyond[] = {0xC2FC0001, 0xC3150000, 0xC3180000, 0xFF800000, 0xFFC00000};
    enum { RARE = 4096, EDGE = 16 };
    uint64_t r = mx_random(number);
    float value = (float)((double)(r >> 40) / (1 << 24) * 253.9 - 126);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (r % RARE == 0)
        bits = beyond[r / RARE % TV_COUNT(beyond)];
    else if (r % EDGE == 0)
        bits = edges[r / EDGE % TV_COUNT(edges)];
    *x = bc_float_convert(map->in[0], BC_F32, bits, BC_RoundingMode_nearest_even);
}

static void run_powers(mx_report *r, const function_row *row, bc_kind kind, mx_effort effort)
{
    static const mx_form forms[] = {MX_VIEW, MX_COLUMN};
    for (size_t i = 0; i < TV_COUNT(forms); i++) {
        mx_map map = {.operands = 1, .in = {kind}, .out = kind, .function = row->reference, .ulps = allowed(row, kind)};
        mx_map_run run = {.shape = {2, {64, 64}},
                          .form = {forms[i]},
                          .blocks = 64 >> effort.shift ? 64 >> effort.shift : 1,
                          .seed = 65536 * i,
                          .make = make_powers};
        snprintf(map.text, sizeof map.text, "%s : #r", row->text);
        mx_map_check(r, &map, &run);
    }
}

/* ---- the ends of exp ---- */

/* f32: a few units around where it overflows, becomes subnormal, and zero, where 2^n is clamped (126 ln 2), around zero
   and the largest numbers; infinities and NaN. */
static void make_ends(const mx_map *map, uint64_t number, uint64_t *x)
{
    static const uint32_t ends[] = {0x42B17218, 0x42AEAC50, 0xC2AEAC50, 0xC2CFF1B5, 0xC2CE8ED0,
                                    0x42CE8ED0, 0x00000040, 0x80000040, 0x33800000, 0xB3800000,
                                    0x7F7FFF80, 0xFF7FFF80, 0x7F800000, 0xFF800000, 0x7FC00000};
    enum { SPREAD = 64, LAST_FINITE = 12 };
    uint64_t r = mx_random(number);
    size_t which = r % TV_COUNT(ends);
    (void)map;
    *x = ends[which] + (which < LAST_FINITE ? (uint32_t)(r >> 32) % (2 * SPREAD) - SPREAD : 0);
}

static void run_ends(mx_report *r, const function_row *row)
{
    mx_map map = {
        .operands = 1, .in = {BC_F32}, .out = BC_F32, .function = row->reference, .ulps = allowed(row, BC_F32)};
    mx_map_run run = {.shape = mx_vector(1024), .form = {MX_VIEW}, .blocks = 8, .make = make_ends, .seed = 11};
    snprintf(map.text, sizeof map.text, "%s : #r", row->text);
    mx_map_check(r, &map, &run);
}

/* ---- fpowi: repeated multiplication on a GPU; here the rounded power ---- */

static void run_powi(mx_report *r, bc_kind kind, bc_kind exponent, uint64_t count)
{
    mx_map map = {.operands = 2,
                  .in = {kind, exponent},
                  .out = kind,
                  .function = ref_pow,
                  .text = "fpowi $0, $1 : #r, #1",
                  .ulps = kind == BC_F64 || kind == BC_F32 ? 1.5 : NARROW_PERCENT / 100.0};
    mx_map_run run = {.shape = mx_vector(1024),
                      .form = {MX_VIEW, MX_VIEW},
                      .blocks = (uint32_t)(count / 1024 + 1),
                      .seed = 3};
    mx_map_check(r, &map, &run);
}

void mx_functions(mx_report *r, mx_effort effort)
{
    static const bc_kind exponents[] = {BC_I1, BC_I8, BC_I16, BC_I32};
    for (size_t i = 0; i < TV_COUNT(rows); i++) {
        for (size_t k = 0; k < TV_COUNT(kinds); k++) {
            if (!rows[i].approx || kinds[k] == BC_F32)
                run_row(r, &rows[i], kinds[k], false, 65536 >> effort.shift);
            if (rows[i].flush && kinds[k] == BC_F32)
                run_row(r, &rows[i], kinds[k], true, 16384 >> effort.shift);
            mx_map shapes = {.operands = rows[i].operands,
                             .in = {kinds[k], kinds[k]},
                             .out = kinds[k],
                             .function = rows[i].reference,
                             .ulps = allowed(&rows[i], kinds[k])};
            snprintf(shapes.text, sizeof shapes.text, "%s : #r", rows[i].text);
            if (!rows[i].approx || kinds[k] == BC_F32)
                mx_map_shapes(r, &shapes, effort, i);
            bool is_power = rows[i].reference == ref_exp2 || (rows[i].reference == ref_exp && rows[i].approx);
            if (is_power && kinds[k] != BC_F64 && (!rows[i].approx || kinds[k] == BC_F32))
                run_powers(r, &rows[i], kinds[k], effort);
            if (rows[i].reference == ref_exp && !rows[i].approx && kinds[k] == BC_F32)
                run_ends(r, &rows[i]);
        }
    }
    for (size_t k = 0; k < TV_COUNT(kinds); k++)
        for (size_t e = 0; e < TV_COUNT(exponents); e++)
            run_powi(r, kinds[k], exponents[e], 16384 >> effort.shift);
}

/* ---- measuring ---- */

/* Element number of all f32 patterns, spread over the range; a second operand from the exponents around one. */
static void make_spread(const mx_map *map, uint64_t number, uint64_t *x)
{
    x[0] = number * 2654435761u & UINT32_MAX;
    if (map->operands == 2) {
        uint64_t y[3];
        make_operands(map, number, y);
        x[1] = y[1];
    }
    if (map->in[0] == BC_F64)
        make_operands(map, number, x);
}

void mx_functions_measure(uint64_t count)
{
    enum { CHUNK = 1 << 20, BLOCK = 1024 };
    for (size_t i = 0; i < TV_COUNT(rows); i++) {
        for (size_t k = 2; k < TV_COUNT(kinds); k++) {
            mx_report r = {.name = rows[i].name};
            double worst = 0;
            mx_map map = {.operands = rows[i].operands,
                          .in = {kinds[k], kinds[k]},
                          .out = kinds[k],
                          .function = rows[i].reference,
                          .ulps = allowed(&rows[i], kinds[k])};
            snprintf(map.text, sizeof map.text, "%s : #r", rows[i].text);
            mx_map_run run = {.shape = mx_vector(BLOCK),
                              .form = {MX_VIEW, MX_VIEW},
                              .blocks = CHUNK / BLOCK,
                              .make = make_spread,
                              .worst = &worst};
            if (rows[i].approx && kinds[k] != BC_F32)
                continue;
            for (run.seed = 0; run.seed < count && r.failed == 0; run.seed += CHUNK)
                mx_map_check(&r, &map, &run);
            printf("%-12s %-4s %.3f ulp\n", rows[i].name, mx_kind(kinds[k]), worst);
            fflush(stdout);
        }
    }
}
