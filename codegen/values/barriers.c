/* Barriers: of a warp, of all threads or of a group of them. */
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/shared_state.h"

void cg_warp_barrier(cg_func *c)
{
    cg_ins(c, "bar.warp.sync 0xffffffff");
}

static const struct cg_barrier_of *own_barrier(const cg_func *c)
{
    return &c->sharing->barriers[c->shared->group];
}

void cg_barrier(cg_func *c)
{
    const struct cg_barrier_of *own = own_barrier(c);
    if (own->threads)
        cg_ins(c, "bar.sync %u, %u", own->number, own->threads);
    else if (c->warp_bits)
        cg_ins(c, "bar.sync %u", own->number);
    else
        cg_warp_barrier(c);
    c->shared->barriers++;
}

uint32_t cg_barrier_count(const cg_func *c)
{
    return c->shared->barriers;
}

cg_val cg_all(cg_func *c, cg_val predicate)
{
    const struct cg_barrier_of *own = own_barrier(c);
    cg_val all = cg_new(c, CG_PRED);
    if (own->threads)
        cg_ins(c, "bar.red.and.pred %v, %u, %u, %r", all, own->number, own->threads, predicate);
    else if (c->warp_bits)
        cg_ins(c, "bar.red.and.pred %v, %u, %r", all, own->number, predicate);
    else
        cg_ins(c, "vote.sync.all.pred %v, %r, 0xffffffff", all, predicate);
    return all;
}
