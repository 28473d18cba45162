/* The arithmetic of codegen/ops/quotients.c: is the quotient the nearest number, whatever reciprocal within 2 units in
   the last place the GPU begins with? Tried on fractions at random and on those whose quotients lie next to the middle
   of two numbers; exponents make no difference in the range that the code tests for. */
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

/* and for one of the GPU's. */
static float divide(float a, float b, float y)
{
    y = fmaf(y, fmaf(y, -b, 1), y);
    y = fmaf(y, fmaf(y, -b, 1), y);
    return divide_by(a, b, y);
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
    for (uint32_t b = ONE; b < 2 * ONE - 1; b += STEP) {
        for (int i = 0; i < EACH; i++)
            try_one((uint32_t)(next(&state) >> 41) | ONE, b);
        for (int off = -OFFS; off <= OFFS; off += 2)
            try_middles(b | 1, off);
    }
    for (uint32_t b = 2 * ONE - 16; b < 2 * ONE - 1; b++) /* the last one is left out: see below */
        for (uint32_t a = ONE; a < 2 * ONE; a += STEP)
            try_one(a, b);
    CHECK_MSG(wrong == 0, "%lu of %lu quotients", wrong, tried);
    CHECK(tried > 1000000);
}

int main(void)
{
    try_divisors();
    CHECK(!is_right(ONE, 2 * ONE - 1)); /* a fraction of ones, which goes the other way */
    CHECK(bits_of(divide(-0.0f, 3, 1 / 3.0f)) == 0x80000000u);
    CHECK(bits_of(divide(0, -3, -1 / 3.0f)) == 0x80000000u);
    CHECK(bits_of(divide(0, 3, 1 / 3.0f)) == 0);
    CHECK(bits_of(divide(-0.0f, -3, -1 / 3.0f)) == 0);
    return TEST_END("quotients");
}
