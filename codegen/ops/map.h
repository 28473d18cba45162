/* Element by element: constants and maps. */
#ifndef TILEVM_CODEGEN_OPS_MAP_H
#define TILEVM_CODEGEN_OPS_MAP_H

#include "codegen/kernel/kernel.h"

/* The registers of a constant in a layout (codegen/ops/constant.c). */
cg_val *cg_constant_regs(cg_func *c, const ct_op *op, const cg_layout *l);
/* The registers of what is made anew in every layout: constants, iotas, maps, and what is its operand seen otherwise.
 */
cg_val *cg_lazy_regs(cg_func *c, const ct_op *op, const cg_layout *l);
/* The registers of a map: its operands are read in the same layout. */
cg_val *cg_map_regs(cg_func *c, const ct_op *op, const cg_layout *l);

/* A divi or remi of an element whose operands are integers of 32 bits, or 64; false: not by fewer instructions than a
   division takes (codegen/ops/divide.c). */
bool cg_divide_by_constant(cg_func *c, const ct_op *op, bool is_signed, const cg_val *operands, cg_val result);

/* One of several quotients of f32: two registers, the second of which may be a constant, and the first quotient with
   the same divisor. */
typedef struct cg_quotient {
    cg_val a, b;
    uint32_t first;
} cg_quotient;

/* Is it one that quotients together may have as a constant? No power of two, which is multiplied by. */
bool cg_is_ordinary_divisor(uint32_t bits);
/* Do so many quotients by so many divisors take fewer instructions together than one by one? */
bool cg_may_divide_together(uint32_t count, uint32_t divisors);
/* Quotients rounded to the nearest, as by div.rn, in new registers (codegen/ops/quotients.c). NULL: no memory. */
const cg_val *cg_divide_together(cg_func *c, const cg_quotient *items, uint32_t count);

/* f32 as f16 or bf16, with a rounding of PTX (".rn"). */
cg_val cg_from_f32(cg_func *c, bc_kind kind, const char *rounding, cg_val x);
/* Any float but f64 as f32, which is exact. */
cg_val cg_any_to_f32(cg_func *c, bc_kind kind, cg_val x);
/* A conversion between number kinds (codegen/ops/convert.c). */
cg_val cg_convert_element(cg_func *c, const ct_op *op, cg_val x);
/* An ftof of two neighbours; false: not by fewer instructions than one by one. */
bool cg_convert_pair(cg_func *c, const ct_op *op, const cg_val *x, cg_val *out);

#endif
