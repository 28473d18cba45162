/* The parts of the strips pass. */
#ifndef TILEVM_CODEGEN_PASSES_STRIPS_H
#define TILEVM_CODEGEN_PASSES_STRIPS_H

#include "codegen/plan/strips.h"

/* The state of the pass for the ops of a block (codegen/passes/strips.c). */
typedef struct cg_forming {
    cg_func *c;
    ct_op **members; /* of the open loop, in order */
    uint32_t count;
    uint32_t along;            /* strips over which it reduces, in an inner loop; 0: none yet */
    uint32_t loops;            /* so far, including the open one */
    uint32_t *inside, *behind; /* by value id: the loop in which it is computed, or which must end before it is */
    ct_map copies;             /* of lazy values */
} cg_forming;

/* Makes room for the values that the pass creates. False: out of memory. */
bool cg_strips_room(cg_forming *x);
/* Moves the members into the region of a loop, whose results are the values that are read outside. Lazy members that
   are read outside are also recomputed after the loop. NULL: out of memory (codegen/passes/strips_enclose.c). */
ct_op *cg_strips_enclose(cg_forming *x, ct_op *const *members, uint32_t count, cg_trips trips);

#endif
