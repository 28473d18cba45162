/* Scratch: shared memory that ops use for a while, all from its first byte on. What threads may still read of it is
   known, so that a barrier comes only before what is read is written again; where each warp has a part of its own, a
   barrier of the warp. */
#include "codegen/analysis/stage.h"
#include "codegen/kernel/groups.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

uint32_t cg_scratch_room(const cg_func *c)
{
    uint32_t all = c->groups ? c->groups->shared : cg_static_shared(c->target);
    return c->in_ring ? (all - c->ring_bytes) & ~(uint32_t)(CG_STAGE_ALIGN - 1) : all;
}

/* Nobody reads bytes from `from` on any more. */
static cg_val scratch_at(cg_func *c, uint32_t from, uint32_t bytes)
{
    uint32_t to = from + bytes;
    if (to > c->shared_bytes)
        c->shared_bytes = to;
    if (c->in_ring && to > c->kept_bytes)
        c->kept_bytes = to;
    if (!c->scratch.id) {
        c->scratch = cg_new(c, CG_B32);
        cg_ins_first(c, "mov.u32 %v, tv_scratch", c->scratch);
    }
    if (!from)
        return c->scratch;
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", address, c->scratch, from);
    return address;
}

static void need_room(cg_func *c, uint32_t bytes)
{
    if (bytes > cg_scratch_room(c))
        cg_unsupported(c, c->op, "'%s' needs %u bytes of shared memory; a kernel for %s may have %u here",
                       ct_op_name(c->op), bytes, c->target->name, cg_scratch_room(c));
}

cg_val cg_scratch(cg_func *c, uint32_t bytes)
{
    need_room(c, bytes);
    if (cg_strip_needs_barrier(c) || c->order.read.from != c->order.read.to)
        cg_barrier(c);
    return scratch_at(c, 0, bytes);
}

void cg_scratch_read(cg_func *c)
{
    c->order.read = (cg_span){0, UINT32_MAX, 0};
}

cg_val cg_scratch_of_warps(cg_func *c, uint32_t bytes)
{
    const cg_span *read = &c->order.read;
    need_room(c, bytes);
    if (read->from != read->to && read->of_warp == bytes >> c->warp_bits)
        cg_warp_barrier(c);
    else if (read->from != read->to)
        cg_barrier(c);
    return scratch_at(c, 0, bytes);
}

void cg_scratch_read_of_warps(cg_func *c, uint32_t bytes)
{
    c->order.read = (cg_span){0, UINT32_MAX, bytes >> c->warp_bits};
}

/* The least span that has both. */
static void add_span(cg_span *span, const cg_span *other)
{
    if (span->from == span->to) {
        *span = *other;
    } else if (other->from != other->to) {
        span->of_warp = span->of_warp == other->of_warp ? span->of_warp : 0;
        span->from = span->from < other->from ? span->from : other->from;
        span->to = span->to > other->to ? span->to : other->to;
    }
}

cg_val cg_scratch_apart(cg_func *c, uint32_t bytes, cg_span *out_span)
{
    enum { APART = 2048 }; /* such bytes lie below this */
    const cg_span *read = &c->order.read;
    uint32_t from = bytes <= read->from || read->from == read->to ? 0 : read->to;
    bool fits = !c->strips && bytes <= APART && from <= APART - bytes && from + bytes <= cg_scratch_room(c);
    if (!fits)
        from = 0;
    *out_span = (cg_span){from, from + ((bytes + 15) & ~(uint32_t)15), 0}; /* what comes behind it is aligned */
    return fits ? scratch_at(c, from, bytes) : cg_scratch(c, bytes);
}

void cg_scratch_apart_read(cg_func *c, const cg_span *span)
{
    add_span(&c->order.read, span);
}
