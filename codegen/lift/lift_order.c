/* Gathers and scatters that access tiles of a view, where no condition has to be checked.

   Why it is right: a tile whose indices along the sparse dimension follow each other consists of the same elements as a
   tile of a strided view of the same tensor, which has the same padding outside the tensor. */
#include "codegen/lift/lift.h"

#include "codegen/analysis/view.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/remarks.h"

/* Where a tile starts along dimension d, if that is known not to be negative, and no index of the tile wraps around. */
static bool find_start(cg_func *c, const cg_view_op *v, uint32_t d, cg_lift_dim *out)
{
    cg_lift_checks k = {.dry = true};
    cg_lifted l = {0};
    *out = (cg_lift_dim){.size = v->tile_type->shape[d], .is_masked = true};
    bool found = cg_lift_find_start(c, &l, v->index[d], v->view->type->sparse_dim == d, &out->start)
                 && !l.affine.widened_count;
    if (found)
        cg_lift_check_start(&k, &l, out);
    return found && !k.any && !k.failed;
}

/* Where a tile starts along the sparse dimension d, if that is a multiple of its size. Indices have 32 bits, and 2^32
   is such a multiple, too: so none of the tile's wraps around, and the tile is one of a partition, whatever the start.
   Only along a dimension whose elements lie beside each other does a gather access them one by one. */
static bool starts_whole(cg_func *c, const cg_view_op *v, uint32_t d, cg_lift_dim *out)
{
    enum { INDEX_BITS = 32 };
    cg_lifted l = {0};
    const bool is_along = v->view->type->elem->strides[d] == 1 && out->size > 1;
    return is_along && bc_kind_bits(bc_elem_kind(v->index[d]->type)) == INDEX_BITS
           && cg_lift_find_start(c, &l, v->index[d], true, &out->start) && !l.affine.widened_count
           && cg_lift_divisor(&out->start) >= cg_divisor_of((uint64_t)out->size);
}

/* The number of such a tile: indices are unsigned. */
static ct_value *put_number_of_tile(ct_builder *b, const cg_lift_dim *dim)
{
    ct_value *number = ct_build_div_unsigned(b, cg_lift_put_poly(b, &dim->start, 1, BC_I32), dim->size);
    return ct_build_bounded(b, number, 0, UINT32_MAX / dim->size);
}

/* A view of the same tensor whose tiles start at multiples of the steps, in front of the view that gathers. */
static ct_value *view_in_order(ct_func *f, ct_op *gathers, const int64_t *steps)
{
    const bc_type *type = gathers->results[0].type;
    ct_op *last = gathers->prev;
    bool same = last && (last->opcode == OP_make_partition_view || last->opcode == OP_make_strided_view)
                && last->operands[0] == gathers->operands[0] && last->results[0].type->padding == type->padding;
    for (uint32_t d = 0; same && d < type->rank; d++)
        same = cg_view_dim(last->results[0].type, d) == d && last->results[0].type->shape[d] == type->shape[d]
               && cg_view_step(last->results[0].type, d) == steps[d];
    ct_builder b = {f, gathers, false};
    return same ? &last->results[0]
                : ct_build_op(&b,
                              ct_tile_view_new(b.f, gathers, gathers->operands[0], type->shape, steps, type->padding));
}

/* In a second version, only tiles whose indices are known not to be negative are taken, because the others would take
   registers and shared memory from the first one. */
static bool take_in_order(cg_func *c, ct_op *op, bool is_second)
{
    cg_view_op v = cg_view_op_of(op);
    ct_op *made = v.view->op;
    uint32_t rank = v.tile_type->rank, first = (uint32_t)(v.index - ct_operands(op));
    cg_lift_dim dims[CG_AFFINE_DIMS];
    int64_t steps[CG_AFFINE_DIMS];
    bool whole = false;
    ct_builder b = {c->ir, op, false};
    if (!made || made->opcode != OP_make_gather_scatter_view || rank > CG_AFFINE_DIMS)
        return false;
    for (uint32_t d = 0; d < rank; d++) {
        const bool known = find_start(c, &v, d, &dims[d]), sparse = d == v.view->type->sparse_dim;
        whole = whole || (!known && sparse && !is_second && starts_whole(c, &v, d, &dims[d]));
        if (!known && sparse && !whole)
            return false;
        steps[d] = known ? cg_lift_step_of(&dims[d]) : sparse ? dims[d].size : 0;
    }
    for (uint32_t d = 0; d < rank && !b.failed; d++)
        if (steps[d]) {
            ct_value *index = whole && d == v.view->type->sparse_dim
                                  ? put_number_of_tile(&b, &dims[d])
                                  : cg_lift_put_index(&b, &dims[d], bc_elem_kind(v.index[d]->type));
            if (index)
                ct_set_operand(op, first + d, index);
        } else {
            steps[d] = 1;
        }
    ct_value *view = b.failed ? NULL : view_in_order(c->ir, made, steps);
    if (!view)
        return false;
    ct_set_operand(op, first - 1, view);
    cg_remark(c, op, CG_REMARK_Lifted, TV_REMARK_PASSED, "its indices follow each other: accessed as tiles of a view");
    return true;
}

bool cg_lift_all_in_order(cg_func *c, const ct_block *second)
{
    bool any = false;
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body))
        if (op->opcode == OP_load_view_tko || op->opcode == OP_store_view_tko)
            any = take_in_order(c, op, second && ct_is_inside(op->block, second)) || any;
    return any;
}
