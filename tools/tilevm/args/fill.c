/* Generators. Only +, -, *, / and sqrt of doubles are used, which are the same on every machine. */
#include <math.h>
#include <string.h>

#include "tools/tilevm/args/args.h"

/* Two rounds of multiply and shift; the same as the test corpus uses for indices below 2^32. */
uint32_t arg_hash(uint32_t seed, uint64_t i)
{
    uint32_t x = (uint32_t)i * 0x9e3779b9u + (uint32_t)(i >> 32) * 0xc2b2ae35u + (seed * 0x85ebca6bu + 0x165667b1u);
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

/* ---- normal distribution ---- */

/* log x for a positive, normal x: the power of two, and atanh of what is left. */
static double log_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    memcpy(&x, &bits, sizeof x);
    if (x > 1.4142135623730951) {
        x /= 2;
        exponent++;
    }
    double z = (x - 1) / (x + 1), square = z * z, sum = 0;
    for (int k = 27; k > 0; k -= 2)
        sum = sum * square + 1.0 / k;
    return exponent * 0.6931471805599453 + 2 * z * sum;
}

/* a[0] + a[1] x + ... */
static double polynomial(const double *a, unsigned count, double x)
{
    double sum = 0;
    while (count > 0)
        sum = sum * x + a[--count];
    return sum;
}

/* Quantile of the normal distribution, 0 < p < 1: the rational functions of Wichura's algorithm AS 241. */
static double normal_quantile(double p)
{
    static const double a[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                               1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                               3.3430575583588128105e+4, 2.5090809287301226727e+3};
    static const double b[] = {1.0,
                               4.2313330701600911252e+1,
                               6.8718700749205790830e+2,
                               5.3941960214247511077e+3,
                               2.1213794301586595867e+4,
                               3.9307895800092710610e+4,
                               2.8729085735721942674e+4,
                               5.2264952788528545610e+3};
    static const double c[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                               3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[] = {1.0,
                               2.05319162663775882187e0,
                               1.67638483018380384940e0,
                               6.89767334985100004550e-1,
                               1.48103976427480074590e-1,
                               1.51986665636164571966e-2,
                               5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
    static const double e[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                               2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[] = {1.0,
                               5.99832206555887937690e-1,
                               1.36929880922735805310e-1,
                               1.48753612908506148525e-2,
                               7.86869131145613259100e-4,
                               1.84631831751005468180e-5,
                               1.42151175831644588870e-7,
                               2.04426310338993978564e-15};
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q * polynomial(a, 8, r) / polynomial(b, 8, r);
    }
    double r = sqrt(-log_of(q < 0 ? p : 1 - p)), x;
    if (r <= 5)
        x = polynomial(c, 8, r - 1.6) / polynomial(d, 8, r - 1.6);
    else
        x = polynomial(e, 8, r - 5) / polynomial(f, 8, r - 5);
    return q < 0 ? -x : x;
}

/* ---- strips: reals as doubles, integers as such ---- */

enum { STRIP = 512, PIECE = 1 << 18 };

static void uniform(const arg_filler *f, uint64_t from, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = f->low + (f->high - f->low) * ((double)(arg_hash(f->seed, from + i) >> 8) / 16777216.0);
}

static void normal(const arg_filler *f, uint64_t from, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        double u = (double)(arg_hash(f->seed, from + i) >> 8) / 16777216.0;
        out[i] = f->mean + f->std * normal_quantile(u + 1.0 / 33554432.0);
    }
}

static void integers(const arg_filler *f, uint64_t from, size_t n, uint64_t *out)
{
    uint64_t range = (uint64_t)f->int_high - (uint64_t)f->int_low;
    for (size_t i = 0; i < n; i++) {
        uint32_t h = arg_hash(f->seed, from + i);
        if (range <= UINT32_MAX)
            out[i] = (uint64_t)f->int_low + h % (uint32_t)range;
        else
            out[i] = (uint64_t)f->int_low + (h | (uint64_t)arg_hash(f->seed ^ 0x55555555u, from + i) << 32) % range;
    }
}

/* How far along a range element i is. */
static uint64_t place(const arg_filler *f, uint64_t i)
{
    return f->mod > 0 ? i % (uint64_t)f->mod : i;
}

/* False for kinds that are not real numbers. */
static bool reals(const arg_filler *f, uint64_t from, size_t n, double *out)
{
    uint64_t ints[STRIP];
    switch (f->kind) {
    case ARG_FILL_UNIFORM: uniform(f, from, n, out); return true;
    case ARG_FILL_RANDN: normal(f, from, n, out); return true;
    case ARG_FILL_ARANGE:
        for (size_t i = 0; i < n; i++)
            out[i] = f->start + f->step * (double)place(f, from + i);
        return true;
    case ARG_FILL_RANDINT:
        integers(f, from, n, ints);
        for (size_t i = 0; i < n; i++)
            out[i] = (double)(int64_t)ints[i] / f->den;
        return true;
    case ARG_FILL_BITS:
    case ARG_FILL_RANDOM_BITS: break;
    }
    return false;
}

/* Reals in integer arrays: the floor, so that uniform(i32, n, 0, 10) gives 0 to 9 equally often. */
static uint64_t floor_bits(double x)
{
    x = floor(x);
    if (!(x > -9.2e18))
        return (uint64_t)INT64_MIN;
    if (x >= 1.8446744073709552e19)
        return UINT64_MAX;
    return x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x;
}

static void patterns(const arg_filler *f, uint64_t from, size_t n, uint64_t *out)
{
    double strip[STRIP];
    switch (f->kind) {
    case ARG_FILL_BITS:
        for (size_t i = 0; i < n; i++)
            out[i] = f->bits;
        break;
    case ARG_FILL_RANDOM_BITS:
        for (size_t i = 0; i < n; i++)
            out[i] = arg_hash(f->seed, 2 * (from + i)) | (uint64_t)arg_hash(f->seed, 2 * (from + i) + 1) << 32;
        break;
    case ARG_FILL_ARANGE:
        for (size_t i = 0; i < n; i++)
            out[i] = (uint64_t)f->int_start + (uint64_t)f->int_step * place(f, from + i);
        break;
    case ARG_FILL_RANDINT: integers(f, from, n, out); break;
    case ARG_FILL_UNIFORM:
    case ARG_FILL_RANDN:
        reals(f, from, n, strip);
        for (size_t i = 0; i < n; i++)
            out[i] = floor_bits(strip[i]);
        break;
    }
}

static void store_patterns(const arg_array *a, unsigned char *at, int64_t step, size_t n, const uint64_t *bits)
{
    if (a->dtype == TV_BOOL)
        for (size_t i = 0; i < n; i++)
            at[(int64_t)i * step] = bits[i] & 1;
    else
        for (size_t i = 0; i < n; i++)
            arg_store(at + (int64_t)i * step, a->item, bits[i]);
}

/* ---- whole arrays ---- */

static void fill_run(const arg_array *a, const arg_filler *f, unsigned char *at, int64_t step, uint64_t from,
                     uint64_t n)
{
    double values[STRIP];
    uint64_t bits[STRIP];
    while (n > 0) {
        size_t count = n < STRIP ? (size_t)n : STRIP;
        if (bc_dtype_is_float(a->dtype) && reals(f, from, count, values)) {
            arg_put_reals(a->dtype, at, step, count, values);
        } else {
            patterns(f, from, count, bits);
            store_patterns(a, at, step, count, bits);
        }
        at += (int64_t)count * step;
        from += count;
        n -= count;
    }
}

typedef struct fill_job {
    const arg_array *array;
    const arg_filler *filler;
} fill_job;

static void fill_piece(void *user, uint64_t index)
{
    const fill_job *job = user;
    const arg_array *a = job->array;
    uint64_t begin = index * PIECE, left = a->count - begin;
    fill_run(a, job->filler, a->first + begin * a->item, a->item, begin, left < PIECE ? left : PIECE);
}

void arg_fill(arg_array *array, const arg_filler *filler)
{
    if (array->packed) {
        fill_job job = {.array = array, .filler = filler};
        arg_parallel((array->count + PIECE - 1) / PIECE, fill_piece, &job);
        return;
    }
    arg_walk walk;
    for (arg_walk_start(&walk, array); arg_walk_next(&walk);)
        fill_run(array, filler, walk.at, walk.step, walk.done, walk.run);
}
