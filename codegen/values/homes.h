/* What the layouts pass says of values: every tile gets a home layout, and a list of the layouts in which it is read.
 */
#ifndef TILEVM_CODEGEN_VALUES_HOMES_H
#define TILEVM_CODEGEN_VALUES_HOMES_H

#include "codegen/kernel/kernel.h"
#include "codegen/layout/intern.h"

/* How much a home should decide what is computed from it; free: of maps whose operands are made in any layout. */
enum { CG_WEIGHT_FREE = 1, CG_WEIGHT_DEFAULT = 2, CG_WEIGHT_MEMORY = 3, CG_WEIGHT_REDUCED = 4, CG_WEIGHT_MMA = 5 };

/* What the layouts pass has while it runs. */
typedef struct cg_homes {
    cg_hook *visit;            /* what it does with the ops of a region (codegen/ops/regions.c) */
    const ct_op *reader;       /* that it is at */
    cg_layout_table layouts;   /* homes, and those that are wanted */
    const cg_layout **decided; /* by value id: layouts of carried values, and of loads, that the first walk settled */
    bool deciding;             /* that walk */
    bool remakes; /* producers are laid out: what is computed from indices is so in every layout, at any cost */
} cg_homes;

/* The one that homes and wanted layouts which equal l are. */
const cg_layout *cg_intern(cg_func *c, const cg_layout *l);
/* Gives v its home: a tile of this layout. */
void cg_set_home(cg_func *c, const ct_value *v, const cg_layout *l, uint32_t weight);
/* It has none, and is made in every layout that is wanted. */
void cg_set_lazy(cg_func *c, const ct_value *v);
/* All results of the op are scalars. */
void cg_set_scalars(cg_func *c, const ct_op *op);
/* layouts pass: v will be read in this layout. */
void cg_want(cg_func *c, const ct_value *v, const cg_layout *l);
/* The one layout in which the value is read; NULL: it is read in several, or in none. */
const cg_layout *cg_only_wanted(const cg_value *x);
/* The layout that v has or would like best; false when it has no wish. */
bool cg_wish(cg_func *c, const ct_value *v, cg_layout *out_layout, uint32_t *out_weight);
/* A layout for the elements of a tile that no op has a wish for. */
cg_layout cg_default_layout(cg_func *c, const bc_type *tile);
/* The result is the operand seen otherwise: made in every layout that is wanted, with the operand's wish. */
void cg_pass_wish(cg_func *c, const ct_op *op);
#endif
