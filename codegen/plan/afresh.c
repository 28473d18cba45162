/* Stores under masks whose loads have the same masks, as in a map. ptxas finds out that they are the same and keeps
   them from the loads to the stores. But a thread has seven predicate registers: with more masks, ptxas packs them
   into words between the loads, or computes with what a load gives before it starts the next ones, so that its
   predicate is free: two to four loads are on their way. Addresses also stay in registers in the meantime.

   In loops, the ops that compute addresses and masks of such stores, and nothing else, therefore begin with a copy of
   the thread's number that ptxas does not recognise: masks and addresses of loads then end with these, and all loads
   are on their way together. Outside of loops, a block loads once, while others compute or store, and ptxas sometimes
   takes more registers for addresses that it has twice, so that fewer blocks are there. Only comparisons take another
   form there (codegen/ops/compare.c), which costs an instruction. On an H200, 21 maps are 0.96 to 1.32 times as fast,
   1.03 in the geometric mean, and 1.03 the 11 of fresh seeds: logarithms of 32 rows of 64 bf16 take 77 µs instead of
   102, with 40 registers instead of 54, a map of 4,096 integers 72 instead of 89.

   Neither is done where elements are reduced, scanned or multiplied: loads and stores then stand in different loops, or
   far apart.

   Why it is right: the copy is the same number, and the other form compares the same. */
#include "codegen/plan/afresh.h"

#include "codegen/access/pointers.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"
#include "codegen/rewrite/ring.h"

/* What is to be done about the op's masks: nothing, unless it has more accesses than a thread has predicates. */
static ct_afresh wanted(cg_func *c, const ct_op *op)
{
    cg_ptr_op p = cg_ptr_op_of(op);
    uint32_t fast, bits = cg_shape_of(p.pointers->type).tile_bits, vector = cg_pointer_vector(c, &p, &fast);
    if (!p.mask || bits <= vector || ((uint32_t)1 << (bits - vector)) / cg_threads(c) <= CG_PREDICATES)
        return CT_USUAL;
    return ct_loop_around(op) ? CT_AFRESH : CT_APART;
}

/* What is done about the stores for whose addresses and masks the value is; CT_USUAL, too, if it is for others. */
static ct_afresh of_stores(const ct_value *v)
{
    ct_afresh all = v->uses->op->afresh;
    for (const ct_use *use = v->uses; use; use = use->next)
        if (use->op->afresh != all
            || (use->op->opcode == OP_store_ptr_tko && v == ct_operand(use->op, F_store_ptr_tko_value)))
            return CT_USUAL;
    return all;
}

static bool may_be_afresh(const ct_op *op)
{
    return op->opcode == OP_iota || op->opcode == OP_broadcast || cg_is_slice_op(op, true);
}

/* Marks the ops of the block, the last one first, so that all uses of a value are marked before it. loads: bits of what
   loads want; stores are marked only with those. */
static void mark_block(cg_func *c, const ct_block *block, uint32_t loads)
{
    for (ct_op *op = block->last; op; op = op->prev) {
        for (uint32_t i = 0; i < op->region_count; i++)
            if (op->regions[i])
                mark_block(c, op->regions[i], loads);
        if (op->opcode == OP_store_ptr_tko)
            op->afresh = loads & 1u << wanted(c, op) ? (uint8_t)wanted(c, op) : CT_USUAL;
        else if (op->result_count == 1 && bc_is_tile(op->results[0].type) && op->results[0].type->rank
                 && op->results[0].uses && may_be_afresh(op))
            op->afresh = (uint8_t)of_stores(&op->results[0]);
    }
}

/* Does the op exchange elements between threads? */
static bool exchanges(const ct_op *op)
{
    return cg_is_product(op) || (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)));
}

void cg_find_afresh(cg_func *c)
{
    uint32_t loads = 0;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (exchanges(op))
            return;
        loads |= op->opcode == OP_load_ptr_tko ? 1u << wanted(c, op) : 0;
    }
    mark_block(c, c->ir->body, loads);
}
