/* Splits a load of which only single elements are used into loads of one element each, which every thread performs. A
   row of a list of arrays is such a tile: its elements are a pointer, extents and strides. As one tile, it would be
   spread over the threads, and each element would be sent to the others through shared memory.

   Why it is right: the loads are weak, they stand where the original stood and are ordered after the same token, and
   the token of the original is not used. An element outside the tensor is also outside as a tile of one element, and is
   padded in the same way. */
#include "codegen/kernel/limits.h"
#include "codegen/passes/narrow.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/view.h"
#include "codegen/tile/build.h"

enum { MOST_DIMS = 8 };

/* Finds the position of the element in the tile. False: it is not known. */
static bool place_of(const ct_op *extract, int64_t *out)
{
    const bc_type *type = extract->results[0].type;
    for (uint32_t d = 0; d < type->rank; d++)
        if (type->shape[d] != 1 || !ct_is_constant(extract->operands[1 + d], &out[d]))
            return false;
    return true;
}

/* Is the tile's index known along all dimensions with more than one element? The element's index follows from it. */
static bool has_known_numbers(const cg_view_op *v)
{
    for (uint32_t d = 0; d < v->index_count; d++) {
        int64_t number;
        if (v->tile_type->shape[d] != 1
            && (!ct_is_constant(v->index[d], &number) || number < 0 || number > INT32_MAX / v->tile_type->shape[d] - 1))
            return false;
    }
    return true;
}

static bool is_taken_apart(const ct_op *load)
{
    cg_view_op v = cg_view_op_of(load);
    int64_t place[MOST_DIMS];
    uint32_t count = 0;
    if (!cg_is_weak_access(load) || load->results[1].uses || v.view->type->kind != BC_PARTITION_VIEW
        || v.tile_type->rank > MOST_DIMS || !v.tile_type->rank || cg_view_is_half(&v) || !has_known_numbers(&v))
        return false;
    for (const ct_use *use = load->results[0].uses; use; use = use->next, count++)
        if (use->op->opcode != OP_extract || count == CG_NARROWED_ELEMENTS || !place_of(use->op, place))
            return false;
    return count && bc_shape_elems(v.tile_type->shape, v.tile_type->rank) > 1;
}

/* A view of single elements of the same tensor, created next to `view`. NULL: out of memory. */
static ct_value *elements_of(ct_func *f, const ct_value *view)
{
    static const int64_t one[MOST_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    const bc_type *type = view->type;
    bc_type *single = bc_new(f->arena, bc_type, 1);
    if (!single)
        return NULL;
    *single = *type;
    single->shape = one;
    ct_op *op = ct_made_new(f, OP_make_partition_view, view->op, single, &view->op->operands[0], 1);
    if (!op)
        return NULL;
    ct_insert_after(op, view->op);
    return &op->results[0];
}

/* Puts a load of the element that `extract` takes in front of `load`. */
static bool put_element(ct_func *f, ct_op *load, ct_op *extract, ct_value *elements)
{
    cg_view_op v = cg_view_op_of(load);
    ct_value *index[MOST_DIMS];
    int64_t place[MOST_DIMS], inside[MOST_DIMS];
    ct_builder b = {f, load, false};
    if (!place_of(extract, place))
        return false;
    for (uint32_t d = 0; d < v.index_count; d++) {
        int64_t number = 0, size = v.tile_type->shape[d];
        index[d] = v.index[d];
        inside[d] = v.inbounds && d < v.inbounds->count ? v.inbounds->ptr[d] : 0;
        if (size == 1)
            continue;
        ct_constant_value(v.index[d]->op, &number);
        index[d] = ct_build_constant(&b, v.index[d]->type, number * size + place[d]);
    }
    ct_value *token = ct_operand(load, F_load_view_tko_token);
    ct_value *element =
        b.failed ? NULL
                 : ct_build_op(&b, ct_load_view_new(f, load, elements, index, inside, token, load->results[1].type));
    if (!element)
        return false;
    ct_replace_uses(&extract->results[0], element);
    ct_remove(extract);
    return true;
}

static bool take_apart(ct_func *f, ct_op *load)
{
    ct_value *elements = elements_of(f, cg_view_op_of(load).view);
    while (elements && load->results[0].uses)
        if (!put_element(f, load, load->results[0].uses->op, elements))
            return false;
    ct_remove(load);
    return elements;
}

void cg_narrow_loads(cg_func *c)
{
    for (ct_op *op = c->ir->body->first, *next; op && !c->failed; op = next) {
        next = ct_next_op(op, c->ir->body);
        if (op->opcode == OP_load_view_tko && is_taken_apart(op))
            take_apart(c->ir, op);
    }
}
