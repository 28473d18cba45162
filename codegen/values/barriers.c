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

/* The number of the slice's barrier. Barrier 0 is that of all slices. */
static cg_val slice_barrier(cg_func *c)
{
    cg_val number = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, 1", number, cg_slice_number(c));
    return number;
}

void cg_barrier(cg_func *c)
{
    const struct cg_barrier_of *own = own_barrier(c);
    if (c->slices)
        cg_ins(c, "bar.sync %v, %u", slice_barrier(c), cg_threads(c));
    else if (own->threads)
        cg_ins(c, "bar.sync %u, %u", own->number, own->threads);
    else if (c->warp_bits)
        cg_ins(c, "bar.sync %u", own->number);
    else
        cg_warp_barrier(c);
    c->shared->barriers++;
}

void cg_slices_meet(cg_func *c)
{
    cg_ins(c, "bar.sync 0");
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
    if (c->slices)
        cg_ins(c, "bar.red.and.pred %v, %v, %u, %r", all, slice_barrier(c), cg_threads(c), predicate);
    else if (own->threads)
        cg_ins(c, "bar.red.and.pred %v, %u, %u, %r", all, own->number, own->threads, predicate);
    else if (c->warp_bits)
        cg_ins(c, "bar.red.and.pred %v, %u, %r", all, own->number, predicate);
    else
        cg_ins(c, "vote.sync.all.pred %v, %r, 0xffffffff", all, predicate);
    return all;
}
