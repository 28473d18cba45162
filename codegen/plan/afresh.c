/* Stores under masks whose loads have the same masks, as in a map. ptxas finds out that they are the same and keeps
   them from the loads to the stores. But a thread has seven predicate registers: with more masks, ptxas packs them
   into words between the loads, and awaits two to four loads before it starts the next ones. Addresses also stay in
   registers in the meantime. Therefore the ops that compute addresses and masks of such stores, and nothing else,
   begin with a copy of the thread's number that ptxas does not recognise: masks and addresses of loads then end with
   these, and all loads are on their way together. This is done in loops only: elsewhere, a block loads once, while
   others compute or store, and ptxas sometimes takes more registers, so that fewer blocks are there. Nor is it done
   where elements are reduced, scanned or multiplied: loads and stores then stand in different loops, or far apart.

   Why it is right: the copy is the same number. */
#include "codegen/plan/afresh.h"

#include "codegen/access/pointers.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"
#include "codegen/rewrite/ring.h"

/* Has the op, in a loop, more accesses under masks than a thread has predicates? */
static bool has_many_masks(cg_func *c, const ct_op *op)
{
    if (!ct_loop_around(op))
        return false;
    cg_ptr_op p = cg_ptr_op_of(op);
    uint32_t fast, bits = cg_shape_of(p.pointers->type).tile_bits, vector = cg_pointer_vector(c, &p, &fast);
    return p.mask && bits > vector && ((uint32_t)1 << (bits - vector)) / cg_threads(c) > CG_PREDICATES;
}

/* Is the value only for addresses and masks of stores that are computed afresh? */
static bool is_for_stores(const ct_value *v)
{
    for (const ct_use *use = v->uses; use; use = use->next)
        if (!use->op->afresh
            || (use->op->opcode == OP_store_ptr_tko && v == ct_operand(use->op, F_store_ptr_tko_value)))
            return false;
    return true;
}

static bool may_be_afresh(const ct_op *op)
{
    return op->opcode == OP_iota || op->opcode == OP_broadcast || cg_is_slice_op(op, true);
}

/* Marks the op and those in front of it, the last one first, so that all uses of a value are marked before it. */
static void mark_block(cg_func *c, const ct_block *block)
{
    for (ct_op *op = block->last; op; op = op->prev) {
        for (uint32_t i = 0; i < op->region_count; i++)
            if (op->regions[i])
                mark_block(c, op->regions[i]);
        if (op->opcode == OP_store_ptr_tko)
            op->afresh = has_many_masks(c, op);
        else if (op->result_count == 1 && bc_is_tile(op->results[0].type) && op->results[0].type->rank
                 && op->results[0].uses && may_be_afresh(op))
            op->afresh = is_for_stores(&op->results[0]);
    }
}

/* Does the op exchange elements between threads? */
static bool exchanges(const ct_op *op)
{
    return cg_is_product(op) || (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)));
}

void cg_find_afresh(cg_func *c)
{
    bool loads = false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (exchanges(op))
            return;
        loads = loads || (op->opcode == OP_load_ptr_tko && has_many_masks(c, op));
    }
    if (loads)
        mark_block(c, c->ir->body);
}
