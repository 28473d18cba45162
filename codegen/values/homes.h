/* The results of the layouts pass: every tile gets an assigned layout (home), and a list of the layouts in which it
   is read. */
#ifndef TILEVM_CODEGEN_VALUES_HOMES_H
#define TILEVM_CODEGEN_VALUES_HOMES_H

#include "codegen/kernel/kernel.h"
#include "codegen/layout/intern.h"

/* How strongly a home determines the layouts of values computed from it. FREE: of maps whose operands can be
   computed in any layout. */
enum { CG_WEIGHT_FREE = 1, CG_WEIGHT_DEFAULT = 2, CG_WEIGHT_MEMORY = 3, CG_WEIGHT_REDUCED = 4, CG_WEIGHT_MMA = 5 };

/* The state of the layouts pass. */
typedef struct cg_homes {
    cg_hook *visit;            /* for the ops of a region (codegen/ops/regions.c) */
    const ct_op *reader;       /* the current op */
    cg_layout_table layouts;   /* homes, and layouts in which values are read */
    const cg_layout **decided; /* by value id: layouts of carried values and loads that the first walk chose */
    bool deciding;             /* the first walk */
    bool remakes; /* for producers: values computed from indices are recomputed in every layout, whatever that costs */
} cg_homes;

/* The one object for all layouts equal to l. */
const cg_layout *cg_intern(cg_func *c, const cg_layout *l);
/* Sets the home of v, a tile. */
void cg_set_home(cg_func *c, const ct_value *v, const cg_layout *l, uint32_t weight);
/* v gets no home, and is computed in every layout in which it is read. */
void cg_set_lazy(cg_func *c, const ct_value *v);
/* All results of the op are scalars. */
void cg_set_scalars(cg_func *c, const ct_op *op);
/* v will be read in this layout. */
void cg_want(cg_func *c, const ct_value *v, const cg_layout *l);
/* The only layout in which the value is read. NULL: there are several, or none. */
const cg_layout *cg_only_wanted(const cg_value *x);
/* The layout that v has or prefers. False: it has no preference. */
bool cg_wish(cg_func *c, const ct_value *v, cg_layout *out_layout, uint32_t *out_weight);
/* The layout of a tile if no op has a preference. */
cg_layout cg_default_layout(cg_func *c, const bc_type *tile);
/* The result reinterprets the operand: it is computed in every layout in which it is read, and has the operand's
   preference. */
void cg_pass_wish(cg_func *c, const ct_op *op);
#endif
