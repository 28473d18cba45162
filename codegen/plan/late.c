/* Tiles that are loaded behind a reduction, in many short accesses, and stored at once: the weights of a norm of whole
   rows, or the row itself, once more. If each op is executed for all elements of a thread, it holds all that it loads,
   and fewer blocks share a multiprocessor. So the ops behind the last reduction are executed store by store
   (codegen/ptx/by_stores.h). Few loads are on their way then, which is enough, because the tiles are in L2, and more
   blocks hide each other's waits.

   Why it is right: no token orders a load there before or after a store, and they do not go through the same pointer
   (cg_are_ordered), so that they may change places; and other threads do not see in which order a thread executes weak
   accesses.

   What a product adds to memory is put in the same order. A thread adds many single elements where accesses of several
   are not aligned, or have masks of their own, and would first compute all addresses: with 64 bits each, they take
   twice the registers of the sums, so that fewer blocks share a multiprocessor, or sums are spilled. No load is among
   these ops, and nothing learns from the memory in which order a thread's relaxed atomics reach it: each of them keeps
   its place among these and among stores, only arithmetic is moved. On an H200, 26 kernels of fresh seeds are 0.95 to
   1.36 times as fast, 1.017 in the geometric mean. */
#include "codegen/plan/late.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/groups.h"
#include "codegen/plan/block_order.h"
#include "codegen/plan/blocks_told.h"

/* May the op be executed for some elements before others? It exchanges none between threads. */
static bool goes_by_elements(const ct_op *op)
{
    static const bc_op_classes plain = BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(VIEW)
                                       | BC_OPS(QUERY) | BC_OPS(RESHAPE) | BC_OPS(MOVE);
    if (op->opcode >= OP_LIMIT || op->region_count)
        return false;
    return bc_op_in(op->opcode, plain) || cg_is_weak_access(op)
           || (bc_op_in(op->opcode, BC_OPS(TOKEN)) && !ct_info(op)->effects);
}

static bool is_store(const ct_op *op)
{
    return op->opcode == OP_store_ptr_tko || op->opcode == OP_store_view_tko;
}

/* Does a load bring, in parts, as many elements as a store takes away? A row of weights that several rows share takes
   few registers. */
static bool loads_as_much(cg_func *c, const ct_op *load, const ct_op *store)
{
    const bool is_ptr = store->opcode == OP_store_ptr_tko;
    const ct_value *stored = ct_operand(store, is_ptr ? F_store_ptr_tko_value : F_store_view_tko_tile);
    return ct_is_load(load) && cg_is_loaded_in_parts(c, load)
           && cg_shape_of(load->results[0].type).tile_bits >= cg_shape_of(stored->type).tile_bits;
}

/* The loads from `first` to `last`, and what precedes them. NULL: out of memory. */
static cg_ordered_op *loads_of(cg_func *c, const ct_op *first, const ct_op *last, uint32_t *out_count)
{
    uint32_t count = 0, i = 0;
    for (const ct_op *op = first; op != last->next; op = op->next)
        count += ct_is_load(op);
    cg_ordered_op *loads = bc_new(&c->arena, cg_ordered_op, count + 1u);
    for (const ct_op *op = first; loads && op != last->next; op = op->next)
        if (ct_is_load(op))
            loads[i++] = cg_ordered_op_of(c, op);
    *out_count = i;
    return loads;
}

/* May each load from `first` to `last` change places with each store? */
static bool are_free(cg_func *c, const ct_op *first, const ct_op *last)
{
    uint32_t count;
    const cg_ordered_op *loads = loads_of(c, first, last, &count);
    for (const ct_op *store = first; loads && store != last->next; store = store->next) {
        if (!is_store(store))
            continue;
        const cg_ordered_op stored = cg_ordered_op_of(c, store);
        for (uint32_t i = 0; i < count; i++)
            if (cg_are_ordered(&stored, &loads[i]))
                return false;
    }
    return loads;
}

/* Marks the ops from `first` to `last` if they are better executed store by store. */
static void mark_stretch(cg_func *c, ct_op *first, ct_op *last)
{
    while (last != first && !is_store(last))
        last = last->prev;
    bool loads = false;
    for (const ct_op *op = first; op != last; op = op->next)
        loads = loads || loads_as_much(c, op, last);
    if (!loads || !are_free(c, first, last))
        return;
    first->stretch = CT_STRETCH_BEGINS;
    last->stretch = CT_STRETCH_ENDS;
}

static bool folds(const ct_op *op)
{
    return op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD));
}

/* Marks the stretches of the block behind a reduction of its own, and those of both versions of a kernel. */
static void mark_block(cg_func *c, ct_block *block)
{
    ct_op *first = NULL;
    bool is_late = false;
    for (ct_op *op = block->first; op; op = op->next) {
        for (uint32_t i = 0; op->opcode == OP_if && i < op->region_count; i++)
            if (op->regions[i])
                mark_block(c, op->regions[i]);
        is_late = is_late || folds(op);
        if (!goes_by_elements(op))
            first = NULL;
        else if (!first)
            first = op;
        if (first && is_late && (!op->next || !goes_by_elements(op->next)))
            mark_stretch(c, first, op);
    }
}

/* ---- sums that products add to memory ---- */

/* May it stand in front of such an addition? Conversions are not moved, and nothing is in front of them. */
static bool goes_with_sums(const ct_op *op)
{
    return cg_is_blind_atomic(op) || op->opcode == CT_convert || (goes_by_elements(op) && !ct_is_load(op));
}

/* Marks the ops from `first` to the last addition up to `last`. */
static void mark_sums(ct_op *first, ct_op *last)
{
    while (last != first && !cg_is_blind_atomic(last))
        last = last->prev;
    if (last == first)
        return;
    first->stretch = CT_STRETCH_BEGINS;
    last->stretch = CT_STRETCH_ENDS;
}

static void mark_added(const ct_block *block)
{
    ct_op *first = NULL;
    for (ct_op *op = block->first; op; op = op->next) {
        for (uint32_t i = 0; i < op->region_count; i++)
            if (op->regions[i])
                mark_added(op->regions[i]);
        first = !goes_with_sums(op) ? NULL : first ? first : op;
        if (first && (!op->next || !goes_with_sums(op->next)))
            mark_sums(first, op);
    }
}

void cg_find_late(cg_func *c)
{
    if (c->strip_bits)
        return;
    if (cg_has_products(c->ir->body))
        mark_added(c->ir->body);
    else if (!c->groups)
        mark_block(c, c->ir->body);
}
