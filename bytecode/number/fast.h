/* Conversions and arithmetic for inner loops: the same results as number.h, bit for bit, in straight-line code that
   compilers turn into vector instructions (gcc -O3). Needs the machine's default floating-point state: nearest_even, no
   flushing, and float and double arithmetic that is not done wider. Rounding is nearest_even. */
#ifndef TILEVM_BYTECODE_NUMBER_FAST_H
#define TILEVM_BYTECODE_NUMBER_FAST_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "bytecode/number/fast.h needs float and double arithmetic without extra precision (on x86: SSE2)"
#endif

static inline uint32_t bc_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline float bc_f32_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint64_t bc_f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline double bc_f64_from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

enum { BC_F32_NAN = 0x7FFFFFFF };

/* a where condition is 1, b where it is 0. With ?: gcc moves a floating-point operation that only one side needs into a
   branch, and then cannot vectorise. */
static inline uint32_t bc_pick(uint32_t condition, uint32_t a, uint32_t b)
{
    uint32_t mask = 0u - condition;
    return (a & mask) | (b & ~mask);
}

/* ---- narrow to f32: exact ---- */

static inline float bc_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7FFF;
    uint32_t normal = (magnitude << 13) + (112u << 23);
    uint32_t subnormal = bc_f32_bits((float)(int32_t)magnitude * 0x1p-24f);
    uint32_t bits = sign | bc_pick(magnitude < 0x0400, subnormal, normal);
    bits = bc_pick(magnitude == 0x7C00, sign | 0x7F800000, bits);
    return bc_f32_from_bits(bc_pick(magnitude > 0x7C00, BC_F32_NAN, bits));
}

static inline float bc_bf16_to_f32(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    return bc_f32_from_bits((bits & 0x7FFFFFFF) > 0x7F800000 ? BC_F32_NAN : bits);
}

static inline float bc_f8e5m2_to_f32(uint8_t b)
{
    return bc_f16_to_f32((uint16_t)(b << 8));
}

static inline float bc_f8e4m3_to_f32(uint8_t b)
{
    uint32_t sign = (uint32_t)(b & 0x80) << 24, magnitude = b & 0x7F;
    uint32_t normal = (magnitude << 20) + (120u << 23);
    uint32_t subnormal = bc_f32_bits((float)(int32_t)magnitude * 0x1p-9f);
    uint32_t bits = sign | bc_pick(magnitude < 0x08, subnormal, normal);
    return bc_f32_from_bits(bc_pick(magnitude == 0x7F, BC_F32_NAN, bits));
}

static inline float bc_f8e8m0_to_f32(uint8_t b)
{
    uint32_t bits = b ? (uint32_t)b << 23 : 0x00400000;
    return bc_f32_from_bits(b == 0xFF ? BC_F32_NAN : bits);
}

static inline float bc_f8e5m3_to_f32(uint8_t b)
{
    uint32_t magnitude = b;
    uint32_t normal = (magnitude << 20) + (112u << 23);
    uint32_t subnormal = bc_f32_bits((float)(int32_t)magnitude * 0x1p-17f);
    uint32_t bits = bc_pick(magnitude < 0x08, subnormal, normal);
    return bc_f32_from_bits(bc_pick(b == 0xFF, BC_F32_NAN, bits));
}

static inline float bc_f4e2m1_to_f32(uint8_t b)
{
    uint32_t sign = (uint32_t)(b & 0x8) << 28, magnitude = b & 0x7;
    uint32_t normal = (magnitude << 22) + (126u << 23);
    uint32_t subnormal = magnitude ? 0x3F000000 : 0;
    return bc_f32_from_bits(sign | (magnitude < 2 ? subnormal : normal));
}

/* A tf32 cell of memory is read as an f32, low bits and all. */
static inline float bc_tf32_cell_to_f32(uint32_t cell)
{
    return bc_f32_from_bits((cell & 0x7FFFFFFF) > 0x7F800000 ? BC_F32_NAN : cell);
}

/* ---- f32 to narrow, nearest_even ---- */

/* The f32 magnitude without its low `drop` bits, rounded; `rebias` is added first. */
static inline uint32_t bc_round_bits(uint32_t magnitude, uint32_t rebias, unsigned drop)
{
    return (magnitude + rebias + ((1u << (drop - 1)) - 1) + (magnitude >> drop & 1)) >> drop;
}

/* Subnormals of the target: adding `one_unit_in_last_place`, whose own last place is the target's smallest step, lets
   the machine round. */
static inline uint32_t bc_round_subnormal(uint32_t magnitude, float one_unit_in_last_place)
{
    return bc_f32_bits(bc_f32_from_bits(magnitude) + one_unit_in_last_place) - bc_f32_bits(one_unit_in_last_place);
}

static inline uint16_t bc_f32_to_f16(float x)
{
    uint32_t bits = bc_f32_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    uint32_t normal = bc_round_bits(magnitude, 0u - (112u << 23), 13);
    uint32_t subnormal = bc_round_subnormal(magnitude, 0.5f);
    normal = normal > 0x7C00 ? 0x7C00 : normal;
    uint32_t result = sign | bc_pick(magnitude < 0x38800000, subnormal, normal);
    return (uint16_t)bc_pick(magnitude > 0x7F800000, 0x7FFF, result);
}

static inline uint16_t bc_f32_to_bf16(float x)
{
    uint32_t bits = bc_f32_bits(x);
    uint32_t rounded = bc_round_bits(bits, 0, 16);
    return (uint16_t)bc_pick((bits & 0x7FFFFFFF) > 0x7F800000, 0x7FFF, rounded);
}

static inline uint32_t bc_f32_to_tf32_cell(float x)
{
    uint32_t bits = bc_f32_bits(x);
    uint32_t rounded = bc_round_bits(bits, 0, 13) << 13;
    return (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFE000 : rounded;
}

static inline uint8_t bc_f32_to_f8e5m2(float x)
{
    uint32_t bits = bc_f32_bits(x), sign = bits >> 24 & 0x80, magnitude = bits & 0x7FFFFFFF;
    uint32_t normal = bc_round_bits(magnitude, 0u - (112u << 23), 21);
    uint32_t subnormal = bc_round_subnormal(magnitude, 0x1p7f);
    normal = normal > 0x7B ? 0x7B : normal;
    uint32_t result = sign | bc_pick(magnitude < 0x38800000, subnormal, normal);
    return (uint8_t)bc_pick(magnitude > 0x7F800000, 0x7F, result);
}

static inline uint8_t bc_f32_to_f8e4m3(float x)
{
    uint32_t bits = bc_f32_bits(x), sign = bits >> 24 & 0x80, magnitude = bits & 0x7FFFFFFF;
    uint32_t normal = bc_round_bits(magnitude, 0u - (120u << 23), 20);
    uint32_t subnormal = bc_round_subnormal(magnitude, 0x1p14f);
    normal = normal > 0x7E ? 0x7E : normal;
    uint32_t result = sign | bc_pick(magnitude < 0x3C800000, subnormal, normal);
    return (uint8_t)bc_pick(magnitude > 0x7F800000, 0x7F, result);
}

/* ---- rounding to odd, so that a second rounding does no harm ---- */

/* x as f32, where an inexact result has its last bit set. Rounding that once more, to at most 22 significant bits, in
   any mode, gives what rounding x would. A NaN stays one. */
static inline float bc_f64_to_f32_odd(double x)
{
    uint32_t bits = bc_f32_bits((float)x), even = ~bits & 1;
    uint64_t magnitude = bc_f64_bits(x) & INT64_MAX;
    uint64_t rounded = bc_f64_bits((double)bc_f32_from_bits(bits)) & INT64_MAX;
    /* Next to an even pattern that is not x stands the odd one on the side of x. */
    uint32_t up = (uint32_t)((rounded - magnitude) >> 63), down = (uint32_t)((magnitude - rounded) >> 63);
    return bc_f32_from_bits(bits + (up & even) - (down & even));
}

static inline uint16_t bc_f64_to_f16(double x)
{
    return bc_f32_to_f16(bc_f64_to_f32_odd(x));
}
static inline uint16_t bc_f64_to_bf16(double x)
{
    return bc_f32_to_bf16(bc_f64_to_f32_odd(x));
}

/* a * b + c for values of f32 (or narrower) as a double rounded to odd: exact product, then a sum whose error is
   known. Rounding that once more to f32 or narrower, in any mode, gives the fused result. */
static inline double bc_fma_odd(float a, float b, float c)
{
    double product = (double)a * (double)b, addend = (double)c;
    double sum = product + addend;
    double part = sum - product;
    double error = (product - (sum - part)) + (addend - part);
    uint64_t bits = bc_f64_bits(sum), even = ~bits & 1;
    /* Next to an even sum that has an error stands the odd one on the side of the error: one step out if both have the
       same sign, else one step in. With a NaN or Inf for a sum the error is a NaN. All with integers, because gcc does
       not vectorise comparisons of doubles whose results become numbers. */
    uint64_t size = bc_f64_bits(error) & INT64_MAX;
    uint64_t inexact = (0 - size) >> 63 & ~(((size >> 52) + 1) >> 11);
    uint64_t inward = (bits ^ bc_f64_bits(error)) >> 63;
    return bc_f64_from_bits(bits + ((inexact & even) ^ (0 - inward)) + inward);
}

static inline float bc_f32_fma(float a, float b, float c)
{
    float result = (float)bc_fma_odd(a, b, c);
    return result == result ? result : bc_f32_from_bits(BC_F32_NAN);
}
static inline uint16_t bc_f16_fma(uint16_t a, uint16_t b, uint16_t c)
{
    return bc_f64_to_f16(bc_fma_odd(bc_f16_to_f32(a), bc_f16_to_f32(b), bc_f16_to_f32(c)));
}
static inline uint16_t bc_bf16_fma(uint16_t a, uint16_t b, uint16_t c)
{
    return bc_f64_to_bf16(bc_fma_odd(bc_bf16_to_f32(a), bc_bf16_to_f32(b), bc_bf16_to_f32(c)));
}

#endif
