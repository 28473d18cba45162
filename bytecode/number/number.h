/* Number formats: bit patterns, values, conversions, arithmetic with directed rounding, text.
   docs/reference/numerics.md has the rules. All functions are pure, allocate nothing and may be called from any
   thread.

   A pattern is the low bc_kind_bits(kind) bits of a uint64_t; bits above are ignored on input and zero on output.
   tf32 patterns have 19 bits; in memory they are the upper 19 bits of a 32-bit cell (bc_tf32_to_cell).
   Rounding modes other than the four of IEEE 754 and nearest_away count as nearest_even. */
#ifndef TILEVM_BYTECODE_NUMBER_NUMBER_H
#define TILEVM_BYTECODE_NUMBER_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "bytecode/base/text.h"
#include "bytecode/module.h"

/* ---- formats ---- */

/* What the topmost patterns of a float kind mean. */
typedef enum bc_float_specials {
    BC_SPECIALS_IEEE,    /* top exponent: Inf, NaN */
    BC_SPECIALS_ONE_NAN, /* all ones but the sign: NaN; no Inf */
    BC_SPECIALS_NONE     /* every pattern is finite */
} bc_float_specials;

typedef struct bc_float_format {
    uint8_t exponent_bits, mantissa_bits;
    uint8_t specials; /* bc_float_specials */
    bool has_sign;
    bool has_subnormals; /* without them there is no zero either */
    int16_t bias;
    int16_t min_exponent; /* of the smallest normal number */
    int16_t max_exponent; /* of the largest finite number */
    uint64_t max_finite;  /* patterns, sign clear */
    uint64_t nan;         /* canonical NaN; where there is none, what a NaN becomes */
    uint64_t infinity;    /* what overflow and Inf become: the largest finite number in the 8 and 4-bit kinds */
} bc_float_format;

/* Format of a float kind, or NULL. */
const bc_float_format *bc_float_format_of(bc_kind kind);

typedef enum bc_float_class { BC_FLOAT_ZERO, BC_FLOAT_FINITE, BC_FLOAT_INF, BC_FLOAT_NAN } bc_float_class;

/* A float taken apart: significand * 2^exponent. Bit 63 of the significand is set when the class is FINITE. */
typedef struct bc_float_parts {
    bc_float_class class_;
    bool negative;
    int32_t exponent;
    uint64_t significand;
} bc_float_parts;

bc_float_parts bc_float_split(bc_kind kind, uint64_t bits);

/* The one place that rounds: the pattern for significand * 2^exponent. With sticky, for a value strictly between that
   and the same with significand + 1, which must then have at least two bits more than the kind's mantissa.
   Negative values of unsigned kinds: f8E8M0FNU takes the magnitude, fnv8E5M3FNU gives 0. */
uint64_t bc_float_join(bc_kind kind, bool negative, uint64_t significand, int32_t exponent, bool sticky,
                       bc_RoundingMode mode);
/* The same; out_overflow tells whether the rounded magnitude is beyond the largest finite one. */
uint64_t bc_float_join_checked(bc_kind kind, bool negative, uint64_t significand, int32_t exponent, bool sticky,
                               bc_RoundingMode mode, bool *out_overflow);

/* ---- conversions ---- */

/* Value as a double, exact for every kind. */
double bc_float_value(bc_kind kind, uint64_t bits);
/* x rounded once to the kind. */
uint64_t bc_float_round(bc_kind kind, double x, bc_RoundingMode mode);
/* ftof: rounded once. Equal kinds copy. */
uint64_t bc_float_convert(bc_kind to, bc_kind from, uint64_t bits, bc_RoundingMode mode);
/* itof: an integer of width 1..64, rounded once to nearest_even. */
uint64_t bc_int_to_float(bc_kind to, uint64_t bits, unsigned width, bool is_signed);
/* ftoi: towards zero; the low width (1..64) bits of the result. What is undefined gives what the GPU gives. */
uint64_t bc_float_to_int(bc_kind from, uint64_t bits, unsigned width, bool is_signed, bool saturating);

/* What an element outside a view is, as memory has it: padding is a bc_PaddingValue, or anything else for 0. Where the
   kind has no such number: what a conversion makes of it. */
uint64_t bc_padding_pattern(bc_kind kind, uint8_t padding);

static inline bool bc_float_is_nan(bc_kind kind, uint64_t bits)
{
    return bc_float_split(kind, bits).class_ == BC_FLOAT_NAN;
}

static inline uint32_t bc_tf32_to_cell(uint64_t bits)
{
    return (uint32_t)(bits << 13);
}
static inline uint64_t bc_tf32_from_cell(uint32_t cell)
{
    return cell >> 13;
}

/* Integers of 1..64 bits in a uint64_t. */
static inline uint64_t bc_int_mask(unsigned width)
{
    return width >= 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
}
static inline int64_t bc_int_sign_extend(uint64_t bits, unsigned width)
{
    uint64_t sign = (uint64_t)1 << (width - 1);
    return (int64_t)(((bits & bc_int_mask(width)) ^ sign) - sign);
}

/* ---- arithmetic: f16, bf16, f32, f64 (arith.c) ---- */

/* Each is rounded once, in mode. ftz (f32): subnormal operands count as zeros of their sign, and a result that is
   subnormal after rounding becomes one. NaN results are canonical; f64 passes the first NaN operand on, quiet, and
   gives 0xFFF8000000000000 for an invalid operation. */
uint64_t bc_float_add(bc_kind kind, uint64_t a, uint64_t b, bc_RoundingMode mode, bool ftz);
uint64_t bc_float_sub(bc_kind kind, uint64_t a, uint64_t b, bc_RoundingMode mode, bool ftz);
uint64_t bc_float_mul(bc_kind kind, uint64_t a, uint64_t b, bc_RoundingMode mode, bool ftz);
uint64_t bc_float_div(bc_kind kind, uint64_t a, uint64_t b, bc_RoundingMode mode, bool ftz);
uint64_t bc_float_fma(bc_kind kind, uint64_t a, uint64_t b, uint64_t c, bc_RoundingMode mode, bool ftz);
uint64_t bc_float_sqrt(bc_kind kind, uint64_t a, bc_RoundingMode mode, bool ftz);
/* Maximum and minimum with -0 below +0. One NaN: NaN if propagate_nan, else the other operand. */
uint64_t bc_float_max(bc_kind kind, uint64_t a, uint64_t b, bool propagate_nan, bool ftz);
uint64_t bc_float_min(bc_kind kind, uint64_t a, uint64_t b, bool propagate_nan, bool ftz);
/* The pattern, or a zero of its sign if it is subnormal. */
uint64_t bc_float_flush(bc_kind kind, uint64_t bits);

/* ---- elements in bytes (pack.c) ---- */

/* Element of a row of width-bit elements (1, 2, 4 or a multiple of 8 up to 64): little-endian, lowest index in the
   lowest bits. The caller has checked that it lies in bytes. */
uint64_t bc_packed_get(const void *bytes, unsigned width, size_t index);
void bc_packed_set(void *bytes, unsigned width, size_t index, uint64_t bits);
/* Bits of one element as pack and unpack count them (tf32: 32). */
unsigned bc_kind_pack_bits(bc_kind kind);

/* How the bytes of a constant relate to its `count` elements. */
typedef enum bc_constant_form { BC_CONSTANT_WRONG_SIZE, BC_CONSTANT_SPLAT, BC_CONSTANT_FULL } bc_constant_form;
bc_constant_form bc_constant_form_of(const bc_blob *blob, bc_kind kind, uint64_t count);
/* Pattern of element `index` of a constant with `count` elements of a number kind; 0 where the size is wrong or the
   index is not below count. */
uint64_t bc_constant_element(const bc_blob *blob, bc_kind kind, uint64_t count, uint64_t index);

/* ---- text (text.c) ---- */

/* Appends the float as MLIR writes it: 1.500000e+00, or more digits where six do not give the value back, or the
   pattern in hexadecimal where that would read as an integer, and for Inf and NaN. */
void bc_print_float(bc_text *out, bc_kind kind, uint64_t bits);
/* Appends an integer read as signed; i1 gives true or false. */
void bc_print_int(bc_text *out, bc_kind kind, uint64_t bits);
/* Either, by kind. */
void bc_print_number(bc_text *out, bc_kind kind, uint64_t bits);

/* Reads all of s: [+-] digits . [digits] [e [+-] digits], rounded once to nearest_even, or the pattern as 0x... that
   fits the kind. False, and nothing written, for other text, for a value whose magnitude rounds to more than the
   largest finite one, and for a negative value of an unsigned kind; bc_parse_problem says which. */
bool bc_parse_float(tv_str s, bc_kind kind, uint64_t *out_bits);
/* Reads all of s: true or false (i1), [+-] digits or 0x..., at least -2^(w-1) and below 2^w. */
bool bc_parse_int(tv_str s, bc_kind kind, uint64_t *out_bits);
bool bc_parse_number(tv_str s, bc_kind kind, uint64_t *out_bits);
/* Why bc_parse_number refuses s, as a phrase for a message ("is out of range for i8"); NULL if it does not. */
const char *bc_parse_problem(tv_str s, bc_kind kind);

#endif
