/* Numbers: conversions and arithmetic against checksums from another implementation (number_reference.def) and against
   this machine's arithmetic in its four rounding modes, inner-loop versions against the exact ones, text against
   fixed examples and the C library, packed elements and constants.

   number --values convert f16 f8E4M3FN    prints the results behind a row of number_reference.def, as
   tools/gen_number_reference.py --values convert f16 f8E4M3FN does. */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bytecode/number/number.h"
#include "bytecode/number/fast.h"
#include "tests/unit/test.h"

static const bc_kind float_kinds[] = {BC_F16,      BC_BF16,   BC_TF32,      BC_F32,      BC_F64,
                                      BC_F8E4M3FN, BC_F8E5M2, BC_F8E8M0FNU, BC_F4E2M1FN, BC_FNV8E5M3FNU};
enum { I1 = 1, MODES = 5 };
static const bc_RoundingMode modes[MODES] = {BC_RoundingMode_nearest_even, BC_RoundingMode_zero,
                                             BC_RoundingMode_negative_inf, BC_RoundingMode_positive_inf,
                                             BC_RoundingMode_nearest_away};

/* ---- inputs, the same as in tools/gen_number_reference.py ---- */

static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

static unsigned magnitude_bits(bc_kind kind)
{
    const bc_float_format *f = bc_float_format_of(kind);
    return f->exponent_bits + f->mantissa_bits;
}

static uint64_t sample(bc_kind kind, uint64_t index)
{
    const bc_float_format *f = bc_float_format_of(kind);
    unsigned m = f->mantissa_bits, sign = magnitude_bits(kind);
    uint64_t r = mix(index), pick = r & 7, one = (uint64_t)f->bias << m, bits;
    r >>= 3;
    if (pick == 0) {
        const uint64_t specials[10] = {0,
                                       1,
                                       bc_int_mask(m),
                                       (uint64_t)1 << m,
                                       one,
                                       one + 1,
                                       f->max_finite,
                                       f->max_finite - 1,
                                       f->max_finite + 1,
                                       f->nan};
        bits = specials[r % 10] | (r >> 8 & 1) << sign;
    } else if (pick < 4) {
        uint64_t field = (uint64_t)f->bias - 4 + (r & 7);
        bits = field << m | (r >> 3 & 1) << sign | (r >> 4 & bc_int_mask(m));
    } else {
        bits = bc_kind_bits(kind) < 61 ? r : mix(r);
    }
    return bits & bc_int_mask(bc_kind_bits(kind));
}

static uint64_t input_count(bc_kind kind)
{
    return bc_kind_bits(kind) <= 16 ? (uint64_t)1 << bc_kind_bits(kind) : 16384;
}
static uint64_t input(bc_kind kind, uint64_t i)
{
    return bc_kind_bits(kind) <= 16 ? i : sample(kind, i);
}

/* ---- results by row: each function gives result `column` of input i, or false past the last one ---- */

typedef struct row {
    const char *macro, *op;
    bc_kind kind, from;
    unsigned width;
    bool ftz;
} row;

static bool convert_result(const row *r, uint64_t i, unsigned column, uint64_t *out)
{
    if (i >= input_count(r->from))
        return false;
    uint64_t bits = input(r->from, i);
    *out = bc_float_convert(r->kind, r->from, bits, modes[column]);
    return true;
}

static bool from_int_result(const row *r, uint64_t i, unsigned column, uint64_t *out)
{
    if (i >= (r->width <= 16 ? (uint64_t)1 << r->width : 4096))
        return false;
    uint64_t bits = i;
    if (r->width > 16) {
        bits = mix(i) >> mix(i + 77) % 64;
        bits = (i & 1 ? bits : 0 - bits) & bc_int_mask(r->width);
    }
    *out = bc_int_to_float(r->kind, bits, r->width, column == 1);
    return true;
}

static bool to_int_result(const row *r, uint64_t i, unsigned column, uint64_t *out)
{
    uint64_t step = input_count(r->from) > 16384 ? 7 : 1;
    if (i * step >= input_count(r->from))
        return false;
    *out = bc_float_to_int(r->from, input(r->from, i * step), r->width, column / 2, column % 2);
    return true;
}

enum { ARITH_COUNT = 2048 };

static void arith_operands(const row *r, uint64_t i, unsigned count, uint64_t *operands)
{
    for (unsigned k = 0; k < count; k++)
        operands[k] = sample(r->kind, 3 * i + k);
    if (i % 5 == 4 && count > 1)
        operands[count - 1] = (operands[0] + i % 7 - 3) & bc_int_mask(bc_kind_bits(r->kind));
}

static uint64_t arith(const row *r, const uint64_t *x, bc_RoundingMode mode)
{
    if (!strcmp(r->op, "add"))
        return bc_float_add(r->kind, x[0], x[1], mode, r->ftz);
    if (!strcmp(r->op, "sub"))
        return bc_float_sub(r->kind, x[0], x[1], mode, r->ftz);
    if (!strcmp(r->op, "mul"))
        return bc_float_mul(r->kind, x[0], x[1], mode, r->ftz);
    if (!strcmp(r->op, "div"))
        return bc_float_div(r->kind, x[0], x[1], mode, r->ftz);
    if (!strcmp(r->op, "fma"))
        return bc_float_fma(r->kind, x[0], x[1], x[2], mode, r->ftz);
    return bc_float_sqrt(r->kind, x[0], mode, r->ftz);
}

static bool arith_result(const row *r, uint64_t i, unsigned column, uint64_t *out)
{
    uint64_t operands[3];
    if (i >= ARITH_COUNT)
        return false;
    arith_operands(r, i, !strcmp(r->op, "fma") ? 3 : !strcmp(r->op, "sqrt") ? 1 : 2, operands);
    *out = arith(r, operands, modes[column]);
    return true;
}

static bool minmax_result(const row *r, uint64_t i, unsigned column, uint64_t *out)
{
    uint64_t x[2];
    if (i >= ARITH_COUNT)
        return false;
    arith_operands(r, i, 2, x);
    *out = column / 2 ? bc_float_max(r->kind, x[0], x[1], column % 2, r->ftz)
                      : bc_float_min(r->kind, x[0], x[1], column % 2, r->ftz);
    return true;
}

typedef bool result_fn(const row *r, uint64_t i, unsigned column, uint64_t *out);

/* Which NaN it is does not count. */
static uint64_t canonical(const row *r, uint64_t bits)
{
    bool is_float = strcmp(r->macro, "to_int") != 0;
    return is_float && bc_float_is_nan(r->kind, bits) ? bc_float_format_of(r->kind)->nan : bits;
}

static void check_row(const row *r, result_fn *result, unsigned columns, const uint64_t *expected)
{
    for (unsigned c = 0; c < columns; c++) {
        uint64_t h = 0xCBF29CE484222325, bits;
        for (uint64_t i = 0; result(r, i, c, &bits); i++) {
            h = (h ^ canonical(r, bits)) * 0x100000001B3;
            h ^= h >> 32;
        }
        CHECK_MSG(h == expected[c], "%s %s%s%s width %u ftz %d, column %u; see --values", r->macro, r->op,
                  bc_kinds[r->kind].text, r->from ? bc_kinds[r->from].text : "", r->width, r->ftz, c);
    }
}

static void print_row(const row *r, result_fn *result, unsigned columns)
{
    uint64_t bits;
    for (uint64_t i = 0; result(r, i, 0, &bits); i++)
        for (unsigned c = 0; c < columns; c++) {
            result(r, i, c, &bits);
            printf("%llx%c", (unsigned long long)canonical(r, bits), c + 1 < columns ? ' ' : '\n');
        }
}

typedef struct reference {
    row key;
    result_fn *result;
    unsigned columns;
    const char *words; /* the key as --values takes it */
    uint64_t expected[MODES];
} reference;

static const reference references[] = {
#define CONVERT(from_, to, ...) \
    {{"convert", "", BC_##to, BC_##from_, 0, false}, convert_result, 5, "convert " #from_ " " #to, {__VA_ARGS__}},
#define FROM_INT(to, width_, ...) \
    {{"from_int", "", BC_##to, 0, width_, false}, from_int_result, 2, "from_int " #to " " #width_, {__VA_ARGS__}},
#define TO_INT(from_, width_, ...) \
    {{"to_int", "", 0, BC_##from_, width_, false}, to_int_result, 4, "to_int " #from_ " " #width_, {__VA_ARGS__}},
#define ARITH(op_, kind_, ftz_, ...) \
    {{"arith", #op_, BC_##kind_, 0, 0, ftz_}, arith_result, 4, "arith " #op_ " " #kind_ " " #ftz_, {__VA_ARGS__}},
#define MINMAX(kind_, ftz_, ...) \
    {{"minmax", "", BC_##kind_, 0, 0, ftz_}, minmax_result, 4, "minmax " #kind_ " " #ftz_, {__VA_ARGS__}},
#include "tests/unit/number_reference.def"
};

static void test_references(void)
{
    for (size_t i = 0; i < TV_COUNT(references); i++)
        check_row(&references[i].key, references[i].result, references[i].columns, references[i].expected);
    CHECK(TV_COUNT(references) == 100 + 50 + 50 + 5 * 7);
}

static int print_values(int argc, char **argv)
{
    char words[128] = "";
    for (int i = 2; i < argc; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), i > 2 ? " %s" : "%s", argv[i]);
    for (size_t i = 0; i < TV_COUNT(references); i++) {
        if (!strcasecmp(words, references[i].words)) {
            print_row(&references[i].key, references[i].result, references[i].columns);
            return 0;
        }
    }
    fprintf(stderr, "no row '%s'\n", words);
    return 2;
}

/* ---- against this machine ---- */

#if defined(FE_UPWARD) && defined(FE_DOWNWARD) && defined(FE_TOWARDZERO)
static const int machine_modes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

/* volatile keeps the operation between the two changes of the mode. */
#define ON_MACHINE(T, op, x, y, z, mode, out)                                                                    \
    do {                                                                                                         \
        volatile T x_ = (x), y_ = (y), z_ = (z), result_;                                                        \
        fesetround(machine_modes[mode]);                                                                         \
        switch (op) {                                                                                            \
        case 0: result_ = x_ + y_; break;                                                                        \
        case 1: result_ = x_ - y_; break;                                                                        \
        case 2: result_ = x_ * y_; break;                                                                        \
        case 3: result_ = x_ / y_; break;                                                                        \
        case 4: result_ = sizeof(T) == 4 ? (T)fmaf((float)x_, (float)y_, (float)z_) : (T)fma(x_, y_, z_); break; \
        default: result_ = sizeof(T) == 4 ? (T)sqrtf((float)x_) : (T)sqrt(x_); break;                            \
        }                                                                                                        \
        fesetround(FE_TONEAREST);                                                                                \
        (out) = result_;                                                                                         \
    } while (0)

static const char *const op_names[6] = {"add", "sub", "mul", "div", "fma", "sqrt"};

static void check_machine(bc_kind kind, unsigned op, unsigned mode, const uint64_t *x)
{
    row r = {.op = op_names[op], .kind = kind};
    uint64_t ours = arith(&r, x, modes[mode]), theirs;
    bool is_nan;
    if (kind == BC_F32) {
        float result;
        ON_MACHINE(float, op, bc_f32_from_bits((uint32_t)x[0]), bc_f32_from_bits((uint32_t)x[1]),
                   bc_f32_from_bits((uint32_t)x[2]), mode, result);
        theirs = bc_f32_bits(result);
        is_nan = result != result;
    } else {
        double result;
        ON_MACHINE(double, op, bc_f64_from_bits(x[0]), bc_f64_from_bits(x[1]), bc_f64_from_bits(x[2]), mode, result);
        theirs = bc_f64_bits(result);
        is_nan = result != result;
    }
    bool same = is_nan ? bc_float_is_nan(kind, ours) : ours == theirs;
    CHECK_MSG(same, "%s %s mode %u: %llx %llx %llx: ours %llx, machine %llx", op_names[op], bc_kinds[kind].text, mode,
              (unsigned long long)x[0], (unsigned long long)x[1], (unsigned long long)x[2], (unsigned long long)ours,
              (unsigned long long)theirs);
}

/* Quotients whose second digit, in divide_wide, is estimated one too large for 32 bits and two too large. */
static const uint64_t hard_quotients[][2] = {
    {0x3FF9E53A9541C3A8, 0x3FF9F767C45FFFFB},
    {0x3FF1AB128CD0A480, 0x3FFBDE5C099FFFFB},
    {0x3FF13277A8E5484C, 0x3FFCB91CE37FFFF5},
    {0x3FFDB3A59C0BDCD5, 0x3FFF1446BEBFFFF3},
};

static void test_machine_hard(void)
{
    for (unsigned mode = 0; mode < 4; mode++) {
        for (size_t i = 0; i < TV_COUNT(hard_quotients); i++)
            check_machine(BC_F64, 3, mode, (const uint64_t[]){hard_quotients[i][0], hard_quotients[i][1], 0});
        /* the addend of fma from far above the product to far below, so that carries and borrows run everywhere */
        for (uint64_t i = 0; i < 20000; i++) {
            uint64_t sign = (mix(i) & 1) << 63, mantissa = mix(~i) >> 12;
            uint64_t x[3] = {sample(BC_F64, 8 * i + 1), 0x3FF0000000000000 | mix(3 * i) >> 12, 0};
            uint64_t field = (x[0] >> 52 & 0x7FF) + 60 - i % 180;
            x[2] = sign | (field & 0x7FF) << 52 | (i % 7 ? mantissa : 0);
            check_machine(BC_F64, 4, mode, x);
        }
    }
}

static void test_machine(void)
{
    test_machine_hard();
    for (unsigned k = 0; k < 2; k++) {
        bc_kind kind = k ? BC_F64 : BC_F32;
        uint64_t mask = bc_int_mask(bc_kind_bits(kind));
        for (uint64_t i = 0; i < 20000; i++) {
            uint64_t x[3] = {sample(kind, 7 * i + 1), sample(kind, 7 * i + 2), sample(kind, 7 * i + 3)};
            if (i % 4 == 3) /* cancellation, near and far */
                x[2] = (x[0] ^ (uint64_t)1 << (bc_kind_bits(kind) - 1)) + (mix(i) >> mix(~i) % 64);
            if (i % 4 == 2)
                x[1] = x[0] + (mix(i) >> (40 + mix(~i) % 24));
            x[1] &= mask;
            x[2] &= mask;
            for (unsigned op = 0; op < 6; op++)
                for (unsigned mode = 0; mode < 4; mode++)
                    check_machine(kind, op, mode, x);
        }
    }
}
#else
static void test_machine(void)
{
    printf("number: skipped the comparison with this machine: it has no rounding modes\n");
}
#endif

/* Which NaN comes out: the canonical one, but f64 passes on its first. */
static void test_nans(void)
{
    const bc_RoundingMode rn = BC_RoundingMode_nearest_even;
    const uint64_t one = 0x3FF0000000000000, inf = 0x7FF0000000000000, minus_inf = 0xFFF0000000000000;
    const uint64_t first = 0xFFF0000000000123, second = 0x7FF8000000000456, first_quiet = 0xFFF8000000000123;
    CHECK(bc_float_add(BC_F64, first, second, rn, false) == first_quiet);
    CHECK(bc_float_add(BC_F64, one, second, rn, false) == second);
    CHECK(bc_float_sub(BC_F64, one, first, rn, false) == first_quiet);
    CHECK(bc_float_mul(BC_F64, second, first, rn, false) == second);
    CHECK(bc_float_div(BC_F64, one, first, rn, false) == first_quiet);
    CHECK(bc_float_fma(BC_F64, one, one, first, rn, false) == first_quiet);
    CHECK(bc_float_sqrt(BC_F64, first, rn, false) == first_quiet);
    CHECK(bc_float_add(BC_F64, inf, minus_inf, rn, false) == 0xFFF8000000000000);
    CHECK(bc_float_sqrt(BC_F64, minus_inf, rn, false) == 0xFFF8000000000000);
    CHECK(bc_float_max(BC_F64, first, second, false, false) == first_quiet);
    CHECK(bc_float_max(BC_F64, first, one, true, false) == 0x7FF8000000000000);
    CHECK(bc_float_add(BC_F32, 0xFFC00123, 0, rn, false) == 0x7FFFFFFF);
    CHECK(bc_float_min(BC_F32, 0xFFC00123, 0x7F800001, false, false) == 0x7FFFFFFF);
    CHECK(bc_float_min(BC_F16, 0xFE01, 0x3C00, true, false) == 0x7FFF);
    CHECK(bc_float_mul(BC_BF16, 0x7F80, 0x8000, rn, false) == 0x7FFF);
    CHECK(bc_float_convert(BC_F32, BC_F64, first, rn) == 0x7FFFFFFF);
    CHECK(bc_float_convert(BC_F64, BC_F32, 0xFFC00123, rn) == 0x7FF8000000000000);
}

/* f16 and bf16 sums and products are exact in double as long as the exponents are near, so rounding the double is the
   whole operation. */
static void test_narrow_pairs(void)
{
    for (uint64_t i = 0; i < 200000; i++) {
        bc_kind kind = i & 1 ? BC_F16 : BC_BF16;
        uint64_t a = sample(kind, 2 * i + 5), b = sample(kind, 2 * i + 6);
        double x = bc_float_value(kind, a), y = bc_float_value(kind, b);
        bc_RoundingMode mode = modes[i / 2 % 4];
        if (!isfinite(x) || !isfinite(y))
            continue;
        uint64_t product = bc_float_round(kind, x * y, mode);
        CHECK_MSG(bc_float_mul(kind, a, b, mode, false) == product, "%s %llx * %llx", bc_kinds[kind].text,
                  (unsigned long long)a, (unsigned long long)b);
        bool near = x == 0 || y == 0 || fabs(log2(fabs(x / y))) < 40;
        if (!near || x + y == 0)
            continue;
        uint64_t sum = bc_float_round(kind, x + y, mode);
        CHECK_MSG(bc_float_add(kind, a, b, mode, false) == sum, "%s %llx + %llx", bc_kinds[kind].text,
                  (unsigned long long)a, (unsigned long long)b);
    }
}

/* ---- properties of conversions ---- */

static void test_round_trips(void)
{
    for (size_t k = 0; k < TV_COUNT(float_kinds); k++) {
        bc_kind kind = float_kinds[k];
        for (uint64_t i = 0; i < input_count(kind); i++) {
            uint64_t bits = input(kind, i);
            double value = bc_float_value(kind, bits);
            if (value != value)
                continue;
            uint64_t again = bc_float_round(kind, value, modes[i % MODES]);
            bool kept = again == bits || isinf(value); /* e5m2 has no Inf to round to */
            CHECK_MSG(kept, "%s %llx", bc_kinds[kind].text, (unsigned long long)bits);
        }
    }
    /* double rounding would go wrong here: just above the middle of two values, by less than f32 can tell */
    CHECK(bc_float_round(BC_F16, 1.0 + 0x1p-11 + 0x1p-40, BC_RoundingMode_nearest_even) == 0x3C01);
    CHECK(bc_float_round(BC_BF16, 1.0 + 0x1p-8 + 0x1p-50, BC_RoundingMode_nearest_even) == 0x3F81);
    CHECK(bc_float_round(BC_F8E4M3FN, 1.0 + 0x1p-4 - 0x1p-50, BC_RoundingMode_nearest_even) == 0x38);
    CHECK(bc_int_to_float(BC_F32, (1ull << 62) + (1ull << 38) + 1, 64, true) == 0x5E800001);
    CHECK(bc_int_to_float(BC_F16, UINT64_MAX, 64, false) == 0x7C00);
    CHECK(bc_int_to_float(BC_F8E5M2, UINT64_MAX, 64, false) == 0x7B);
    CHECK(bc_int_to_float(BC_F16, 1, I1, true) == 0xBC00 && bc_int_to_float(BC_F16, 1, I1, false) == 0x3C00);
    CHECK(bc_float_round(BC_F8E8M0FNU, 3.0, BC_RoundingMode_zero) == 128);
    CHECK(bc_float_round(BC_F8E8M0FNU, -3.0, BC_RoundingMode_positive_inf) == 129);
    CHECK(bc_float_round(BC_F8E8M0FNU, 0.0, BC_RoundingMode_positive_inf) == 0);
    CHECK(bc_float_round(BC_FNV8E5M3FNU, -3.0, BC_RoundingMode_nearest_even) == 0);
    /* half of the smallest subnormal, and a little more */
    CHECK(bc_float_join(BC_F16, false, (uint64_t)1 << 63, -25 - 63, false, BC_RoundingMode_nearest_even) == 0);
    CHECK(bc_float_join(BC_F16, false, (uint64_t)1 << 63, -25 - 63, true, BC_RoundingMode_nearest_even) == 1);
    CHECK(bc_float_format_of(BC_I32) == NULL && bc_float_format_of(BC_TILE) == NULL);
}

/* ---- inner-loop versions ---- */

static bool same_f32(float fast, bc_kind kind, uint64_t bits)
{
    return bc_f32_bits(fast) == bc_float_convert(BC_F32, kind, bits, BC_RoundingMode_nearest_even);
}

static void test_fast_from_narrow(void)
{
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t h = (uint16_t)i;
        CHECK_MSG(same_f32(bc_f16_to_f32(h), BC_F16, i), "f16 %x", (unsigned)i);
        CHECK_MSG(same_f32(bc_bf16_to_f32(h), BC_BF16, i), "bf16 %x", (unsigned)i);
    }
    for (uint32_t i = 0; i < 256; i++) {
        uint8_t b = (uint8_t)i;
        CHECK_MSG(same_f32(bc_f8e5m2_to_f32(b), BC_F8E5M2, i), "e5m2 %x", (unsigned)i);
        CHECK_MSG(same_f32(bc_f8e4m3_to_f32(b), BC_F8E4M3FN, i), "e4m3 %x", (unsigned)i);
        CHECK_MSG(same_f32(bc_f8e8m0_to_f32(b), BC_F8E8M0FNU, i), "e8m0 %x", (unsigned)i);
        CHECK_MSG(same_f32(bc_f8e5m3_to_f32(b), BC_FNV8E5M3FNU, i), "e5m3 %x", (unsigned)i);
        CHECK_MSG(same_f32(bc_f4e2m1_to_f32(b), BC_F4E2M1FN, i), "f4 %x", (unsigned)i);
    }
}

static void check_fast_f32(uint32_t bits)
{
    const bc_RoundingMode rn = BC_RoundingMode_nearest_even;
    float x = bc_f32_from_bits(bits);
    CHECK_MSG(bc_f32_to_f16(x) == bc_float_convert(BC_F16, BC_F32, bits, rn), "f16 of %x", (unsigned)bits);
    CHECK_MSG(bc_f32_to_bf16(x) == bc_float_convert(BC_BF16, BC_F32, bits, rn), "bf16 of %x", (unsigned)bits);
    CHECK_MSG(bc_f32_to_f8e5m2(x) == bc_float_convert(BC_F8E5M2, BC_F32, bits, rn), "e5m2 of %x", (unsigned)bits);
    CHECK_MSG(bc_f32_to_f8e4m3(x) == bc_float_convert(BC_F8E4M3FN, BC_F32, bits, rn), "e4m3 of %x", (unsigned)bits);
    uint64_t tf32 = bc_float_convert(BC_TF32, BC_F32, bits, rn);
    CHECK_MSG(bc_f32_to_tf32_cell(x) == bc_tf32_to_cell(tf32), "tf32 of %x", (unsigned)bits);
    CHECK(bc_tf32_from_cell(bc_tf32_to_cell(tf32)) == tf32);
    CHECK(bc_f32_bits(bc_tf32_cell_to_f32(bits)) == bc_float_convert(BC_F32, BC_F32, bits, rn) || x != x);
}

static void test_fast_to_narrow(void)
{
    /* Every sign and exponent with every third value of the top 11 mantissa bits, and below them what is at and around
       the middles. */
    static const uint32_t low[] = {0, 1, 0x7FF, 0x800, 0x801, 0xFFF};
    for (uint32_t i = 0; i < 1 << 20; i += 3)
        check_fast_f32(i << 12 | low[i / 3 % TV_COUNT(low)]);
    for (uint64_t i = 0; i < 100000; i++) {
        const bc_RoundingMode rn = BC_RoundingMode_nearest_even;
        uint64_t bits = sample(BC_F64, i);
        if (i % 3) /* f16 range, and near middles */
            bits = (i & 1 ? 0xBE00000000000000 : 0x3E00000000000000) + (mix(i) >> (7 + i % 8))
                   + ((i % 5) - 2 + (mix(i) & 0x3FF) * 0x0000020000000000);
        double x = bc_f64_from_bits(bits);
        CHECK_MSG(bc_f64_to_f16(x) == bc_float_convert(BC_F16, BC_F64, bits, rn), "f16 of %a", x);
        CHECK_MSG(bc_f64_to_bf16(x) == bc_float_convert(BC_BF16, BC_F64, bits, rn), "bf16 of %a", x);
    }
}

static void test_fast_fma(void)
{
    const bc_RoundingMode rn = BC_RoundingMode_nearest_even;
    for (uint64_t i = 0; i < 200000; i++) {
        uint16_t h[3];
        uint32_t w[3];
        for (unsigned k = 0; k < 3; k++) {
            h[k] = (uint16_t)sample(BC_F16, 3 * i + k);
            w[k] = (uint32_t)sample(BC_F32, 3 * i + k);
        }
        if (i % 4 == 0) /* a middle of the product and a little more */
            w[2] = (w[2] & 0x007FFFFF) | (((w[0] >> 23) + (w[1] >> 23) - 127 - (uint32_t)(mix(i) % 50)) & 0xFF) << 23;
        float fused = bc_f32_fma(bc_f32_from_bits(w[0]), bc_f32_from_bits(w[1]), bc_f32_from_bits(w[2]));
        CHECK_MSG(bc_f32_bits(fused) == bc_float_fma(BC_F32, w[0], w[1], w[2], rn, false), "%x %x %x", (unsigned)w[0],
                  (unsigned)w[1], (unsigned)w[2]);
        CHECK_MSG(bc_f16_fma(h[0], h[1], h[2]) == bc_float_fma(BC_F16, h[0], h[1], h[2], rn, false), "%x %x %x", h[0],
                  h[1], h[2]);
        for (unsigned k = 0; k < 3; k++)
            h[k] = (uint16_t)sample(BC_BF16, 3 * i + k);
        CHECK_MSG(bc_bf16_fma(h[0], h[1], h[2]) == bc_float_fma(BC_BF16, h[0], h[1], h[2], rn, false), "%x %x %x", h[0],
                  h[1], h[2]);
    }
}

/* ---- text ---- */

/* Collected from MLIR's printer. */
static const struct {
    bc_kind kind;
    uint64_t bits;
    const char *text;
} printed[] = {
    {BC_F32, 0x00000000, "0.000000e+00"},
    {BC_F32, 0x80000000, "-0.000000e+00"},
    {BC_F32, 0x3F800000, "1.000000e+00"},
    {BC_F32, 0x3DCCCCCD, "1.000000e-01"},
    {BC_F32, 0x00000001, "1.401300e-45"},
    {BC_F32, 0x40490FDB, "3.14159274"},
    {BC_F32, 0xFF7FFFFF, "-3.40282347E+38"},
    {BC_F32, 0x4B800000, "0x4B800000"},
    {BC_F32, 0x7F800000, "0x7F800000"},
    {BC_F32, 0xFF800000, "0xFF800000"},
    {BC_F32, 0x7FC00000, "0x7FC00000"},
    {BC_F64, 0x3FF3C0CA428C59FB, "1.2345678901234567"},
    {BC_F64, 0x4005BF0A8B145769, "2.7182818284590451"},
    {BC_F64, 0x0000000000000001, "4.940660e-324"},
    {BC_F64, 0x7FEFFFFFFFFFFFFF, "1.7976931348623157E+308"},
    {BC_F64, 0x419D6F3454000000, "0x419D6F3454000000"},
    {BC_F64, 0x7FF0000000000000, "0x7FF0000000000000"},
    {BC_F64, 0x3F847AE147AE147B, "1.000000e-02"},
    /* half up in the last digit kept, short and long forms */
    {BC_F16, 0x0004, "2.384190e-07"},
    {BC_BF16, 0x000C, "1.102030e-39"},
    {BC_F32, 0x21636369, "7.70421599E-19"},
    {BC_F32, 0xD6225675, "-4.46230535E+13"},
    {BC_F64, 0x000DF9079D5BBAA7, "1.9431531680572642E-308"},
    {BC_F16, 0x7BFF, "6.550400e+04"},
    {BC_F16, 0xFC00, "0xFC00"},
    {BC_BF16, 0x7F7F, "3.389530e+38"},
    {BC_TF32, 0x3FC00, "0x3FC00"},
    {BC_TF32, 0x1FC00, "1.000000e+00"},
    {BC_F8E4M3FN, 0x7E, "4.480000e+02"},
    {BC_F8E4M3FN, 0xFF, "0xFF"},
    {BC_F8E5M2, 0x7C, "0x7C"},
    {BC_F8E8M0FNU, 0x00, "5.877470e-39"},
    {BC_F8E8M0FNU, 0xFF, "0xFF"},
    {BC_F4E2M1FN, 0xF, "-6.000000e+00"},
    {BC_FNV8E5M3FNU, 0x80, "2.000000e+00"},
    {BC_I1, 1, "true"},
    {BC_I1, 0, "false"},
    {BC_I8, 0xFF, "-1"},
    {BC_I4, 0x8, "-8"},
    {BC_I64, 0x8000000000000000, "-9223372036854775808"},
    {BC_I32, 0x7FFFFFFF, "2147483647"},
};

static void test_print(void)
{
    bc_text text;
    bc_text_init(&text, NULL);
    for (size_t i = 0; i < TV_COUNT(printed); i++) {
        uint64_t again = 0;
        bc_text_clear(&text);
        bc_print_number(&text, printed[i].kind, printed[i].bits);
        CHECK_MSG(bc_str_is(bc_text_get(&text), printed[i].text), "%s, not %s", text.ptr, printed[i].text);
        bool reads = bc_parse_number(bc_text_get(&text), printed[i].kind, &again);
        CHECK_MSG(reads && again == printed[i].bits, "%s", text.ptr);
    }
    for (size_t k = 0; k < TV_COUNT(float_kinds); k++) {
        bc_kind kind = float_kinds[k];
        for (uint64_t i = 0; i < input_count(kind); i++) {
            uint64_t bits = input(kind, i), again = ~bits;
            bc_text_clear(&text);
            bc_print_float(&text, kind, bits);
            CHECK_MSG(bc_parse_float(bc_text_get(&text), kind, &again) && again == bits, "%s %llx: %s",
                      bc_kinds[kind].text, (unsigned long long)bits, text.ptr);
        }
    }
    bc_text_release(&text);
}

static uint64_t parsed(const char *s, bc_kind kind)
{
    uint64_t bits = 0xBAD;
    return bc_parse_number(bc_str(s), kind, &bits) ? bits : 0xBAD;
}

/* Random decimals, short and long, near the middle between two floats too, against the C library. */
static void test_parse_random(void)
{
    char text[400];
    for (uint64_t i = 0; i < 30000; i++) {
        uint64_t r = mix(i);
        if (i % 3 == 0) {
            snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(r >> r % 60), (unsigned long long)mix(r),
                     (int)(mix(~r) % 700) - 360);
        } else if (i % 3 == 1) { /* exactly a middle of two f32 */
            float low = bc_f32_from_bits((uint32_t)(r % 0x7F700000));
            double middle = ((double)low + (double)bc_f32_from_bits(bc_f32_bits(low) + 1)) / 2;
            snprintf(text, sizeof text, "%.*e%s", 160, middle, "");
        } else {
            snprintf(text, sizeof text, "%.*e", (int)(r % 30), bc_f64_from_bits(r >> 1 & 0x7FEFFFFFFFFFFFFF));
            if (!strchr(text, '.'))
                continue;
        }
        double d = strtod(text, NULL);
        float f = strtof(text, NULL);
        CHECK_MSG(parsed(text, BC_F64) == (isinf(d) ? 0xBAD : bc_f64_bits(d)), "%s", text);
        CHECK_MSG(parsed(text, BC_F32) == (isinf(f) ? 0xBAD : bc_f32_bits(f)), "%s", text);
    }
}

static void test_parse(void)
{
    static const char *const bad_floats[] = {
        "",      "-",    "+",    ".",     ".5",    "1",        "-1",          "1e5",         "1.0e",
        "1.0e+", "1.0f", "1.0 ", " 1.0",  "1..0",  "1.0e1.0",  "nan",         "inf",         "0x",
        "0xG",   "-0x1", "+0x1", "1_0.0", "--1.0", "1.0e1000", "0x1FFFFFFFF", "0x100000000", "0x10000000000000000"};
    static const char *const bad_ints[] = {"",
                                           "-",
                                           "1.0",
                                           "256",
                                           "-129",
                                           "0x100",
                                           "x",
                                           "0x",
                                           "1 ",
                                           "true",
                                           "--1",
                                           "99999999999999999999",
                                           "18446744073709551616",
                                           "0x10000000000000000"};
    for (size_t i = 0; i < TV_COUNT(bad_floats); i++) {
        CHECK_MSG(parsed(bad_floats[i], BC_F32) == 0xBAD, "%s", bad_floats[i]);
        CHECK(bc_parse_problem(bc_str(bad_floats[i]), BC_F32) != NULL);
    }
    for (size_t i = 0; i < TV_COUNT(bad_ints); i++) {
        CHECK_MSG(parsed(bad_ints[i], BC_I8) == 0xBAD, "%s", bad_ints[i]);
        CHECK(bc_parse_problem(bc_str(bad_ints[i]), BC_I8) != NULL);
    }
    CHECK(parsed("1.", BC_F32) == 0x3F800000 && parsed("+1.0", BC_F32) == 0x3F800000);
    CHECK(parsed("1.5E+01", BC_F16) == 0x4B80 && parsed("-0.0", BC_F16) == 0x8000);
    CHECK(parsed("0x7f800000", BC_F32) == 0x7F800000 && parsed("0X3C00", BC_F16) == 0x3C00);
    CHECK(parsed("0x0000000000000000003C00", BC_F16) == 0x3C00 && parsed("0x10", BC_F4E2M1FN) == 0xBAD);
    CHECK(parsed("255", BC_I8) == 255 && parsed("-128", BC_I8) == 128 && parsed("0xff", BC_I8) == 255);
    CHECK(parsed("true", BC_I1) == 1 && parsed("false", BC_I1) == 0 && parsed("-1", BC_I1) == 1);
    CHECK(parsed("2", BC_I1) == 0xBAD && parsed("-2", BC_I1) == 0xBAD && parsed("-0", BC_I32) == 0);
    CHECK(parsed("18446744073709551615", BC_I64) == UINT64_MAX && parsed("-9223372036854775809", BC_I64) == 0xBAD);
    /* largest finite, and the first values that round beyond it */
    CHECK(parsed("448.0", BC_F8E4M3FN) == 0x7E && parsed("464.0", BC_F8E4M3FN) == 0x7E);
    CHECK(parsed("464.00001", BC_F8E4M3FN) == 0xBAD && parsed("-464.1", BC_F8E4M3FN) == 0xBAD);
    CHECK(parsed("65519.99", BC_F16) == 0x7BFF && parsed("65520.0", BC_F16) == 0xBAD);
    CHECK(parsed("6.9999", BC_F4E2M1FN) == 0x7 && parsed("7.0", BC_F4E2M1FN) == 0xBAD);
    CHECK(parsed("-1.0", BC_F8E8M0FNU) == 0xBAD && parsed("-1.0", BC_FNV8E5M3FNU) == 0xBAD);
    CHECK(parsed("0.0", BC_F8E8M0FNU) == 0 && parsed("0.0", BC_FNV8E5M3FNU) == 0 && parsed("3.0", BC_F8E8M0FNU) == 129);
    /* a middle of two f16 written out, and one digit past everything that is kept */
    CHECK(parsed("1.00048828125", BC_F16) == 0x3C00 && parsed("1.000488281250000000000000000001", BC_F16) == 0x3C01);
    CHECK(parsed("18446744073709553664.", BC_F64) == 0x43F0000000000000); /* 2^64 + 2^11, even below */
    CHECK(parsed("18446744073709553665.", BC_F64) == 0x43F0000000000001);
    CHECK(parsed("0.0e99999999999999999999999", BC_F64) == 0 && parsed("1.0e-99999999999999999999999", BC_F64) == 0);
}

static void test_parse_long(void)
{
    enum { LENGTH = 100000 };
    char *text = malloc(LENGTH + 64);
    if (!text)
        abort();
    /* 1.00048828125 000...0001: above the middle by next to nothing */
    memset(text, '0', LENGTH);
    memcpy(text, "1.00048828125", 13);
    text[LENGTH] = 0;
    CHECK(parsed(text, BC_F16) == 0x3C00);
    strcpy(text + LENGTH, "1");
    CHECK(parsed(text, BC_F16) == 0x3C01);
    /* 100...0.0 e-99999 */
    text[1] = '0';
    text[LENGTH - 2] = '.';
    snprintf(text + LENGTH, 64, "e-%d", LENGTH - 3);
    memset(text + 2, '0', 11);
    CHECK_MSG(parsed(text, BC_F32) == 0x3F800000, "%llx", (unsigned long long)parsed(text, BC_F32));
    memset(text, '9', LENGTH);
    text[1] = '.';
    CHECK(parsed("9.0", BC_F64) != 0xBAD);
    text[LENGTH] = 0;
    CHECK(parsed(text, BC_F64) == 0x4024000000000000);
    free(text);
}

/* ---- packed elements and constants ---- */

static void test_packed(void)
{
    static const unsigned widths[] = {1, 2, 4, 8, 16, 24, 32, 64};
    for (size_t w = 0; w < TV_COUNT(widths); w++) {
        unsigned width = widths[w];
        uint8_t bytes[16 * 8 + 2];
        memset(bytes, 0xA5, sizeof bytes);
        for (unsigned i = 0; i < 16; i++)
            bc_packed_set(bytes + 1, width, i, mix(i));
        for (unsigned i = 0; i < 16; i++)
            CHECK(bc_packed_get(bytes + 1, width, i) == (mix(i) & bc_int_mask(width)));
        CHECK(bytes[0] == 0xA5 && bytes[1 + 2 * width] == 0xA5);
    }
    uint8_t order[2] = {0};
    bc_packed_set(order, 4, 0, 0x1);
    bc_packed_set(order, 4, 1, 0x2);
    bc_packed_set(order, 1, 9, 1);
    CHECK(order[0] == 0x21 && order[1] == 0x02);
    CHECK(bc_kind_pack_bits(BC_TF32) == 32 && bc_kind_pack_bits(BC_F4E2M1FN) == 4 && bc_kind_pack_bits(BC_I1) == 1);
}

static uint64_t element(const char *bytes, size_t len, bc_kind kind, uint64_t count, uint64_t index)
{
    bc_blob blob = {.ptr = (const uint8_t *)bytes, .len = len};
    return bc_constant_element(&blob, kind, count, index);
}

static void test_constants(void)
{
    CHECK(element("\x00\x3C\x00\x40", 4, BC_F16, 2, 1) == 0x4000 && element("\x00\x3C", 2, BC_F16, 64, 63) == 0x3C00);
    CHECK(element("\x00\xFC\x01\x01\x02\x04", 6, BC_TF32, 2, 0) == 0x1FC00);
    CHECK(element("\x00\xFC\x01\x01\x02\xFC", 6, BC_TF32, 2, 1) == 0x40201); /* 19 of 24 bits */
    CHECK(element("\xF2", 1, BC_F4E2M1FN, 8, 5) == 0x2);
    CHECK(element("\x05\x80", 2, BC_I1, 16, 2) == 1 && element("\x05\x80", 2, BC_I1, 16, 15) == 1);
    CHECK(element("\x05\x80", 2, BC_I1, 16, 1) == 0 && element("\x02", 1, BC_I1, 16, 9) == 0);
    CHECK(element("\xFF", 1, BC_I1, 16, 9) == 1 && element("\x01", 1, BC_I1, 16, 9) == 1);
    CHECK(element("\x02", 1, BC_I1, 8, 0) == 0 && element("\x02", 1, BC_I1, 8, 1) == 1);
    CHECK(element("\xFF", 1, BC_I1, 1, 0) == 1 && element("\x01", 1, BC_I1, 1, 0) == 1);
    /* out of range, wrong sizes, kinds that have no constants */
    CHECK(element("\x00\x3C", 2, BC_F16, 64, 64) == 0 && element("\x01\x02\x03", 3, BC_F16, 1, 0) == 0);
    CHECK(element("\x01\x02\x03", 3, BC_I1, 16, 0) == 0 && element("\x01", 1, BC_TILE, 1, 0) == 0);
    bc_blob four = {.ptr = (const uint8_t *)"abcd", .len = 4};
    CHECK(bc_constant_form_of(&four, BC_I8, 4) == BC_CONSTANT_FULL);
    CHECK(bc_constant_form_of(&four, BC_I32, 4) == BC_CONSTANT_SPLAT);
    CHECK(bc_constant_form_of(&four, BC_I32, 1) == BC_CONSTANT_FULL);
    CHECK(bc_constant_form_of(&four, BC_I16, 4) == BC_CONSTANT_WRONG_SIZE);
    CHECK(bc_constant_form_of(&four, BC_I8, UINT64_MAX) == BC_CONSTANT_WRONG_SIZE);
    CHECK(bc_constant_form_of(&four, BC_I64, UINT64_MAX / 2 + 1) == BC_CONSTANT_WRONG_SIZE);
    CHECK(bc_constant_form_of(&four, BC_TILE, 4) == BC_CONSTANT_WRONG_SIZE);
}

/* ---- the two helpers in compiler.h that have a plain C twin ---- */

static void test_wide_multiply(void)
{
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t a = mix(i) >> i % 64, b = mix(~i) >> i / 64 % 64, high, low = tv_multiply_wide(a, b, &high);
        uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
        CHECK(low == a * b);
        CHECK(high
              == a1 * b1 + ((a1 * b0) >> 32) + ((a0 * b1) >> 32)
                     + ((((a0 * b0) >> 32) + ((a1 * b0) & UINT32_MAX) + ((a0 * b1) & UINT32_MAX)) >> 32));
        CHECK(tv_leading_zeros((uint64_t)1 << i % 64) == 63 - i % 64);
        CHECK(a == 0 || a << tv_leading_zeros(a) >> 63 == 1);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--values"))
        return print_values(argc, argv);
    test_references();
    test_machine();
    test_nans();
    test_narrow_pairs();
    test_round_trips();
    test_fast_from_narrow();
    test_fast_to_narrow();
    test_fast_fma();
    test_print();
    test_parse();
    test_parse_random();
    test_parse_long();
    test_packed();
    test_constants();
    test_wide_multiply();
    return TEST_END("number");
}
