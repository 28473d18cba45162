/* Element-wise ops: constants and maps. */
#ifndef TILEVM_CODEGEN_OPS_MAP_H
#define TILEVM_CODEGEN_OPS_MAP_H

#include "codegen/kernel/kernel.h"

/* The registers of a constant in a layout (codegen/ops/constant.c). */
cg_val *cg_constant_regs(cg_func *c, const ct_op *op, const cg_layout *l);
/* The registers of a value that is recomputed in every layout: a constant, an iota, a map, an op that reinterprets its
   operand, or, for producers, a list of rows. */
cg_val *cg_lazy_regs(cg_func *c, const ct_op *op, const cg_layout *l);
/* The registers of a load of a view (codegen/ops/view.c). */
cg_val *cg_load_view_regs(cg_func *c, const ct_op *op, const cg_layout *l);
/* The registers of a map: its operands are read in the same layout. */
cg_val *cg_map_regs(cg_func *c, const ct_op *op, const cg_layout *l);

/* Is it a bit operation? */
bool cg_is_bitwise(uint8_t opcode);
/* A map of four bytes of a word at a time, by instructions on words that let none of them reach its neighbours. False:
   there is none, or some of the bytes would have to be put together first (codegen/ops/bytes.c). */
bool cg_map_bytes(cg_func *c, const ct_op *op, const cg_val *const *x, cg_val *out);

/* A comparison of indices that follow each other with a number, by their difference. False: it has no such operands, or
   too few registers (codegen/ops/compare.c). */
bool cg_compare_together(cg_func *c, const ct_op *op, const cg_layout *l, const cg_val *const *operands, uint32_t idle,
                         cg_val *out);

/* Bits of a register's number that make no difference for the result of a map in l, or for what is done with it
   (codegen/ops/idle.c). */
uint32_t cg_idle_bits(cg_func *c, const ct_op *op, const cg_layout *l, const cg_val *const *operands);

/* A divi or remi of one element with 32-bit or 64-bit operands. False: it would not take fewer instructions than a
   division (codegen/ops/divide.c). */
bool cg_divide_by_constant(cg_func *c, const ct_op *op, bool is_signed, const cg_val *operands, cg_val result);
/* The quotient, rounded down, of a register below 2^31 and a constant, also of 32 bits, that is not zero. */
cg_val cg_quotient(cg_func *c, cg_val x, uint32_t by);

/* Quotients of f32, f16 or bf16, each rounded to nearest. */
typedef struct cg_division {
    bc_kind kind;
    bool moderate; /* the dividends are zero or no smaller than 2^-24 */
    const cg_val *dividends, *divisors;
} cg_division;
/* Computes `count` of them. Registers whose numbers differ only in the bits of idle are equal and computed once. False:
   separate divisions are as good (codegen/ops/quotients.c). */
bool cg_divide_together(cg_func *c, const cg_division *d, uint32_t count, uint32_t idle, cg_val *out);

/* Computes a function of `count` elements that NEAR of codegen/math/math.def has, of f16 and bf16 in f32. Registers
   whose numbers differ only in the bits of idle are equal and computed once. False: it has none
   (codegen/ops/functions.c). */
bool cg_function_together(cg_func *c, const char *name, bc_kind kind, const cg_val *x, uint32_t count, uint32_t idle,
                          cg_val *out);

/* f32 as f16 or bf16, with a PTX rounding modifier (".rn"). */
cg_val cg_from_f32(cg_func *c, bc_kind kind, const char *rounding, cg_val x);
/* Two of them, rounded to nearest, by one instruction. False: the target has none. */
bool cg_pair_from_f32(cg_func *c, bc_kind kind, const cg_val *x, cg_val *out);
/* f32 as tf32, rounded to nearest, on targets with CG_HAS_TF32_ROUNDING. */
cg_val cg_to_tf32(cg_func *c, cg_val x);
/* Any float except f64 as f32, which is exact. */
cg_val cg_any_to_f32(cg_func *c, bc_kind kind, cg_val x);
/* The same; a constant stays one. */
cg_val cg_widened(cg_func *c, bc_kind kind, cg_val x);
/* A conversion between number kinds (codegen/ops/convert.c). */
cg_val cg_convert_element(cg_func *c, const ct_op *op, cg_val x);
/* An ftof or itof of two neighbours. False: it would not take fewer instructions than two conversions. */
bool cg_convert_pair(cg_func *c, const ct_op *op, const cg_val *x, cg_val *out);
/* An itof of two neighbours, and the sums of its results with a number, rounded to nearest. False: it would take as
   many instructions as a conversion and a sum. */
bool cg_convert_pair_to_sum(cg_func *c, const ct_op *op, double addend, const cg_val *x, cg_val *out);

#endif
