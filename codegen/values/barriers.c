/* Barriers: of a warp, of all threads or of a group of them. */
#include "codegen/ptx/ptx.h"
#include "codegen/values/shared_state.h"
#include "codegen/values/strips.h"

void cg_warp_barrier(cg_func *c)
{
    cg_ins(c, "bar.warp.sync 0xffffffff");
}

void cg_barrier(cg_func *c)
{
    if (c->groups)
        cg_ins(c, "bar.sync 1, %u", cg_threads(c));
    else if (c->warp_bits)
        cg_ins(c, "bar.sync 0");
    else
        cg_warp_barrier(c);
    c->shared->order.read = (cg_span){0};
    if (!c->strips || !cg_strip_now(c)) /* in a loop, later trips are still to come */
        c->shared->order.notes = NULL;
    c->shared->barriers++;
}

uint32_t cg_barrier_count(const cg_func *c)
{
    return c->shared->barriers;
}

cg_val cg_all(cg_func *c, cg_val predicate)
{
    cg_val all = cg_new(c, CG_PRED);
    if (c->groups)
        cg_ins(c, "bar.red.and.pred %v, 1, %u, %v", all, cg_threads(c), cg_reg(c, predicate));
    else if (c->warp_bits)
        cg_ins(c, "bar.red.and.pred %v, 0, %v", all, cg_reg(c, predicate));
    else
        cg_ins(c, "vote.sync.all.pred %v, %v, 0xffffffff", all, cg_reg(c, predicate));
    return all;
}
