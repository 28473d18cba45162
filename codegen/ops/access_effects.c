/* The effects of loads, stores and atomics: the access itself, and the effects that extend its order to the block
   (memory reference, section 3). */
#include "codegen/analysis/order.h"
#include "codegen/facts/facts.h"
#include "codegen/ops/bins.h"
#include "codegen/ops/hooks.h"
#include "codegen/ops/lock.h"
#include "codegen/values/effects.h"

static bool acquires(uint64_t order)
{
    return order == BC_MemoryOrderingSemantics_acquire || order == BC_MemoryOrderingSemantics_acq_rel;
}

static bool releases(uint64_t order)
{
    return order == BC_MemoryOrderingSemantics_release || order == BC_MemoryOrderingSemantics_acq_rel;
}

/* Does one thread read for all that hold replicas, because another one could read another value? */
static bool hands_round(const ct_op *op, uint64_t order, bool write)
{
    return write ? cg_result(op, 0)->fact->used : order != BC_MemoryOrderingSemantics_weak;
}

/* A release covers the accesses of all threads, unless the releasing thread made them all. */
static void add_release(cg_func *c, ct_op *op, const cg_layout *l)
{
    cg_effect *e = cg_add_effect(c, op, CG_MEETS);
    if (e)
        e->for_one = !l->tile_bits;
}

void cg_effects_access(cg_func *c, ct_op *op)
{
    bool write, reads = ct_info(op)->effects & BC_READS;
    const ct_value *memory = cg_memory_of(op, &write);
    uint64_t order = ct_attr_u(op, bc_order_row(ct_info(op)));
    const cg_layout *l = cg_value_of(c, cg_result(op, 0))->home;
    if (op->opcode == OP_atomic_red_view_tko) { /* each instruction has the order */
        cg_add_access(c, op, op, memory, write, l);
        return;
    }
    if (write && releases(order))
        add_release(c, op, l);
    cg_bins bins;
    bool few = cg_find_bins(c, op, &bins);
    if (few)
        cg_add_scratch(c, op, cg_bins_bytes(&bins));
    cg_add_access(c, op, op, memory, write, few ? NULL : l);
    if (cg_is_done_by_one(op)) /* its loop has the other effects */
        return;
    bool shared = reads && hands_round(op, order, write)
                  && cg_add_share(c, op, bc_elem_kind(cg_result(op, 0)->type), l);
    if (reads && acquires(order) && !shared)
        cg_add_effect(c, op, CG_MEETS);
}
