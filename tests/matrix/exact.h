/* The reference of the matrix: numbers as exact fixed-point integers, written for these tests and apart from
   bytecode/number*.c. Slow and simple: a finite float or integer, the exact sum or product of two of them, and a
   quotient or root with a mark for what is left over, are all one wide integer; rounding looks at its bits.

   A pattern is what memory holds of an element, in the low bits of a uint64_t: tf32 is its 32-bit cell. */
#ifndef TILEVM_TESTS_MATRIX_EXACT_H
#define TILEVM_TESTS_MATRIX_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytecode/op.h"

enum {
    EXACT_LIMBS = 136, /* of 32 bits, the lowest first */
    EXACT_LOW = -2208  /* bit 0 of limb 0 is worth 2^EXACT_LOW: below any product, quotient or root */
};

typedef enum exact_class { EXACT_FINITE, EXACT_INF, EXACT_NAN } exact_class;

/* Zero is finite and has a sign. */
typedef struct exact {
    exact_class class_;
    bool negative;
    int low, high; /* limbs [low, high) count; what the others hold stands for 0 */
    uint32_t limb[EXACT_LIMBS];
} exact;

/* What a pattern means. */
void exact_of_float(exact *out, bc_kind kind, uint64_t pattern);
void exact_of_int(exact *out, uint64_t pattern, unsigned width, bool is_signed);
void exact_of_double(exact *out, double x);

/* Arithmetic with the rules of IEEE 754 for zeros, Inf and NaN; an exact zero sum is -0 only when downward. */
void exact_add(exact *out, const exact *a, const exact *b, bool downward);
void exact_mul(exact *out, const exact *a, const exact *b);
/* Quotient and root towards zero, the lowest bit set when something is left. Operands are those of exact_of_float. */
void exact_div(exact *out, const exact *a, const exact *b);
void exact_sqrt(exact *out, const exact *a);
void exact_remainder(exact *out, const exact *a, const exact *b); /* C fmod */
/* -1, 0, 1; -0 equals 0. Neither may be a NaN. */
int exact_compare(const exact *a, const exact *b);
/* The integer next to x in the direction of the mode. */
void exact_to_integral(exact *x, bc_RoundingMode mode);

/* The pattern of the kind nearest to x in the mode, with the kind's rules for what is too large or not a number. */
uint64_t exact_round(bc_kind kind, const exact *x, bc_RoundingMode mode);
/* The same of f32 with zeros in place of what is below 2^-126 once rounded to 24 bits, however small the exponent. */
uint64_t exact_round_flushed(bc_kind kind, const exact *x, bc_RoundingMode mode);
/* ftoi: what is undefined gives what a GPU gives. from decides about NaN. */
uint64_t exact_to_int(const exact *x, bc_kind from, unsigned width, bool is_signed, bool saturating);

bool exact_is_nan(bc_kind kind, uint64_t pattern);
bool exact_is_subnormal(bc_kind kind, uint64_t pattern);
/* A subnormal f32 becomes the zero of its sign. */
uint64_t exact_flush(bc_kind kind, uint64_t pattern);
bool exact_is_float(bc_kind kind);
/* Bits of a pattern, i.e. of memory: tf32 32, i1 1, i4 4. */
unsigned exact_bits(bc_kind kind);
uint64_t exact_mask(unsigned bits);
int64_t exact_signed(uint64_t pattern, unsigned width);

/* The value of a pattern of a float kind. */
long double exact_value(bc_kind kind, uint64_t pattern);

/* Distance between a result and the number x, in units in the last place that the kind has at x. x is given in more
   precision than the kind has. HUGE_VAL where one is a NaN and the other is not. */
double exact_ulps(bc_kind kind, uint64_t result, long double x);

/* For generators: fields of a kind. */
typedef struct exact_format {
    bc_kind kind;
    uint8_t exponent, mantissa; /* bits */
    int16_t bias;
    bool has_sign, has_inf, has_nan, has_zero;
    uint64_t max_finite, nan; /* magnitudes, as patterns without the cell of tf32 */
} exact_format;
const exact_format *exact_format_of(bc_kind kind); /* NULL: not a float */

#endif
