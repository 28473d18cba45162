/* The thread's part of an element index, and whether it owns its elements. All of this is computed once, at the
   start of the kernel. */
#include <string.h>

#include "codegen/ptx/ptx.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

enum { MAX_THREAD_BITS = 10 };

typedef struct coords {
    struct coords *next;
    uint32_t images[MAX_THREAD_BITS];
    cg_val value;
} coords;

/* The threads in which a predicate is true: those without any of these bits. */
typedef struct owners {
    struct owners *next;
    uint32_t replicas;
    cg_val predicate;
} owners;

/* A register with the thread's number, and what is computed from it. */
typedef struct place {
    cg_val number; /* once needed */
    coords *coords;
} place;

typedef struct cg_thread {
    place usual, afresh, *now;
    owners *owners;
    cg_val slice;
} cg_thread;

void cg_thread_begin(cg_func *c, cg_val number)
{
    cg_thread *t = bc_new(&c->arena, cg_thread, 1);
    if (!t)
        return;
    t->usual.number = number;
    t->now = &t->usual;
    c->thread = t;
}

cg_val cg_tid(cg_func *c)
{
    cg_val *number = &c->thread->usual.number;
    if (!number->id) {
        *number = cg_new(c, CG_B32);
        cg_ins_first(c, "mov.u32 %v, %%tid.x", *number);
        if (c->slices)
            cg_ins_first(c, "and.b32 %v, %v, %u", *number, *number, cg_threads(c) - 1);
    }
    return *number;
}

cg_val cg_slice_number(cg_func *c)
{
    cg_val *slice = &c->thread->slice;
    if (!slice->id) {
        *slice = cg_new(c, CG_B32);
        cg_ins_first(c, "mov.u32 %v, %%tid.x", *slice);
        cg_ins_first(c, "shr.u32 %v, %v, %u", *slice, *slice, cg_real_warp_bits(c) + CG_LANE_BITS);
        cg_ins_first(c, "shfl.sync.idx.b32 %v, %v, 0, 31, -1", *slice, *slice);
    }
    return *slice;
}

/* The same number, from the thread itself by a shuffle, which ptxas does not see through. */
static cg_val tid_afresh(cg_func *c)
{
    cg_val *number = &c->thread->afresh.number;
    if (!number->id) {
        cg_val tid = cg_tid(c), lane = cg_new(c, CG_B32);
        *number = cg_new(c, CG_B32);
        cg_ins_first(c, "mov.u32 %v, %%laneid", lane);
        cg_ins_first(c, "shfl.sync.idx.b32 %v, %v, %v, 31, -1", *number, tid, lane);
    }
    return *number;
}

void cg_thread_afresh(cg_func *c, bool afresh)
{
    c->thread->now = afresh ? &c->thread->afresh : &c->thread->usual;
}

/* The part that is constant during the kernel. */
static cg_val fixed_index(cg_func *c, const uint32_t *images)
{
    place *now = c->thread->now;
    for (coords *k = now->coords; k; k = k->next)
        if (memcmp(k->images, images, sizeof k->images) == 0)
            return k->value;
    coords *k = bc_new(&c->arena, coords, 1);
    if (!k)
        return cg_const(CG_B32, 0);
    memcpy(k->images, images, sizeof k->images);
    bool any = false;
    for (uint32_t i = 0; i < MAX_THREAD_BITS; i++)
        any = any || images[i];
    k->value = any ? cg_linear(c, now == &c->thread->afresh ? tid_afresh(c) : cg_tid(c), images,
                               CG_LANE_BITS + cg_real_warp_bits(c))
                   : cg_const(CG_B32, 0);
    k->next = now->coords;
    now->coords = k;
    return k->value;
}

cg_val cg_thread_index(cg_func *c, const cg_layout *l, uint32_t mask, uint32_t shift)
{
    uint32_t images[MAX_THREAD_BITS] = {0}, strips[CG_MAX_WARP_BITS], real = cg_real_warp_bits(c);
    for (uint32_t i = 0; i < CG_LANE_BITS; i++)
        images[i] = (l->lane[i] & mask) >> shift;
    for (uint32_t i = 0; i < real; i++)
        images[CG_LANE_BITS + i] = (l->warp[i] & mask) >> shift;
    cg_val index = fixed_index(c, images);
    for (uint32_t i = 0; i < c->strip_bits; i++)
        strips[i] = (l->warp[real + i] & mask) >> shift;
    return cg_strip_index(c, index, strips);
}

cg_val cg_threads_without(cg_func *c, uint32_t replicas)
{
    if (!replicas)
        return cg_const(CG_PRED, 1);
    for (const owners *o = c->thread->owners; o; o = o->next)
        if (o->replicas == replicas)
            return o->predicate;
    owners *o = bc_new(&c->arena, owners, 1);
    if (!o)
        return cg_const(CG_PRED, 1);
    cg_val part = cg_new(c, CG_B32);
    *o = (owners){c->thread->owners, replicas, cg_new(c, CG_PRED)};
    cg_ins_first(c, "and.b32 %v, %v, %x", part, cg_tid(c), replicas);
    cg_ins_first(c, "setp.eq.u32 %v, %v, 0", o->predicate, part);
    c->thread->owners = o;
    return o->predicate;
}

cg_val cg_is_owner(cg_func *c, const cg_layout *l)
{
    cg_val owner = cg_threads_without(c, cg_layout_thread_replicas(l, cg_real_warp_bits(c)));
    return c->strips && cg_strip_now(c) ? cg_strip_owner(c, l, owner) : owner;
}

void cg_leave_from(cg_func *c, cg_val thread, uint32_t first, uint32_t label)
{
    cg_val other = cg_new(c, CG_PRED);
    cg_ins(c, "setp.ge.u32 %v, %v, %u", other, thread, first);
    if (label)
        cg_ins(c, "@%v bra.uni %l", other, label);
    else
        cg_ins(c, "@%v exit", other);
}
