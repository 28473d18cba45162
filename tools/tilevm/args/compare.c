/* Results against expected ones, and the report for those that differ. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "tools/tilevm/args/args.h"

/* ---- tolerances ---- */

static const char *const mode_names[] = {"close", "equal", "bits", "sorted"};

const char *arg_mode_name(arg_mode mode)
{
    return mode_names[mode];
}

/* About the precision of the type; those of f16, bf16, f32 and f64 are what PyTorch's tests use. */
arg_tolerance arg_tolerance_default(tv_dtype dtype)
{
    static const struct {
        tv_dtype dtype;
        double rtol, atol;
    } table[] = {{TV_F64, 1e-7, 1e-7},    {TV_F32, 1.3e-6, 1e-5},  {TV_TF32, 1e-3, 1e-5},
                 {TV_F16, 1e-3, 1e-5},    {TV_BF16, 1.6e-2, 1e-5}, {TV_F8E4M3FN, 0.125, 1e-3},
                 {TV_F8E5M2, 0.25, 1e-3}, {TV_F8E8M0FNU, 0, 0},    {TV_F8E5M3FNU, 0.125, 1e-3}};
    for (size_t i = 0; i < TV_COUNT(table); i++)
        if (table[i].dtype == dtype)
            return (arg_tolerance){.mode = ARG_CLOSE, .rtol = table[i].rtol, .atol = table[i].atol};
    return (arg_tolerance){.mode = ARG_SAME};
}

static bool get_bound(tv_str s, const char *name, double *out, io_error *error)
{
    uint64_t bits = 0;
    io_error inner;
    errno = 0;
    if (!arg_parse_value(s, TV_F64, &bits, &inner) || !(arg_value_of(TV_F64, bits) >= 0))
        return io_fail_errno(error, "%s is '%.*s'; it must be a number from 0 on", name, s.len < 60 ? (int)s.len : 60,
                             s.ptr);
    *out = arg_value_of(TV_F64, bits);
    return true;
}

bool arg_tolerance_keys(const arg_spec *spec, arg_tolerance *tolerance, io_error *error)
{
    tv_str rtol = spec->keys[ARG_KEY_RTOL], atol = spec->keys[ARG_KEY_ATOL], mode = spec->keys[ARG_KEY_MODE];
    if (rtol.ptr || atol.ptr)
        tolerance->mode = ARG_CLOSE;
    if (rtol.ptr && !get_bound(rtol, "rtol", &tolerance->rtol, error))
        return false;
    if (atol.ptr && !get_bound(atol, "atol", &tolerance->atol, error))
        return false;
    if (!mode.ptr)
        return true;
    for (int i = 0; i < (int)TV_COUNT(mode_names); i++)
        if (bc_str_is(mode, mode_names[i])) {
            tolerance->mode = (arg_mode)i;
            return true;
        }
    return io_fail(error, "mode is '%.*s'; it is close, equal, bits or sorted", mode.len < 60 ? (int)mode.len : 60,
                   mode.ptr);
}

/* ---- elements ---- */

/* Integers in the order of the numbers, one apart for neighbours. */
static bool ordered(tv_dtype dtype, uint64_t bits, int64_t *out)
{
    bc_kind kind = bc_dtypes[dtype].kind;
    if (!bc_dtype_is_float(dtype)) {
        *out = bc_dtypes[dtype].is_signed ? bc_int_sign_extend(bits, bc_kind_bits(kind))
                                          : (int64_t)(bits ^ (uint64_t)1 << 63);
        return true;
    }
    if (isnan(arg_value_of(dtype, bits)))
        return false;
    if (dtype == TV_TF32)
        bits = bc_tf32_from_cell((uint32_t)bits);
    uint64_t sign = bc_float_format_of(kind)->has_sign ? (uint64_t)1 << (bc_kind_bits(kind) - 1) : 0;
    *out = bits & sign ? -(int64_t)(bits & ~sign) : (int64_t)bits;
    return true;
}

static uint64_t steps_between(tv_dtype dtype, uint64_t a, uint64_t b)
{
    int64_t x, y;
    if (!ordered(dtype, a, &x) || !ordered(dtype, b, &y))
        return UINT64_MAX;
    return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

/* The error as a multiple of the tolerance, in steps if the tolerance is 0; 0 for a match. */
static double excess(const arg_tolerance *t, tv_dtype dtype, uint64_t got, uint64_t want)
{
    double g = arg_value_of(dtype, got), w = arg_value_of(dtype, want), steps = (double)steps_between(dtype, got, want);
    if (got == want)
        return 0;
    if (t->mode == ARG_SAME)
        return steps > 0 ? steps : 1; /* 0 and -0 are equal */
    if (bc_dtype_is_float(dtype)) {
        if (isnan(g) || isnan(w))
            return isnan(g) && isnan(w) ? 0 : INFINITY;
        if (g == w)
            return 0;
        if (isinf(g) || isinf(w))
            return INFINITY;
    }
    double off = bc_dtype_is_float(dtype) ? fabs(g - w) : steps;
    double allowed = t->mode == ARG_CLOSE ? t->atol + t->rtol * fabs(w) : 0;
    return off <= allowed ? 0 : allowed > 0 ? off / allowed : steps;
}

static void keep_worst(arg_comparison *c, arg_difference d)
{
    unsigned at = c->worst_count;
    while (at > 0 && c->worst[at - 1].excess < d.excess)
        at--;
    if (at == ARG_WORST)
        return;
    if (c->worst_count < ARG_WORST)
        c->worst_count++;
    memmove(&c->worst[at + 1], &c->worst[at], (c->worst_count - 1 - at) * sizeof d);
    c->worst[at] = d;
}

/* ---- whole arrays ---- */

/* The expected elements, packed and in the type of the result. */
static unsigned char *expected(const arg_array *want, const arg_array *got)
{
    unsigned char *from = arg_array_packed(want), *to;
    if (!from || want->dtype == got->dtype)
        return from;
    to = malloc(want->count ? want->count * got->item : 1);
    for (uint64_t i = 0; to && i < want->count; i++) {
        uint64_t bits = arg_load(from + i * want->item, want->item);
        bc_kind kind = bc_dtypes[want->dtype].kind, other = bc_dtypes[got->dtype].kind;
        if (want->dtype == TV_TF32)
            bits = bc_tf32_from_cell((uint32_t)bits);
        bits = bc_float_convert(other, kind, bits, BC_RoundingMode_nearest_even);
        arg_store(to + i * got->item, got->item, got->dtype == TV_TF32 ? bc_tf32_to_cell(bits) : bits);
    }
    free(from);
    return to;
}

static int by_8(const void *a, const void *b)
{
    return memcmp(a, b, 8);
}

/* Sorts packed elements by value, NaN last. */
static bool sort_elements(unsigned char *elements, const arg_array *array)
{
    if (array->count > SIZE_MAX / 16)
        return false;
    unsigned char *keys = malloc(array->count ? array->count * 16 : 1);
    if (!keys)
        return false;
    for (uint64_t i = 0; i < array->count; i++) {
        uint64_t bits = arg_load(elements + i * array->item, array->item);
        int64_t order = INT64_MAX;
        ordered(array->dtype, bits, &order);
        for (unsigned b = 0; b < 8; b++) /* big-endian, so that memcmp compares numbers */
            keys[i * 16 + b] = (unsigned char)(((uint64_t)order ^ (uint64_t)1 << 63) >> (56 - 8 * b));
        memcpy(keys + i * 16 + 8, &bits, 8);
    }
    qsort(keys, array->count, 16, by_8);
    for (uint64_t i = 0; i < array->count; i++)
        arg_store(elements + i * array->item, array->item, arg_load(keys + i * 16 + 8, 8));
    free(keys);
    return true;
}

static bool same_shape(const arg_array *a, const arg_array *b)
{
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) == 0;
}

static void compare_elements(const unsigned char *got, const unsigned char *want, const arg_array *array,
                             const arg_tolerance *tolerance, arg_comparison *out)
{
    for (uint64_t i = 0; i < array->count; i++) {
        uint64_t g = arg_load(got + i * array->item, array->item), w = arg_load(want + i * array->item, array->item);
        double over = g == w ? 0 : excess(tolerance, array->dtype, g, w);
        if (over == 0)
            continue;
        const arg_difference d = {i, g, w, over, steps_between(array->dtype, g, w)};
        if (!out->wrong++)
            out->first = d;
        out->wrong_bits[i / 8] |= (unsigned char)(1u << i % 8);
        keep_worst(out, d);
    }
}

static double largest_magnitude(const arg_array *array)
{
    arg_summary s;
    arg_array_summary(array, &s);
    return s.has_range ? fmax(fabs(arg_value_of(array->dtype, s.min)), fabs(arg_value_of(array->dtype, s.max))) : 0;
}

/* The tolerance, with that for the order of sums in these arrays. */
static arg_tolerance with_sums(const arg_array *got, const arg_array *want, arg_tolerance t, double *out_slack)
{
    *out_slack = 0;
    if (t.mode != ARG_CLOSE || !(t.sums > 0))
        return t;
    double largest = fmax(largest_magnitude(got), largest_magnitude(want));
    *out_slack = isfinite(largest) ? t.sums * largest : 0;
    t.atol += *out_slack;
    return t;
}

bool arg_comparable(const arg_array *got, const arg_array *want, const arg_tolerance *tolerance, io_error *error)
{
    bc_text a, b;
    bool floats = bc_dtype_is_float(got->dtype) && bc_dtype_is_float(want->dtype) && tolerance->mode != ARG_SAME;
    if (same_shape(got, want) && (got->dtype == want->dtype || floats))
        return true;
    bc_text_init(&a, NULL);
    bc_text_init(&b, NULL);
    arg_print_type(&a, got);
    arg_print_type(&b, want);
    io_fail(error, "it is %.200s, but %.200s is expected", bc_text_words(&a), bc_text_words(&b));
    bc_text_release(&a);
    bc_text_release(&b);
    return false;
}

bool arg_compare(const arg_array *got, const arg_array *want, const arg_tolerance *tolerance, arg_comparison *out,
                 io_error *error)
{
    *out = (arg_comparison){.tolerance = *tolerance, .count = got->count};
    if (!arg_comparable(got, want, tolerance, error))
        return false;
    arg_tolerance allowed = with_sums(got, want, *tolerance, &out->slack);
    unsigned char *found = arg_array_packed(got), *wanted = expected(want, got);
    out->wrong_bits = calloc(got->count / 8 + 1, 1);
    bool good = found && wanted && out->wrong_bits;
    if (good && tolerance->mode == ARG_SORTED)
        good = sort_elements(found, got) && sort_elements(wanted, got);
    if (good)
        compare_elements(found, wanted, got, &allowed, out);
    else
        io_fail(error, "out of memory");
    free(found);
    free(wanted);
    if (!good)
        arg_comparison_free(out);
    return good;
}

void arg_comparison_free(arg_comparison *comparison)
{
    free(comparison->wrong_bits);
    comparison->wrong_bits = NULL;
}

/* ---- report ---- */

void arg_print_type(bc_text *out, const arg_array *array)
{
    bc_text_printf(out, "%s[", tv_dtype_name(array->dtype));
    for (uint32_t i = 0; i < array->ndim; i++)
        bc_text_printf(out, "%s%lld", i ? ", " : "", (long long)array->shape[i]);
    bc_text_char(out, ']');
}

void arg_index_of(const arg_array *array, uint64_t place, int64_t *out_index)
{
    for (uint32_t i = array->ndim; i-- > 0;) {
        out_index[i] = (int64_t)(place % (uint64_t)array->shape[i]);
        place /= (uint64_t)array->shape[i];
    }
}

void arg_print_index(bc_text *out, const arg_array *array, uint64_t place)
{
    int64_t index[TV_MAX_RANK];
    arg_index_of(array, place, index);
    bc_text_char(out, '[');
    for (uint32_t i = 0; i < array->ndim; i++)
        bc_text_printf(out, "%s%lld", i ? ", " : "", (long long)index[i]);
    bc_text_char(out, ']');
}

/* "got 1  want 2  (0x3f800000, 0x40000000)  off by 1, 8388608 ulp" */
static void print_values(bc_text *out, tv_dtype dtype, const arg_difference *d, const char *got, const char *want)
{
    double g = arg_value_of(dtype, d->got), w = arg_value_of(dtype, d->want);
    int digits = (int)tv_dtype_bits(dtype) / 4;
    bc_text_printf(out, "%s ", got);
    arg_print_value(out, dtype, d->got);
    bc_text_printf(out, "  %s ", want);
    arg_print_value(out, dtype, d->want);
    bc_text_printf(out, "  (0x%0*llx, 0x%0*llx)", digits, (unsigned long long)d->got, digits,
                   (unsigned long long)d->want);
    if (isfinite(g) && isfinite(w))
        bc_text_printf(out, "  off by %.3g", fabs(g - w));
    if (d->ulp != UINT64_MAX && bc_dtype_is_float(dtype))
        bc_text_printf(out, ", %llu ulp", (unsigned long long)d->ulp);
}

void arg_print_difference(bc_text *out, const arg_array *array, const arg_difference *d, const char *got,
                          const char *want)
{
    arg_print_index(out, array, d->place);
    bc_text_puts(out, "  ");
    print_values(out, array->dtype, d, got, want);
}

static void print_worst(bc_text *out, const arg_array *got, const arg_comparison *c)
{
    for (unsigned i = 0; i < c->worst_count; i++) {
        const arg_difference *d = &c->worst[i];
        bc_text_puts(out, "    ");
        if (c->tolerance.mode == ARG_SORTED)
            bc_text_printf(out, "sorted %llu", (unsigned long long)d->place);
        else
            arg_print_index(out, got, d->place);
        bc_text_puts(out, "  ");
        print_values(out, got->dtype, d, "got", "want");
        bc_text_char(out, '\n');
    }
}

/* How many of the elements [from, to) of a row are wrong. */
static uint64_t count_wrong(const arg_comparison *c, uint64_t from, uint64_t to)
{
    uint64_t wrong = 0;
    for (uint64_t i = from; i < to; i++)
        wrong += c->wrong_bits[i / 8] >> i % 8 & 1;
    return wrong;
}

enum { PICTURE_COLUMNS = 64, PICTURE_ROWS = 16 };

/* The array as a matrix, its leading axes folded into the rows: a mark for each block of elements. */
static void print_picture(bc_text *out, const arg_array *got, const arg_comparison *c)
{
    uint64_t columns = got->ndim ? (uint64_t)got->shape[got->ndim - 1] : 1, rows = got->count / columns;
    if (got->ndim == 1 && columns > PICTURE_COLUMNS) { /* a long vector is folded */
        rows = (columns + PICTURE_COLUMNS - 1) / PICTURE_COLUMNS;
        columns = PICTURE_COLUMNS;
    }
    uint64_t high = (rows + PICTURE_ROWS - 1) / PICTURE_ROWS, wide = (columns + PICTURE_COLUMNS - 1) / PICTURE_COLUMNS;
    if (got->count == 1)
        return;
    bc_text_printf(out, "  where (a mark is %llu x %llu elements; . none, + some, # all wrong):\n",
                   (unsigned long long)high, (unsigned long long)wide);
    for (uint64_t row = 0; row < rows; row += high) {
        bc_text_puts(out, "    ");
        for (uint64_t column = 0; column < columns; column += wide) {
            uint64_t wrong = 0, all = 0;
            for (uint64_t r = row; r < row + high && r < rows; r++) {
                uint64_t from = r * columns + column, end = column + wide < columns ? from + wide : (r + 1) * columns;
                if (end > c->count)
                    end = c->count;
                if (from >= end)
                    continue;
                wrong += count_wrong(c, from, end);
                all += end - from;
            }
            if (all > 0)
                bc_text_char(out, wrong == 0 ? '.' : wrong == all ? '#' : '+');
        }
        bc_text_char(out, '\n');
    }
}

void arg_comparison_print_tolerance(bc_text *out, const arg_comparison *c)
{
    const arg_tolerance *t = &c->tolerance;
    if (t->mode != ARG_CLOSE) {
        bc_text_puts(out, arg_mode_name(t->mode));
        return;
    }
    bc_text_printf(out, "rtol %g, atol %g", t->rtol, t->atol);
    if (c->slack > 0)
        bc_text_printf(out, ", and %.3g for sums of %.0f terms in %s", c->slack, t->terms, tv_dtype_name(t->sum_dtype));
}

void arg_comparison_print(bc_text *out, const char *name, const arg_array *got, const arg_comparison *comparison)
{
    const arg_tolerance *t = &comparison->tolerance;
    bc_text_printf(out, "%s: %llu of %llu elements differ (", name, (unsigned long long)comparison->wrong,
                   (unsigned long long)comparison->count);
    if (t->mode == ARG_SAME)
        bc_text_puts(out, "same bits asked for");
    else
        arg_comparison_print_tolerance(out, comparison);
    bc_text_puts(out, ")\n  worst:\n");
    print_worst(out, got, comparison);
    if (t->mode != ARG_SORTED)
        print_picture(out, got, comparison);
}
