/* A builder inserts ops of the bytecode in front of an op, one after the other.

   After the first failure, every function returns NULL, and a function that receives NULL fails. So a caller that
   builds a whole expression checks once, at its end. Operations on constants give constants, and an operation that
   changes nothing gives its operand, so that callers need no special cases. All integers wrap. */
#ifndef TILEVM_CODEGEN_TILE_BUILD_H
#define TILEVM_CODEGEN_TILE_BUILD_H

#include "codegen/tile/ir.h"

typedef struct ct_builder {
    ct_func *f;
    ct_op *place; /* new ops are in front of it, and have its source location */
    bool failed;  /* out of memory */
} ct_builder;

/* An op whose attributes have default values. */
ct_value *ct_build(ct_builder *b, bc_opcode opcode, const bc_type *type, ct_value *const *operands, uint32_t count);
/* Such an op of two operands, which has the type of the first one. */
ct_value *ct_build_two(ct_builder *b, bc_opcode opcode, ct_value *x, ct_value *y);
/* One of the tile IR's own ops, of one result; and an op that has been made elsewhere (NULL: out of memory), of which
   the first result is given. */
ct_value *ct_build_own(ct_builder *b, ct_opcode opcode, const bc_type *type, ct_value *const *operands, uint32_t count);
ct_value *ct_build_op(ct_builder *b, ct_op *op);
/* A constant tile, or scalar, of which every element is `value`. */
ct_value *ct_build_constant(ct_builder *b, const bc_type *type, int64_t value);
ct_value *ct_build_scalar(ct_builder *b, bc_kind kind, int64_t value);

/* x + y, x - y, x * y, for integers of one type. */
ct_value *ct_build_add(ct_builder *b, ct_value *x, ct_value *y);
ct_value *ct_build_sub(ct_builder *b, ct_value *x, ct_value *y);
ct_value *ct_build_mul(ct_builder *b, ct_value *x, ct_value *y);
/* x / y and x / by, as unsigned numbers; by > 0. */
ct_value *ct_build_quotient(ct_builder *b, ct_value *x, ct_value *y);
ct_value *ct_build_div_unsigned(ct_builder *b, ct_value *x, int64_t by);
/* The lesser of two signed numbers; x, or 0 if it is negative. */
ct_value *ct_build_lesser(ct_builder *b, ct_value *x, ct_value *y);
ct_value *ct_build_positive(ct_builder *b, ct_value *x);
/* Converts an integer to another width. */
ct_value *ct_build_resize(ct_builder *b, ct_value *x, bc_kind kind, bool is_signed);
/* Broadcasts a scalar to the shape of another tile. */
ct_value *ct_build_spread(ct_builder *b, ct_value *scalar, const bc_type *shape);
/* Comparisons of integer scalars; low < high, and low < high ? x : y. */
ct_value *ct_build_compare(ct_builder *b, bc_ComparisonPredicate predicate, ct_value *x, ct_value *y, bool is_signed);
ct_value *ct_build_less(ct_builder *b, ct_value *low, ct_value *high, bool is_signed);
ct_value *ct_build_if_less(ct_builder *b, ct_value *low, ct_value *high, bool is_signed, ct_value *x, ct_value *y);
/* The value with a promise: it lies between two numbers, or is a multiple of 2^bits. */
ct_value *ct_build_bounded(ct_builder *b, ct_value *x, int64_t low, int64_t high);
ct_value *ct_build_multiple(ct_builder *b, ct_value *x, uint32_t bits);

#endif
