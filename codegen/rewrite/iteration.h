/* Repeats the ops of a loop for another iteration. Every pass that starts loads of later iterations, in front of a
   loop or inside it, needs this, whether the tiles go to slots or registers (codegen/rewrite/pipeline.h). */
#ifndef TILEVM_CODEGEN_REWRITE_ITERATION_H
#define TILEVM_CODEGEN_REWRITE_ITERATION_H

#include "codegen/analysis/ring.h"

/* An iteration of a loop, as seen from a place in front of the loop or in it. */
typedef struct cg_iteration {
    const ct_op *loop;
    ct_map map;                  /* from values of the loop's body to their values in that iteration */
    ct_op *later;                /* the op that gives its counter; NULL: the current iteration */
    ct_value *exists;            /* whether the iteration exists; NULL: it does */
    uint32_t ahead;              /* iterations from the one in which it is seen; in front of the loop, from the first */
    struct cg_iteration *before; /* the iteration in which it is seen; NULL: it is seen in front of the loop, or is that
                                    iteration itself */
} cg_iteration;

/* The iteration n after the one whose counter is `start`: creates its counter in front of `place`. loop: NULL for
   the current iteration. False: out of memory, which c records. */
bool cg_iteration_at(cg_func *c, const ct_op *loop, ct_value *start, uint32_t n, ct_op *place, cg_iteration *out);
/* Does the loop with that body carry the value, which is not its counter? */
bool cg_is_carried(const ct_value *v, const ct_block *body);
/* The value in the iteration of v, which may be a value of the body. Ops that compute v are repeated in front of
   `place` if the iteration does not have them yet. NULL: out of memory, which c records. */
ct_value *cg_iteration_value(cg_func *c, cg_iteration *it, ct_value *v, ct_op *place);
/* Repeats an op of the body, all of whose operands the iteration has, in front of `place`. Its results have the same
   layouts as before, if layouts are known. NULL: out of memory, which c records. */
ct_op *cg_iteration_repeat(cg_func *c, cg_iteration *it, const ct_op *op, ct_op *place);
/* Inserts a copy of a load's tile, described by `how`, in front of `place`. it: the iteration whose operands it
   uses; NULL: the current one. whether: the condition under which it is executed; NULL: always. Returns NULL if out
   of memory, which c records. */
ct_op *cg_put_copy(cg_func *c, const cg_ring_copy *how, ct_value *ring, const cg_iteration *it, ct_value *whether,
                   ct_op *place);

#endif
