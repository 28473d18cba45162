/* Scaled products, and products of elements of half a byte. */
#ifndef TILEVM_CODEGEN_ANALYSIS_SCALING_H
#define TILEVM_CODEGEN_ANALYSIS_SCALING_H

#include "codegen/analysis/product.h"

/* How the target scales the product, whose k counts elements; NULL: it does not. */
const cg_scaling *cg_find_scaling(const cg_func *c, const ct_op *op, const cg_product *p);

/* Of an operand whose elements are packed; of any other nothing changes. A layout in which every thread has whole
   bytes; such a layout as one of bytes, and the bytes of registers in it; a layout of bytes as one of their lower
   halves. */
cg_layout cg_with_halves(const cg_product *p, bool left, const cg_layout *l);
cg_layout cg_as_bytes(const cg_product *p, bool left, const cg_layout *l);
cg_layout cg_from_bytes(const cg_product *p, bool left, const cg_layout *l);
/* The register bit that tells the halves of a byte apart, which no other has a part of; l->reg_bits: there is none. */
uint32_t cg_half_register(const cg_product *p, bool left, const cg_layout *l);

#endif
