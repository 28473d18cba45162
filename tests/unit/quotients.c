/* The arithmetic of codegen/ops/quotients.c: is the quotient the nearest number, whatever reciprocal within 2 units in
   the last place the GPU begins with? The refined reciprocal is tried for all fractions of divisors; where it is not
   the nearest number, so are all dividends. Otherwise fractions are tried at random, and those whose quotients lie next
   to the middle of two numbers. Exponents make no difference in the range that the code tests for. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/test.h"

enum { FRACTION_BITS = 23, OFF = 2 };

static const uint32_t ONE = 1u << FRACTION_BITS;

static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* What is emitted for a reciprocal, */
static float divide_by(float a, float b, float y)
{
    float q = a * y, rest = fmaf(q, -b, a);
    return of_bits(bits_of(fmaf(y, rest, q)) | (bits_of(q) & 0x80000000u));
}

/* e + e e, rounded up. */
static float squared_more(float e)
{
    double square = (double)e * e, sum = e + square, lost = (e - sum) + square;
    float nearest = (float)sum;
    return nearest < sum || (nearest == sum && lost > 0) ? nextafterf(nearest, INFINITY) : nearest;
}

/* A reciprocal of the GPU's, refined. */
static float refine(float b, float y)
{
    return fmaf(y, squared_more(fmaf(y, -b, 1)), y);
}

static float divide(float a, float b, float y)
{
    return divide_by(a, b, refine(b, y));
}

/* Significands of 24 bits. */
static bool is_right(uint32_t a, uint32_t b)
{
    float x = of_bits(0x3F800000u | (a & (ONE - 1))), y = of_bits(0x3F800000u | (b & (ONE - 1)));
    for (int off = -OFF; off <= OFF; off++)
        if (bits_of(divide(x, y, of_bits(bits_of(1 / y) + (uint32_t)off))) != bits_of(x / y))
            return false;
    return bits_of(divide_by(x, y, 1 / y)) == bits_of(x / y);
}

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static unsigned long tried, wrong;

static void try_one(uint32_t a, uint32_t b)
{
    tried++;
    if (!is_right(a, b) && wrong++ < 8)
        fprintf(stderr, "0x%x / 0x%x\n", a, b);
}

/* Dividends a for which 2^s a = b/2 + off/2 modulo b: what is left of the quotient is half a unit, and off/2 of b. b is
   odd. */
static void try_middles(uint32_t b, int off)
{
    uint64_t a = ((uint64_t)b + (uint64_t)(int64_t)off) / 2;
    for (int s = 1; s <= FRACTION_BITS + 2; s++) {
        a = a % 2 ? (a + b) / 2 : a / 2;
        if (s < FRACTION_BITS)
            continue;
        for (uint64_t same = a; same < 2ull * ONE; same += b)
            if (same >= ONE)
                try_one((uint32_t)same, b);
    }
}

static void try_divisors(void)
{
    enum { STEP = 61, EACH = 8, OFFS = 5 };
    uint64_t state = 88172645463325252u;
    for (uint32_t b = ONE; b < 2 * ONE; b += STEP) {
        for (int i = 0; i < EACH; i++)
            try_one((uint32_t)(next(&state) >> 41) | ONE, b);
        for (int off = -OFFS; off <= OFFS; off += 2)
            try_middles(b | 1, off);
    }
    CHECK_MSG(wrong == 0, "%lu of %lu quotients", wrong, tried);
    CHECK(tried > 1000000);
}

/* Returns how many reciprocals are not the nearest. */
static int try_reciprocals(void)
{
    int others = 0;
    for (uint32_t f = ONE; f < 2 * ONE; f++) {
        float b = of_bits(0x3F800000u | (f & (ONE - 1)));
        for (int off = -OFF; off <= OFF; off++) {
            float y = refine(b, of_bits(bits_of(1 / b) + (uint32_t)off));
            if (bits_of(y) == bits_of(1 / b))
                continue;
            others++;
            for (uint32_t a = 0x3F800000u; a < 0x40000000u; a++)
                if (bits_of(divide_by(of_bits(a), b, y)) != bits_of(of_bits(a) / b))
                    wrong++;
        }
    }
    return others;
}

int main(void)
{
    CHECK(try_reciprocals() == 6);
    try_divisors();
    CHECK(is_right(ONE, 2 * ONE - 1)); /* a fraction of ones, of which rounding to the nearest would not give enough */
    CHECK(bits_of(divide(-0.0f, 3, 1 / 3.0f)) == 0x80000000u);
    CHECK(bits_of(divide(0, -3, -1 / 3.0f)) == 0x80000000u);
    CHECK(bits_of(divide(0, 3, 1 / 3.0f)) == 0);
    CHECK(bits_of(divide(-0.0f, -3, -1 / 3.0f)) == 0);
    return TEST_END("quotients");
}
