/* The outside pass ends blocks that would store nothing. Grids are as large as the launch makes them, so accesses test
   whether their tiles lie inside the tensor, and loads give zeros where they do not: registers are set to zero before
   each load, and the load has to wait for that.

   If all stores of a kernel have the same index along some dimension, blocks whose index is too large for all of these
   stores exit where it is computed (`within`). After that, the index has a range, and tiles whose sizes divide those of
   the tensor are known to be inside.

   Why it is right: nothing that such a block stores lies inside a tensor, and it has no other effect. The index after
   the exit is the result of the op that exits, so that no access that relies on its range comes before it. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/view.h"
#include "codegen/kernel/limits.h"
#include "codegen/passes/pass.h"
#include "codegen/tile/build.h"

/* Has the op no effect, apart from stores to views? */
static bool only_stores(const ct_op *op)
{
    enum { EFFECTS = BC_WRITES | BC_ORDERS | BC_REPORTS | BC_ALLOCATES };
    if (bc_op_in(op->opcode, BC_OPS(ACCESS)) && !cg_is_weak_access(op))
        return false;
    return op->opcode == OP_store_view_tko || op->opcode == OP_reduce || op->opcode == OP_scan
           || !(op->region_count || ct_info(op)->effects & EFFECTS);
}

/* How many values of the index there are along tile dimension t with which the tile lies inside the tensor, at least in
   part. 0: that is not known. */
static int64_t count_along(const cg_view_op *v, uint32_t t, bool whole)
{
    const bc_type *type = v->view->type;
    const ct_value *index = v->index[t];
    if (type->kind != BC_PARTITION_VIEW || index->type->rank || bc_elem_kind(index->type) != BC_I32 || !index->op
        || index->op->opcode == OP_constant)
        return 0;
    int64_t extent = type->elem->shape[type->dim_map ? type->dim_map[t] : t], size = type->shape[t];
    return extent == BC_DYNAMIC || (whole && extent % size) ? 0 : (extent + size - 1) / size;
}

/* The most values of the index with which the access is inside along a dimension. 0: it is not an index, or that is not
   known. whole: all tiles are inside as a whole then. */
static int64_t count_of(const ct_op *access, const ct_value *index, bool whole)
{
    cg_view_op v = cg_view_op_of(access);
    int64_t least = 0;
    for (uint32_t t = 0; t < v.index_count; t++) {
        int64_t count = v.index[t] == index ? count_along(&v, t, whole) : 0;
        least = count && (!least || count < least) ? count : least;
    }
    return least;
}

/* The number of values of the index with which some store is inside. 0: a store may be inside with any. */
static int64_t count_of_stores(const ct_func *f, const ct_value *index)
{
    int64_t most = 0;
    for (const ct_op *op = f->body->first; op; op = op->next) {
        int64_t count = op->opcode == OP_store_view_tko ? count_of(op, index, false) : 1;
        if (!count)
            return 0;
        most = count > most ? count : most;
    }
    return most;
}

/* Is there a load of which nothing else has to be tested along this dimension behind the exit? */
static bool helps_loads(const ct_func *f, const ct_value *index, int64_t count)
{
    for (const ct_op *op = f->body->first; op; op = op->next)
        if (op->opcode == OP_load_view_tko && count_of(op, index, true) >= count)
            return true;
    return false;
}

static void exit_outside(cg_func *c, ct_value *index, int64_t count)
{
    ct_builder b = {.f = c->ir, .place = index->op->next};
    ct_value *operands[] = {index, ct_build_scalar(&b, BC_I32, count)};
    ct_value *within = operands[1] ? ct_build_own(&b, CT_within, index->type, operands, 2) : NULL;
    if (!within)
        return;
    for (ct_use *use = index->uses, *next; use; use = next) {
        next = use->next;
        ct_op *op = use->op;
        if (op->opcode == OP_load_view_tko || op->opcode == OP_store_view_tko)
            ct_set_operand(op, use->index, within);
    }
}

void cg_pass_outside(cg_func *c)
{
    const ct_op *store = NULL;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (!only_stores(op))
            return;
        store = op->opcode == OP_store_view_tko ? op : store;
    }
    if (!store || c->cluster)
        return;
    cg_view_op v = cg_view_op_of(store);
    for (uint32_t t = 0; t < v.index_count && !c->failed; t++) {
        ct_value *index = v.index[t];
        int64_t count = count_along(&v, t, false) ? count_of_stores(c->ir, index) : 0;
        if (count && helps_loads(c->ir, index, count))
            exit_outside(c, index, count);
    }
}
