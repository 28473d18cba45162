/* Scales in rings that tensor maps fill: the copy engine cannot put them into the order of tensor memory, because a box
   has whole pieces of 16 bytes. So the warps that fill the first slots of other kernels copy the scales of every slot.
   Their program is that of the producers with nothing but these copies, whose arrivals the slot's barrier counts beside
   the announcement of the bytes that the copy engine brings.

   Why it is right: both programs wait until consumers have released the slot before they write to it, and a slot counts
   as full when both have arrived. */
#include "codegen/passes/scales.h"

#include "codegen/analysis/order.h"
#include "codegen/kernel/groups.h"
#include "codegen/rewrite/ring.h"

static bool has_scales(const cg_ring *ring)
{
    bool any = false;
    for (uint32_t i = 0; i < ring->load_count; i++)
        any = any || cg_is_scale_feed(ring->loads[i].feed);
    return any;
}

bool cg_has_scales(const cg_splitting *x)
{
    bool any = false;
    for (uint32_t i = 0; i < x->count; i++)
        any = any || has_scales(x->places[i].ring);
    return any;
}

/* Does the op copy a tile of scales? */
static bool copies_scales(const ct_op *op)
{
    return op->opcode == CT_copy && cg_is_scale_feed(((const cg_ring_copy *)op->detail)->load->feed);
}

static bool is_root(const ct_op *op)
{
    return op->opcode == CT_copy || op->opcode == CT_acquire || op->opcode == CT_commit || cg_is_grid_wait(op);
}

/* Adapts an op of the producers' program to the threads that copy scales. */
static void adapt(ct_op *op)
{
    const ct_value *value = ct_ring_of(op);
    if (op->opcode == OP_for)
        op->detail = NULL; /* the ring of the original function */
    else if (value && (!has_scales(value->op->detail) || (op->opcode == CT_copy && !copies_scales(op))))
        ct_remove(op);
}

ct_block *cg_part_scales(cg_splitting *x, ct_block *producers)
{
    ct_map map;
    ct_block *block = ct_map_new(x->f, &map) ? ct_clone_block(x->f, producers, NULL, &map) : NULL;
    if (!block) {
        cg_no_memory(x->c);
        return NULL;
    }
    for (ct_op *op = block->first, *next; op; op = next) {
        next = ct_next_op(op, block);
        adapt(op);
    }
    for (ct_op *op = producers->first, *next; op; op = next) {
        next = ct_next_op(op, producers);
        if (copies_scales(op))
            ct_remove(op);
    }
    if (ct_prune(x->f, block, is_root, x->places[0].value))
        return block;
    cg_no_memory(x->c);
    return NULL;
}
