/* Scaled products, and products of 4-bit elements. */
#ifndef TILEVM_CODEGEN_ANALYSIS_SCALING_H
#define TILEVM_CODEGEN_ANALYSIS_SCALING_H

#include "codegen/analysis/product.h"

/* How the target scales the product, whose k counts elements. NULL: it does not. */
const cg_scaling *cg_find_scaling(const cg_func *c, const ct_op *op, const cg_product *p);

/* These apply to operands with packed elements, and leave other layouts unchanged. cg_with_halves gives every thread
   whole bytes. cg_as_bytes converts such a layout to one of bytes, and gives the bytes of registers. cg_from_bytes
   converts a layout of bytes to one of their lower halves. */
cg_layout cg_with_halves(const cg_product *p, bool left, const cg_layout *l);
cg_layout cg_as_bytes(const cg_product *p, bool left, const cg_layout *l);
cg_layout cg_from_bytes(const cg_product *p, bool left, const cg_layout *l);
/* The register bit that selects the half of a byte, and nothing else does. l->reg_bits: there is none. */
uint32_t cg_half_register(const cg_product *p, bool left, const cg_layout *l);

#endif
