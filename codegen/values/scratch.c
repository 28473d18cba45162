/* Scratch: shared memory that ops use for a while, all from its first byte on. What threads may still read of it is
   known, so that a barrier comes only before what is read is written again; where each warp has a part of its own, a
   barrier of the warp. */
#include "codegen/analysis/stage.h"
#include "codegen/kernel/groups.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/shared_state.h"
#include "codegen/values/strips.h"

/* ---- the block's shared memory ---- */

void cg_shared_begin(cg_func *c, uint32_t ring_bytes)
{
    c->shared = bc_new(&c->arena, cg_shared, 1);
    if (c->shared)
        c->shared->ring_bytes = ring_bytes;
    else
        cg_no_memory(c);
}

/* Where rings lie: behind the scratch that is used beside them. */
static uint32_t ring_offset(const cg_shared *s)
{
    return (s->kept_bytes + CG_STAGE_ALIGN - 1) & ~(uint32_t)(CG_STAGE_ALIGN - 1);
}

void cg_shared_end(cg_func *c)
{
    cg_shared *s = c->shared;
    if (!s->rings.id)
        return;
    cg_ins_first(c, "mov.u32 %v, tv_scratch", s->rings);
    cg_ins_first(c, "add.u32 %v, %v, %u", s->rings, s->rings, ring_offset(s));
}

uint32_t cg_shared_bytes(const cg_func *c)
{
    const cg_shared *s = c->shared;
    uint32_t with_rings = s->ring_bytes ? ring_offset(s) + s->ring_bytes : 0;
    return with_rings > s->scratch_bytes ? with_rings : s->scratch_bytes;
}

cg_val cg_ring_memory(cg_func *c)
{
    cg_shared *s = c->shared;
    if (!s->rings.id)
        s->rings = cg_new(c, CG_B32);
    return s->rings;
}

void cg_scratch_beside_rings(cg_func *c, bool begins)
{
    c->shared->in_ring = begins;
}

/* ---- scratch ---- */

uint32_t cg_scratch_room(const cg_func *c)
{
    uint32_t all = c->groups ? c->groups->shared : cg_static_shared(c->target);
    bool beside = c->shared && c->shared->in_ring; /* the layouts pass asks of places outside of such loops */
    return beside ? (all - c->shared->ring_bytes) & ~(uint32_t)(CG_STAGE_ALIGN - 1) : all;
}

/* Nobody reads bytes from `from` on any more. */
static cg_val scratch_at(cg_func *c, uint32_t from, uint32_t bytes)
{
    cg_shared *s = c->shared;
    uint32_t to = from + bytes;
    if (to > s->scratch_bytes)
        s->scratch_bytes = to;
    if (s->in_ring && to > s->kept_bytes)
        s->kept_bytes = to;
    if (!s->scratch.id) {
        s->scratch = cg_new(c, CG_B32);
        cg_ins_first(c, "mov.u32 %v, tv_scratch", s->scratch);
    }
    if (!from)
        return s->scratch;
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", address, s->scratch, from);
    return address;
}

static void need_room(cg_func *c, uint32_t bytes)
{
    if (bytes > cg_scratch_room(c))
        cg_unsupported(c, cg_lowered(c), "'%s' needs %u bytes of shared memory; a kernel for %s may have %u here",
                       ct_op_name(cg_lowered(c)), bytes, c->target->name, cg_scratch_room(c));
}

cg_val cg_scratch(cg_func *c, uint32_t bytes)
{
    need_room(c, bytes);
    if (cg_strip_needs_barrier(c) || cg_scratch_is_read(c))
        cg_barrier(c);
    return scratch_at(c, 0, bytes);
}

bool cg_scratch_is_read(const cg_func *c)
{
    const cg_span *read = &c->shared->order.read;
    return read->from != read->to;
}

void cg_scratch_read(cg_func *c)
{
    c->shared->order.read = (cg_span){0, UINT32_MAX, 0};
}

cg_val cg_scratch_of_warps(cg_func *c, uint32_t bytes)
{
    const cg_span *read = &c->shared->order.read;
    need_room(c, bytes);
    if (read->from != read->to && read->of_warp == bytes >> c->warp_bits)
        cg_warp_barrier(c);
    else if (read->from != read->to)
        cg_barrier(c);
    return scratch_at(c, 0, bytes);
}

void cg_scratch_read_of_warps(cg_func *c, uint32_t bytes)
{
    c->shared->order.read = (cg_span){0, UINT32_MAX, bytes >> c->warp_bits};
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
    const cg_span *read = &c->shared->order.read;
    uint32_t from = bytes <= read->from || read->from == read->to ? 0 : read->to;
    bool fits = !c->strips && bytes <= APART && from <= APART - bytes && from + bytes <= cg_scratch_room(c);
    if (!fits)
        from = 0;
    *out_span = (cg_span){from, from + ((bytes + 15) & ~(uint32_t)15), 0}; /* what comes behind it is aligned */
    return fits ? scratch_at(c, from, bytes) : cg_scratch(c, bytes);
}

void cg_scratch_apart_read(cg_func *c, const cg_span *span)
{
    add_span(&c->shared->order.read, span);
}
