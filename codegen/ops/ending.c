/* Finds the warps that may leave a kernel early. After the last exchange of a reduction, all warps have its result, but
   usually only the first one stores it. The others would compute what nobody reads: 65 of 174 instructions of an
   arg-max of 1024 columns, in three of its four warps.

   Why it is right: an op that is left computes values, or stores the elements that a thread owns. A warp that owns none
   in any of these stores does nothing that another thread, or the host, can see; and no other thread waits for it.

   In kernels with loops or products, what comes after them takes a small part of the time, and their registers may turn
   out differently. There, all warps stay. */
#include "codegen/ops/ending.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/values/effects.h"
#include "codegen/values/homes.h"

static bool takes_long(const cg_func *c)
{
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (ct_is_loop(op) || cg_is_product(op))
            return true;
    return false;
}

/* May threads meet in the op? */
static bool meets(const ct_op *op)
{
    for (const cg_effect *e = op->effects ? op->effects->first : NULL; e; e = e->next)
        if (e->kind != CG_ACCESSES || e->before != CG_NOBODY)
            return true;
    return op->region_count != 0;
}

static bool is_weak_store(const ct_op *op)
{
    return (op->opcode == OP_store_ptr_tko || op->opcode == OP_store_view_tko) && cg_is_weak_access(op);
}

static bool computes(const ct_op *op)
{
    static const bc_op_classes classes = BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(RESHAPE)
                                         | BC_OPS(MOVE) | BC_OPS(VIEW) | BC_OPS(QUERY) | BC_OPS(EXIT);
    return op->opcode < OP_LIMIT
               ? bc_op_in(op->opcode, classes) || (bc_op_in(op->opcode, BC_OPS(TOKEN)) && !ct_info(op)->effects)
               : op->opcode == CT_convert;
}

/* Takes the bits of thread numbers with which a thread stores something from *idle. False: the op is one for which all
   warps stay. */
static bool look_at(cg_func *c, const ct_op *op, uint32_t *idle)
{
    if (is_weak_store(op))
        *idle &= cg_layout_thread_replicas(cg_value_of(c, cg_result(op, 0))->home, cg_real_warp_bits(c));
    return !meets(op) && (is_weak_store(op) || computes(op));
}

uint32_t cg_threads_at_end(cg_func *c, const ct_op *op)
{
    const uint32_t all = cg_threads(c);
    uint32_t idle = all - 1, left = all;
    if (c->strip_bits || takes_long(c))
        return all;
    for (const ct_op *at = op; at; at = at->block->parent)
        for (const ct_op *next = at->next; next; next = next->next)
            if (!look_at(c, next, &idle))
                return all;
    while (left > 1u << CG_LANE_BITS && idle & left / 2)
        left /= 2;
    return left;
}
