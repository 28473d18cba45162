/* Records the effects of an op, and takes them one by one while it is lowered; see the header. */
#include "codegen/values/effects.h"

#include "codegen/analysis/apart.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/tensor.h"
#include "codegen/analysis/encoding.h"
#include "codegen/kernel/groups.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/strips.h"

/* ---- finding ---- */

uint32_t cg_scratch_room(const cg_func *c, const ct_op *op)
{
    uint32_t all = (c->groups ? c->groups->shared : cg_shared_most(c)) - (c->tensor ? cg_tensor_bytes(c) : 0);
    uint32_t stretch = op && op->effects ? op->effects->stretch : 0;
    uint32_t rings = stretch ? c->sharing->stretches[stretch - 1].bytes : 0;
    return rings ? (all - rings) & ~(uint32_t)(CG_ENCODING_ALIGN - 1) : all;
}

cg_effect *cg_add_effect(cg_func *c, ct_op *op, cg_effect_kind kind)
{
    cg_effect *e = bc_new(&c->arena, cg_effect, 1);
    if (!op->effects)
        op->effects = bc_new(&c->arena, cg_effects, 1);
    if (!e || !op->effects)
        return NULL;
    *e = (cg_effect){.op = op, .kind = (uint8_t)kind};
    cg_effects *all = op->effects;
    *(all->last ? &all->last->next : &all->first) = e;
    all->last = e;
    return e;
}

cg_effect *cg_add_scratch(cg_func *c, ct_op *op, uint32_t bytes)
{
    uint32_t room = cg_scratch_room(c, op);
    if (bytes > room)
        cg_unsupported(c, op, "'%s' needs %u bytes of shared memory; a kernel for %s may have %u here", ct_op_name(op),
                       bytes, c->target->name, room);
    cg_effect *e = cg_add_effect(c, op, CG_USES_SCRATCH);
    if (e)
        e->span.to = bytes;
    return e;
}

void cg_add_ring(cg_func *c, ct_op *op, cg_effect_kind kind, const struct cg_ring *ring)
{
    cg_effect *e = cg_add_effect(c, op, kind);
    if (e)
        e->ring = ring;
}

void cg_add_access(cg_func *c, ct_op *op, const ct_op *access, const ct_value *memory, bool write,
                   const cg_layout *layout)
{
    cg_effect *e = cg_add_effect(c, op, CG_ACCESSES);
    ct_sources *sources = e ? bc_new(&c->arena, ct_sources, 1) : NULL;
    if (!sources)
        return;
    *sources = ct_sources_of(access);
    e->sources = sources;
    e->write = write;
    e->access = access;
    e->memory = memory;
    e->origin = cg_origin_of(memory);
    e->root = cg_root_of(c, memory);
    e->elements_apart = cg_tensor_is_apart(c, memory);
    e->layout = layout;
}

/* ---- emitting ---- */

static void emit_before(cg_func *c, const cg_effect *e)
{
    if (e->before == CG_ALL_WARPS)
        cg_barrier(c);
    else if (e->before == CG_EACH_WARP)
        cg_warp_barrier(c);
}

static const cg_effect *next_effect(cg_func *c, const ct_op *op, cg_effect_kind kind)
{
    cg_effects *all = op->effects;
    cg_effect *e = all ? (all->taken ? all->taken->next : all->first) : NULL;
    if (!e || e->kind != kind) {
        cg_unsupported(c, op, "internal error: an effect on memory that no pass has seen");
        return NULL;
    }
    all->taken = e;
    return e;
}

const cg_effect *cg_take_effect(cg_func *c, const ct_op *op, cg_effect_kind kind)
{
    const cg_effect *e = next_effect(c, op, kind);
    if (e)
        emit_before(c, e);
    if (e && e->fence)
        cg_ins(c, "fence.proxy.async.shared::cta");
    if (e && kind == CG_MEETS && cg_meeting_within(e) == CG_ALL_WARPS)
        cg_barrier(c);
    return e;
}

void cg_take_access(cg_func *c, const ct_op *op)
{
    cg_take_effect(c, op, CG_ACCESSES);
}
