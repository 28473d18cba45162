/* The narrow pass computes only the rows of a product that can be stored. Attention kernels use tiles of 64 queries
   even for a single query: the tile has as many rows as the instruction, but the tensor has one.

   If the tensor's extent is known and at most 16, the product gets as many rows as lie inside the tensor, rounded up to
   a power of two, and so do the ops that compute its operands and use its result. Such products are bound by memory and
   use `mma.sync`. An index becomes that of the first part, in 64 bits, so that an index outside the tensor stays
   outside. A `RowsInside` remark says how many rows remain.

   Of loads of which only single elements are used, those elements are loaded (codegen/passes/narrow_loads.c).

   Why it is right: the omitted rows lie outside every tensor that is stored to. They are found as the parts that
   the blocks of a cluster other than the first would compute (codegen/plan/cluster_find.c). The pass runs early,
   so that all later passes see the smaller tiles. */
#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/plan/budget.h"
#include "codegen/cluster/cluster.h"
#include "codegen/passes/narrow.h"
#include "codegen/passes/pass.h"

enum { MOST_ROWS = 1 << CG_ATOM_ROW_BITS /* of products by mma.sync, which only memory limits */ };

/* The extent of the tensor along a dimension of the tiles that the op stores. BC_DYNAMIC: it is not known. */
static int64_t extent_of(const ct_op *store, uint32_t axis)
{
    const ct_value *view = store->opcode == OP_store_view_tko ? ct_operand(store, F_store_view_tko_view) : NULL;
    if (!view || !view->op || view->op->opcode != OP_make_partition_view)
        return BC_DYNAMIC;
    return view->op->operands[0]->type->shape[view->type->dim_map[axis]];
}

/* The number of rows that the store writes inside the tensor, if its tiles have a dimension as long as `rows`;
   otherwise `rows`. */
static int64_t rows_inside(const ct_op *store, const bc_type *tile, int64_t rows)
{
    int64_t inside = rows;
    for (uint32_t d = 0; d < tile->rank; d++) {
        int64_t extent = tile->shape[d] == rows ? extent_of(store, d) : BC_DYNAMIC;
        inside = extent != BC_DYNAMIC && extent < inside ? extent : inside;
    }
    return inside;
}

/* The largest number of rows that any store writes. */
static int64_t rows_stored(const ct_func *f, int64_t rows)
{
    int64_t most = 0;
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body)) {
        uint32_t value;
        int64_t here = cg_cluster_is_store(op, &value) ? rows_inside(op, op->operands[value]->type, rows) : 0;
        most = here > most ? here : most;
    }
    return most;
}

/* Does the first part include all rows that each store writes? */
static bool has_all(const cg_spreading *x)
{
    const ct_block *body = x->c->ir->body;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        uint32_t value;
        if (!cg_cluster_is_store(op, &value))
            continue;
        uint32_t axis = x->of[op->operands[value]->id].axis;
        int64_t extent = extent_of(op, axis);
        if (extent == BC_DYNAMIC || extent > op->operands[value]->type->shape[axis] / x->blocks)
            return false;
    }
    return true;
}

void cg_pass_narrow(cg_func *c)
{
    cg_narrow_loads(c);
    const ct_op *product = cg_largest_product(c->ir);
    const bc_type *type = product && c->ir->value_count <= CG_CLUSTER_VALUES ? product->results[0].type : NULL;
    int64_t rows = type ? type->shape[type->rank - 2] : 0, stored = rows_stored(c->ir, rows);
    if (stored < 1 || stored > MOST_ROWS || 2 * stored > rows)
        return;
    uint32_t kept = (uint32_t)1 << cg_log2_up((uint64_t)stored);
    cg_spreading x = {.c = c, .blocks = (uint32_t)rows / kept, .only_first = true};
    if (!cg_cluster_find(&x) || !has_all(&x))
        return;
    cg_cluster_split(&x);
    cg_set_warps(c);
    cg_remark(c, product, CG_REMARK_RowsInside, TV_REMARK_PASSED,
              "{Kept=%u} of {Rows=%u} rows are computed: the others are never stored", kept, (uint32_t)rows);
}
