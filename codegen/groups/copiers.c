/* Tiles that the copy engine cannot bring to slots which it fills otherwise: those that are loaded through pointers,
   whose views or rows do not suit a tensor map (codegen/groups/maps.c), and scales in the order of tensor memory,
   because a box has whole pieces of 16 bytes. The warps that fill the first slots of other kernels copy them, for every
   slot. Their program is that of the producers with nothing but these copies, whose arrivals the slot's barrier counts
   beside the announcement of the bytes that the copy engine brings.

   Why it is right: both programs wait until consumers have released the slot before they write to it, and a slot counts
   as full when both have arrived. */
#include "codegen/groups/copiers.h"

#include "codegen/analysis/order.h"
#include "codegen/kernel/groups.h"
#include "codegen/rewrite/ring.h"

/* Do threads copy a tile of the ring beside the copy engine? */
static bool is_shared(const cg_ring *ring)
{
    bool any = false;
    for (uint32_t i = 0; i < ring->load_count; i++)
        any = any || ring->loads[i].by_threads;
    return any;
}

bool cg_has_copiers(const cg_splitting *x)
{
    bool any = false;
    for (uint32_t i = 0; i < x->count; i++)
        any = any || is_shared(x->places[i].ring);
    return any;
}

static bool is_of_threads(const ct_op *op)
{
    return op->opcode == CT_copy && ((const cg_ring_copy *)op->detail)->load->by_threads;
}

static bool is_root(const ct_op *op)
{
    return op->opcode == CT_copy || op->opcode == CT_acquire || op->opcode == CT_commit || cg_is_grid_wait(op);
}

/* Adapts an op of the producers' program to the threads that copy. */
static void adapt(ct_op *op)
{
    const ct_value *value = ct_ring_of(op);
    if (op->opcode == OP_for)
        op->detail = NULL; /* the ring of the original function */
    else if (value && (!is_shared(value->op->detail) || (op->opcode == CT_copy && !is_of_threads(op))))
        ct_remove(op);
}

ct_block *cg_part_copiers(cg_splitting *x, ct_block *producers)
{
    ct_map map;
    ct_block *block = ct_map_new(x->f, &map) ? ct_clone_block(x->f, producers, NULL, &map) : NULL;
    if (!block)
        return NULL;
    for (ct_op *op = block->first, *next; op; op = next) {
        next = ct_next_op(op, block);
        adapt(op);
    }
    for (ct_op *op = producers->first, *next; op; op = next) {
        next = ct_next_op(op, producers);
        if (is_of_threads(op))
            ct_remove(op);
    }
    return ct_prune(x->f, block, is_root, x->places[0].value) && ct_prune(x->f, producers, is_root, x->places[0].value)
               ? block
               : NULL;
}

/* Scales have no cursors: their pieces are shorter than those of other tiles. */
static bool has_scales(const cg_ring *ring)
{
    bool any = false;
    for (uint32_t i = 0; i < ring->load_count; i++)
        any = any || cg_is_scale_feed(ring->loads[i].feed);
    return any;
}

void cg_copiers_find_sources(const cg_splitting *x)
{
    for (ct_op *op = x->starters->first; op && !x->c->failed; op = ct_next_op(op, x->starters))
        for (uint32_t i = 0; op->opcode == OP_for && i < x->ring_count; i++)
            if (is_shared(x->rings[i]->detail) && !has_scales(x->rings[i]->detail))
                cg_ring_find_sources(x->c, op, &x->rings[i]->results[0]);
}
