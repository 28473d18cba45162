/* Why a load of a loop cannot be executed ahead. Each place in which its tile may wait has a list of conditions, in the
   order in which they are asked; the first one that does not hold is the obstacle, which remarks tell. */
#ifndef TILEVM_CODEGEN_PLAN_OBSTACLE_H
#define TILEVM_CODEGEN_PLAN_OBSTACLE_H

#include "codegen/rewrite/ring.h"

/* What is asked of a load. */
typedef struct cg_query {
    cg_func *c;
    const ct_op *loop;
    const ct_block *body; /* of the loop; NULL: the load is in none */
    cg_ring *ring;        /* to which the load is to be added; NULL: to none */
    ct_op *load;
    cg_ring_load *out; /* how the ring can have it: set by the condition that says whether it can */
    void *user;        /* of the list */
} cg_query;

/* Why the condition does not hold: a text for users. NULL: it does. */
typedef const char *cg_condition(cg_query *q);
/* The first obstacle of a list, which ends in NULL. NULL: there is none. */
const char *cg_obstacle(cg_query *q, cg_condition *const *list);
/* The same for a load that is added to the query's ring if there is no obstacle, the size of the ring included. */
const char *cg_obstacle_to_ring(cg_query *q, cg_condition *const *list, ct_op *load);

/* ---- conditions of several lists ---- */

/* Does every iteration execute it? */
cg_condition cg_in_each_iteration;
/* May it be moved at all? */
cg_condition cg_is_movable;
/* Do its operands depend only on the counter and on values from outside? Ops that compute them are added to the ring's
   slice. */
cg_condition cg_is_known_by_counter;
/* May it precede all writes of the loop? Those of other iterations? */
cg_condition cg_precedes_writes;
cg_condition cg_precedes_other_iterations;

#endif
