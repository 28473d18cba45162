/* A builder: ops of the bytecode's own kinds, put in front of a place one after the other.

   The first failure sticks: from then on every function gives NULL, and one that is handed NULL fails, so that a caller
   who builds a whole expression asks once, at its end. Operations on constants give constants, and an operation that
   changes nothing gives its operand, so that callers need not tell special cases apart. All integers wrap. */
#ifndef TILEVM_CODEGEN_TILE_BUILD_H
#define TILEVM_CODEGEN_TILE_BUILD_H

#include "codegen/tile/ir.h"

typedef struct ct_builder {
    ct_func *f;
    ct_op *place; /* what is built stands in front of it, and has its place in the source */
    bool failed;  /* memory is out */
} ct_builder;

/* One op with the attributes that it has unless it says otherwise. */
ct_value *ct_build(ct_builder *b, bc_opcode opcode, const bc_type *type, ct_value *const *operands, uint32_t count);
/* One of the tile IR's own ops; and an op that has been made, NULL: which was not possible. They give the first result. */
ct_value *ct_build_own(ct_builder *b, ct_opcode opcode, const bc_type *type, ct_value *const *operands, uint32_t count);
ct_value *ct_build_op(ct_builder *b, ct_op *op);
/* Every element is `value`; and the same as a scalar. */
ct_value *ct_build_constant(ct_builder *b, const bc_type *type, int64_t value);
ct_value *ct_build_scalar(ct_builder *b, bc_kind kind, int64_t value);

/* x + y, x - y, x * y, of integers of one type. */
ct_value *ct_build_add(ct_builder *b, ct_value *x, ct_value *y);
ct_value *ct_build_sub(ct_builder *b, ct_value *x, ct_value *y);
ct_value *ct_build_mul(ct_builder *b, ct_value *x, ct_value *y);
/* x / by, both read as unsigned; by > 0. */
ct_value *ct_build_div_unsigned(ct_builder *b, ct_value *x, int64_t by);
/* An integer as one of another kind, cut or extended. */
ct_value *ct_build_resize(ct_builder *b, ct_value *x, bc_kind kind, bool is_signed);
/* A scalar as a tile of the shape of another one. */
ct_value *ct_build_spread(ct_builder *b, ct_value *scalar, const bc_type *shape);
/* Of scalars: low < high; low < high ? x : y. */
ct_value *ct_build_less(ct_builder *b, ct_value *low, ct_value *high, bool is_signed);
ct_value *ct_build_if_less(ct_builder *b, ct_value *low, ct_value *high, bool is_signed, ct_value *x, ct_value *y);
/* The same value, which is promised to lie between two numbers, or to be a multiple of 2^bits. */
ct_value *ct_build_bounded(ct_builder *b, ct_value *x, int64_t low, int64_t high);
ct_value *ct_build_multiple(ct_builder *b, ct_value *x, uint32_t bits);

#endif
