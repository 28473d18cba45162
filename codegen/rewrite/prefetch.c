/* Prefetches for the copies of a ring; see the header.

   If a grid has at most one block for each multiprocessor, the slots of one block are all the bytes that the
   multiprocessor has on their way, which is too little to hide the latency of DRAM. There, each iteration prefetches to
   L2 the tiles of an iteration whose copies start a few iterations later. In all other grids, an iteration executes a
   single branch more, at its head, where a block of instructions begins anyway. */
#include "codegen/rewrite/prefetch.h"

#include "codegen/rewrite/cursor.h"
#include "codegen/rewrite/iteration.h"
#include "codegen/rewrite/ring.h"
#include "codegen/tile/build.h"

/* Does the op need nothing that the loop carries, so that it can be repeated for any iteration? */
static bool is_counted(const ct_op *op, const ct_block *body)
{
    bool counted = true;
    for (uint32_t i = 0; i < op->operand_count; i++)
        counted = counted && (op->operands[i]->type->kind == BC_TOKEN || !cg_is_carried(op->operands[i], body));
    return counted;
}

/* Halves of bytes have no address of their own. */
static bool is_load_of_counter(const ct_op *load, const ct_block *body)
{
    return load->from->opcode == OP_load_view_tko && bc_kind_memory_bytes(bc_elem_kind(load->results[0].type))
           && is_counted(load, body);
}

/* Such a division takes as long as the rest of a short iteration. */
static bool divides_by_variable(const ct_op *op)
{
    int64_t by;
    return (op->opcode == OP_divi || op->opcode == OP_remi) && !ct_is_constant(op->operands[1], &by);
}

/* Can the addresses of the ring's loads be computed for any iteration, without divisions? */
static bool may_prefetch(const cg_ring *ring, const ct_block *body)
{
    bool may = cg_is_straight(body) && ring->role == CG_RING_OF_BLOCK && !ring->slice.source_count && !ring->parts
               && ring->slots > 1;
    for (uint32_t i = 0; i < ring->load_count; i++)
        may = may && is_load_of_counter(ring->loads[i].op, body);
    for (const ct_op *op = body->first; may && op; op = ct_next_op(op, body))
        may = !cg_is_in_slice(ring, op) || (ct_is_pure(op) && is_counted(op, body) && !divides_by_variable(op));
    return may;
}

/* A branch at the head of the loop, executed if the grid has few blocks; returns the op that ends it. NULL: out of
   memory. */
static ct_op *put_branch(cg_func *c, ct_op *loop)
{
    static const bc_type bit = {.kind = BC_I1}, bit_tile = {.kind = BC_TILE, .elem = &bit};
    ct_builder b = {c->ir, loop, false};
    ct_value *few = ct_build_own(&b, CT_few_blocks, &bit_tile, NULL, 0);
    ct_op *branch = few ? ct_if_new(c->ir, loop, few, 0) : NULL;
    ct_op *end = branch ? ct_yield_new(c->ir, branch->regions[0], loop, NULL, 0) : NULL;
    if (!end || !ct_yield_new(c->ir, branch->regions[1], loop, NULL, 0))
        return NULL;
    ct_insert_before(branch, loop->regions[0]->first);
    return end;
}

static void put_prefetch(cg_func *c, ct_op *loop, const cg_ring_load *load, ct_value *ring, cg_iteration *it,
                         ct_value *first, ct_op *place)
{
    const cg_ring_copy how = {.load = load};
    for (uint32_t k = 0; k < load->op->from->operand_count && !c->failed; k++)
        if (load->op->operands[k]->type->kind != BC_TOKEN)
            cg_iteration_value(c, it, load->op->operands[k], place);
    ct_op *op = c->failed ? NULL : cg_put_copy(c, &how, ring, it, it->exists, place);
    if (!op)
        return;
    op->opcode = CT_prefetch;
    cg_put_cursor(c, op, loop, &it->later->results[0], first);
}

void cg_put_prefetches(cg_func *c, ct_op *loop, const cg_ring *ring, ct_value *value, uint32_t more)
{
    const ct_block *body = loop->regions[0];
    cg_iteration it;
    ct_op *place = NULL;
    if (!may_prefetch(ring, body))
        return;
    if (!(place = put_branch(c, loop)))
        return;
    const uint32_t ahead = cg_ring_distance(ring) + more;
    ct_value *first = cg_ring_first_counter(c, loop, ahead);
    if (!first || !cg_iteration_at(c, loop, &body->args[0], ahead, place, &it))
        return;
    for (uint32_t i = 0; i < ring->load_count && !c->failed; i++)
        put_prefetch(c, loop, &ring->loads[i], value, &it, first, place);
}
