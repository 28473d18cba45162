/* Element by element: constants and maps. */
#ifndef TILEVM_CODEGEN_MAP_H
#define TILEVM_CODEGEN_MAP_H

#include "codegen/lower.h"

/* The registers of a constant in a layout (codegen/constant.c). */
cg_val *cg_constant_regs(cg_func *c, const ct_op *op, const cg_layout *l);
/* The registers of a map: its operands are read in the same layout. */
cg_val *cg_map_regs(cg_func *c, const ct_op *op, const cg_layout *l);
/* One element of a map. */
cg_val cg_map_element(cg_func *c, const ct_op *op, const cg_val *operands);

/* Between the form in which an element is held and 32-bit integers: i1, i8, i16, i32; kind says which. */
cg_val cg_to_b32(cg_func *c, bc_kind kind, bool is_signed, cg_val x);
cg_val cg_from_b32(cg_func *c, bc_kind kind, cg_val x);
/* An unsigned 32-bit number as an element of any integer kind. */
cg_val cg_from_u32(cg_func *c, bc_kind kind, cg_val x);
/* An integer element of any kind as 64 bits. */
cg_val cg_to_b64(cg_func *c, bc_kind kind, bool is_signed, cg_val x);
/* f16 and bf16 as f32, and back with a rounding of PTX (".rn"). */
cg_val cg_to_f32(cg_func *c, bc_kind kind, cg_val x);
cg_val cg_from_f32(cg_func *c, bc_kind kind, const char *rounding, cg_val x);
/* Any float but f64 as f32, which is exact. */
cg_val cg_any_to_f32(cg_func *c, bc_kind kind, cg_val x);
/* A conversion between number kinds (codegen/op_convert.c). */
cg_val cg_convert_element(cg_func *c, const ct_op *op, cg_val x);
/* An ftof of two neighbours; false: not by fewer instructions than one by one. */
bool cg_convert_pair(cg_func *c, const ct_op *op, const cg_val *x, cg_val *out);

#endif
