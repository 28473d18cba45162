/* The ops of a loop once more, for an iteration that comes later: what every pass needs that starts loads of later
   iterations, in front of a loop or in it, whichever slots or registers they go to. */
#ifndef TILEVM_CODEGEN_REWRITE_ITERATION_H
#define TILEVM_CODEGEN_REWRITE_ITERATION_H

#include "codegen/analysis/ring.h"

/* An iteration of a loop, as seen from a place in front of the loop or in it. */
typedef struct cg_iteration {
    ct_map map;       /* from values of the loop's body to what they are in that iteration */
    ct_op *later;     /* the op that gives its counter; NULL: the iteration at hand */
    ct_value *exists; /* whether there is one; NULL: there is */
} cg_iteration;

/* The iteration n after the one whose counter is `start`: makes its counter in front of `place`. loop: NULL for the
   iteration at hand. False: no memory, as c says. */
bool cg_iteration_at(cg_func *c, const ct_op *loop, ct_value *start, uint32_t n, ct_op *place, cg_iteration *out);
/* Repeats the ops of the body that are in the slice of the ring for the iteration, in front of `place`, in their order;
   their results lie over threads as before, if layouts are known. */
void cg_iteration_slice(cg_func *c, cg_iteration *it, const cg_ring *ring, const ct_block *body, ct_op *place);
/* A copy of a load's tile, as `how` says, in front of `place`. it: the iteration from which it takes its operands,
   where that is not the one at hand; NULL: that. whether: under which condition; NULL: always. NULL: no memory, as
   c says. */
ct_op *cg_put_copy(cg_func *c, const cg_ring_copy *how, ct_value *ring, const cg_iteration *it, ct_value *whether,
                   ct_op *place);

#endif
