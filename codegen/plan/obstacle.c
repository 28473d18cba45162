/* Conditions under which loads of loops are executed ahead; see the header. */
#include "codegen/plan/obstacle.h"

#include "codegen/analysis/order.h"

const char *cg_obstacle(cg_query *q, cg_condition *const *list)
{
    const char *why = NULL;
    for (; *list && !why; list++)
        why = (*list)(q);
    return why;
}

const char *cg_obstacle_to_ring(cg_query *q, cg_condition *const *list, ct_op *load)
{
    if (!(q->c->target->features & CG_HAS_CP_ASYNC))
        return "the target has no asynchronous copies";
    if (q->ring->load_count == CG_RING_LOADS)
        return "the limit of prefetched loads is reached";
    q->load = load;
    q->out = &q->ring->loads[q->ring->load_count];
    const char *why = cg_obstacle(q, list);
    q->ring->load_count += !why;
    return why;
}

const char *cg_in_each_iteration(cg_query *q)
{
    return q->load->block == q->body ? NULL : "not every iteration executes it";
}

const char *cg_is_movable(cg_query *q)
{
    return cg_is_weak_access(q->load) ? NULL : "its memory ordering forbids moving it";
}

const char *cg_is_known_by_counter(cg_query *q)
{
    return q->load->opcode == OP_load_ptr_tko ? cg_ring_takes_pointers(q->c, q->ring, q->body, q->load)
                                              : cg_ring_takes_view(q->c, q->ring, q->body, q->load);
}

const char *cg_precedes_writes(cg_query *q)
{
    return cg_order_holds_back(q->c, q->body, q->load) ? "it may depend on another access in the loop" : NULL;
}

const char *cg_precedes_other_iterations(cg_query *q)
{
    return cg_iterations_hold_back(q->c, q->body, q->load) ? "it may depend on another access in the loop" : NULL;
}
