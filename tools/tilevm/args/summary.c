/* Checksums and figures of arrays. Arrays are taken in pieces of fixed size, so that the results do not depend on how
   many processors work on them. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "tools/tilevm/args/args.h"

enum { STRIP = 512, PIECE = 1 << 18 };

/* ---- checksums ---- */

static const uint64_t fnv_start = 0xcbf29ce484222325u, fnv_prime = 0x100000001b3u;

static uint64_t fnv(uint64_t sum, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * fnv_prime;
    return sum;
}

uint64_t arg_array_checksum(const arg_array *array)
{
    uint64_t sum = fnv_start;
    arg_walk walk;
    for (arg_walk_start(&walk, array); arg_walk_next(&walk);) {
        const unsigned char *at = walk.at;
        if (walk.step == (int64_t)array->item)
            sum = fnv(sum, at, (size_t)walk.run * array->item);
        else
            for (uint64_t i = 0; i < walk.run; i++, at += walk.step)
                sum = fnv(sum, at, array->item);
    }
    return sum;
}

/* Hashes four words at a time, at the speed of memory; only used to detect changes. */
static uint64_t quick_sum(uint64_t seed, const unsigned char *bytes, size_t size)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t lane[4] = {seed, seed + 1, seed + 2, seed + 3}, word;
    size_t i = 0;
    for (; i + 32 <= size; i += 32)
        for (unsigned k = 0; k < 4; k++) {
            memcpy(&word, bytes + i + 8 * k, 8);
            lane[k] = (lane[k] ^ word) * odd;
            lane[k] ^= lane[k] >> 29;
        }
    uint64_t sum = (lane[0] * 3 + lane[1]) * 5 + lane[2] * 7 + lane[3];
    return fnv(sum * odd, bytes + i, size - i);
}

typedef struct print_job {
    const arg_value *value;
    uint64_t *sums;
} print_job;

/* The memory of an array, gaps and all. */
static void print_array(void *user, uint64_t index)
{
    const print_job *job = user;
    const arg_storage *s = job->value->arrays[index].storage;
    job->sums[index] = s ? quick_sum(index, s->data, s->size) : 0;
}

uint64_t arg_value_fingerprint(const arg_value *value)
{
    uint64_t few[8], sum = 0;
    uint64_t *sums = value->array_count <= TV_COUNT(few) ? few : malloc(value->array_count * sizeof *sums);
    if (!sums)
        return 0;
    print_job job = {.value = value, .sums = sums};
    arg_parallel(value->array_count, print_array, &job);
    for (size_t i = 0; i < value->array_count; i++)
        sum = sum * 31 + sums[i];
    if (sums != few)
        free(sums);
    return sum;
}

/* ---- figures ---- */

/* Of one piece. Integers have low and high of their own, because a double does not hold all of them. */
typedef struct figures {
    double sum, low, high;
    uint64_t low_int, high_int; /* in the order of unsigned numbers */
    uint64_t finite, nan, inf;
} figures;

static void add_strip(figures *f, const double *x, size_t n)
{
    double sum = 0, low = f->low, high = f->high;
    uint64_t finite = 0, nan = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_finite = x[i] - x[i] == 0;
        sum += is_finite ? x[i] : 0;
        finite += is_finite;
        nan += x[i] != x[i];
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    f->sum += sum;
    f->low = low;
    f->high = high;
    f->finite += finite;
    f->nan += nan;
    f->inf += n - finite - nan;
}

/* Integers as unsigned numbers in the same order. */
static uint64_t shifted(tv_dtype dtype, uint64_t bits)
{
    if (!bc_dtypes[dtype].is_signed)
        return bits;
    return (uint64_t)bc_int_sign_extend(bits, bc_kind_bits(bc_dtypes[dtype].kind)) ^ (uint64_t)1 << 63;
}

static void add_run(figures *f, const arg_array *a, const unsigned char *at, int64_t step, uint64_t n)
{
    double strip[STRIP];
    bool is_float = bc_dtype_is_float(a->dtype);
    while (n > 0) {
        size_t count = n < STRIP ? (size_t)n : STRIP;
        arg_get_reals(a->dtype, at, step, count, strip);
        add_strip(f, strip, count);
        for (size_t i = 0; !is_float && i < count; i++) {
            uint64_t x = shifted(a->dtype, arg_load(at + (int64_t)i * step, a->item));
            f->low_int = x < f->low_int ? x : f->low_int;
            f->high_int = x > f->high_int ? x : f->high_int;
        }
        at += (int64_t)count * step;
        n -= count;
    }
}

static const figures no_figures = {.low = INFINITY, .high = -INFINITY, .low_int = UINT64_MAX};

static void merge(figures *f, const figures *more)
{
    f->sum += more->sum;
    f->low = more->low < f->low ? more->low : f->low;
    f->high = more->high > f->high ? more->high : f->high;
    f->low_int = more->low_int < f->low_int ? more->low_int : f->low_int;
    f->high_int = more->high_int > f->high_int ? more->high_int : f->high_int;
    f->finite += more->finite;
    f->nan += more->nan;
    f->inf += more->inf;
}

typedef struct summary_job {
    const arg_array *array;
    figures *pieces;
    uint64_t count; /* of pieces */
    uint64_t checksum;
} summary_job;

/* Step 0 is the checksum, which takes longest and cannot be split; the others are pieces of a packed array. */
static void summary_step(void *user, uint64_t index)
{
    summary_job *job = user;
    const arg_array *a = job->array;
    if (index == 0) {
        job->checksum = arg_array_checksum(a);
        return;
    }
    uint64_t begin = (index - 1) * PIECE, left = a->count - begin;
    figures f = no_figures;
    add_run(&f, a, a->first + begin * a->item, a->item, left < PIECE ? left : PIECE);
    job->pieces[index - 1] = f;
}

static uint64_t real_bits(tv_dtype dtype, double x)
{
    unsigned char bytes[8] = {0};
    arg_put_reals(dtype, bytes, 0, 1, &x);
    return arg_load(bytes, tv_dtype_bits(dtype) / 8);
}

static uint64_t integer_bits(tv_dtype dtype, uint64_t x)
{
    if (bc_dtypes[dtype].is_signed)
        x ^= (uint64_t)1 << 63;
    return x & (UINT64_MAX >> (64 - tv_dtype_bits(dtype)));
}

static void finish(const arg_array *a, const figures *f, arg_summary *out)
{
    bool is_float = bc_dtype_is_float(a->dtype);
    out->nan_count = f->nan;
    out->inf_count = f->inf;
    out->has_range = f->finite + f->inf > 0;
    out->mean = f->finite ? f->sum / (double)f->finite : 0;
    if (!out->has_range)
        return;
    out->min = is_float ? real_bits(a->dtype, f->low) : integer_bits(a->dtype, f->low_int);
    out->max = is_float ? real_bits(a->dtype, f->high) : integer_bits(a->dtype, f->high_int);
}

void arg_array_summary(const arg_array *array, arg_summary *out)
{
    summary_job job = {.array = array, .count = array->packed ? (array->count + PIECE - 1) / PIECE : 0};
    figures f = no_figures;
    *out = (arg_summary){0};
    job.pieces = job.count ? malloc((size_t)job.count * sizeof f) : NULL;
    if (job.pieces) {
        arg_parallel(1 + job.count, summary_step, &job);
        for (uint64_t i = 0; i < job.count; i++)
            merge(&f, &job.pieces[i]);
    } else {
        arg_walk walk;
        job.checksum = arg_array_checksum(array);
        for (arg_walk_start(&walk, array); arg_walk_next(&walk);)
            add_run(&f, array, walk.at, walk.step, walk.run);
    }
    free(job.pieces);
    out->checksum = job.checksum;
    finish(array, &f, out);
}
