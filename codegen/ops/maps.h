/* Copies by tensor maps (codegen/ops/maps.c). */
#ifndef TILEVM_CODEGEN_OPS_MAPS_H
#define TILEVM_CODEGEN_OPS_MAPS_H

#include "codegen/analysis/boxes.h"

/* Lowers a copy that has a map. */
void cg_copy_boxes(cg_func *c, const ct_op *op);
/* Lowers a prefetch of a tile that has a map. */
void cg_prefetch_boxes(cg_func *c, const ct_op *op);

#endif
