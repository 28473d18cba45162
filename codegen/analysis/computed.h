/* Left operands of wgmma that consumers compute element by element from tiles in slots: converted, unpacked, scaled or
   masked. wgmma takes them from registers, so that they do not pass through shared memory again
   (docs/internals/codegen/products.md). */
#ifndef TILEVM_CODEGEN_ANALYSIS_COMPUTED_H
#define TILEVM_CODEGEN_ANALYSIS_COMPUTED_H

#include "codegen/analysis/product.h"

/* The layout in which a thread has the elements of the load's tile from which those of the operand are computed that it
   has in layout l. False: the operand is not computed from that tile element by element, or is the tile itself. */
bool cg_computed_from(const ct_value *operand, const ct_op *load, const cg_layout *l, cg_layout *out);
/* The layout in which each thread has those elements of the load's tile from which the fragments of an operand of the
   product are computed. False: no operand is computed from the tile element by element and taken from registers. */
bool cg_fragments_from(const cg_func *c, const ct_op *product, const ct_op *load, cg_layout *out);

#endif
