/* Scratch: shared memory that ops use for a while; and the rings after it or in its place, as passes have arranged
   them. */
#include "codegen/ptx/ptx.h"
#include "codegen/values/effects.h"
#include "codegen/values/shared_state.h"

/* ---- the block's shared memory ---- */

void cg_shared_begin(cg_func *c)
{
    c->shared = bc_new(&c->arena, cg_shared, 1);
}

void cg_shared_group(cg_func *c, uint32_t group)
{
    c->shared->group = group;
}

uint32_t cg_slice_bytes(const cg_func *c)
{
    const cg_sharing *s = c->sharing;
    const uint32_t rings = s->ring_bytes ? s->rings_at + s->ring_bytes : 0,
                   bytes = s->scratch_bytes > rings ? s->scratch_bytes : rings;
    return c->slices ? (bytes + CG_ENCODING_ALIGN - 1) & ~(uint32_t)(CG_ENCODING_ALIGN - 1) : bytes;
}

/* Sets the address to that of the shared memory of the thread's block, or slice. */
static void begin_address(cg_func *c, cg_val address)
{
    const cg_val slice = c->slices ? cg_slice_number(c) : cg_const(CG_B32, 0);
    cg_ins_first(c, "mov.u32 %v, tv_scratch", address);
    if (c->slices)
        cg_ins_first(c, "mad.lo.u32 %v, %v, %u, %v", address, slice, cg_slice_bytes(c), address);
}

void cg_shared_end(cg_func *c)
{
    cg_shared *s = c->shared;
    if (!s->rings.id)
        return;
    begin_address(c, s->rings);
    cg_ins_first(c, "add.u32 %v, %v, %u", s->rings, s->rings, c->sharing->rings_at);
}

uint32_t cg_shared_bytes(const cg_func *c)
{
    return cg_slices(c) * cg_slice_bytes(c);
}

cg_val cg_ring_memory(cg_func *c)
{
    cg_shared *s = c->shared;
    if (!s->rings.id)
        s->rings = cg_new(c, CG_B32);
    return s->rings;
}

/* ---- scratch ---- */

static cg_val scratch_at(cg_func *c, uint32_t from)
{
    cg_shared *s = c->shared;
    if (!s->scratch.id) {
        s->scratch = cg_new(c, CG_B32);
        begin_address(c, s->scratch);
    }
    if (!from)
        return s->scratch;
    cg_val address = cg_new(c, CG_B32);
    cg_ins(c, "add.u32 %v, %v, %u", address, s->scratch, from);
    return address;
}

/* The address of the op's scratch, which must have that many bytes. */
static uint32_t take(cg_func *c, const ct_op *op, uint32_t bytes, uint32_t *out_loads)
{
    const cg_effect *e = cg_take_effect(c, op, CG_USES_SCRATCH);
    if (e && bytes > e->span.to - e->span.from)
        cg_unsupported(c, op, "internal error: more scratch than what has a place");
    *out_loads = e ? e->loads : 0;
    return e ? e->span.from : 0;
}

cg_val cg_scratch(cg_func *c, const ct_op *op, uint32_t bytes)
{
    uint32_t loads;
    return scratch_at(c, take(c, op, bytes, &loads));
}

cg_turns cg_scratch_by_turns(cg_func *c, const ct_op *op, uint32_t bytes)
{
    cg_turns t;
    const uint32_t from = take(c, op, 2 * bytes, &t.loads);
    t = (cg_turns){.loads = t.loads, .now = cg_new(c, CG_B32), .next = cg_new(c, CG_B32), .both = cg_new(c, CG_B32)};
    cg_ins_first(c, "mov.u32 %v, tv_scratch", t.next);
    cg_ins_first(c, "add.u32 %v, %v, %u", t.next, t.next, from);
    cg_ins_first(c, "add.u32 %v, %v, %v", t.both, t.next, t.next);
    cg_ins_first(c, "add.u32 %v, %v, %u", t.both, t.both, bytes);
    cg_ins(c, "mov.b32 %v, %v", t.now, t.next);
    return t;
}

void cg_turn(cg_func *c, const cg_turns *t)
{
    cg_ins(c, "sub.u32 %v, %v, %v", t->next, t->both, t->next);
}
