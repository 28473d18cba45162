/* Loops over strips, as the strips pass has made them (codegen/passes/strips.c). */
#include "codegen/values/strips.h"

#include "codegen/ops/fold.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/lowering.h"
#include "codegen/ops/slots.h"
#include "codegen/values/effects.h"
#include "codegen/values/values.h"

void cg_assign_strips(cg_func *c, const ct_op *op)
{
    (void)c, (void)op; /* made behind that pass */
}

void cg_assign_keep(cg_func *c, const ct_op *op)
{
    (void)c, (void)op;
}

/* Are there any that have to be begun, which a loop around this one has not done? */
static bool begins_accesses(const ct_op *loop)
{
    const ct_block *block = loop->regions[0];
    if (loop->block->parent && loop->block->parent->opcode == CT_strips)
        return false;
    for (const ct_op *op = block->first; op; op = ct_next_op(op, block))
        for (const cg_effect *e = op->effects ? op->effects->first : NULL; e; e = e->next)
            if (e->kind == CG_ACCESSES)
                return true;
    return false;
}

static const cg_ring *ring_of(const ct_op *loop)
{
    return ((const cg_trips *)loop->detail)->ring;
}

/* Those of a reduce come when the loop has ended. */
void cg_effects_strips(cg_func *c, ct_op *op)
{
    const ct_block *body = op->regions[0];
    if (begins_accesses(op))
        cg_add_effect(c, op, CG_BEGINS);
    if (ring_of(op))
        cg_add_ring_end(c, op, ring_of(op));
    for (const ct_op *inner = body->first; inner && !c->failed; inner = inner->next)
        if (cg_reduces_strips(c, inner))
            cg_add_reduce(c, op, inner);
}

void cg_lower_strips(cg_func *c, const ct_op *op)
{
    const ct_block *body = op->regions[0];
    if (begins_accesses(op))
        cg_take_effect(c, op, CG_BEGINS);
    cg_strip_open(c, *(const cg_trips *)op->detail);
    for (const ct_op *inner = body->first; inner && !c->failed; inner = inner->next)
        c->lowering->visit(c, inner);
    cg_strip_close(c);
    if (ring_of(op))
        cg_ring_end(c, op);
    for (const ct_op *inner = body->first; inner && !c->failed; inner = inner->next)
        if (cg_reduces_strips(c, inner))
            cg_reduce_behind(c, inner);
}

bool cg_strips_keep(cg_func *c, const ct_value *result)
{
    const ct_value *v = result->op->regions[0]->last->operands[result->number];
    if (!cg_strip_is_kept(c, result) || cg_reduces_strips(c, v->op))
        return false;
    return v->op->opcode != CT_strips || !cg_strips_keep(c, v);
}

void cg_lower_keep(cg_func *c, const ct_op *op)
{
    const ct_op *loop = op->block->parent;
    for (uint32_t i = 0; i < op->operand_count && !c->failed; i++) {
        const ct_value *v = op->operands[i], *result = cg_result(loop, i);
        if (cg_strips_keep(c, result))
            cg_strip_save(c, result, cg_strip_home(c, result), cg_get(c, v, cg_value_of(c, v)->home),
                          cg_const(CG_PRED, 1));
    }
}
