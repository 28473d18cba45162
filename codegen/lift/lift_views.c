/* Creates the view of a load that is lifted; see lift.h. */
#include "codegen/lift/lift.h"

/* ---- values ---- */

/* The number of the iteration, computed from the counter. */
static ct_value *put_iteration(ct_builder *b, const ct_op *loop, int64_t step)
{
    ct_value *counter = &loop->regions[0]->args[0];
    return ct_build_div_unsigned(b, ct_build_sub(b, counter, loop->operands[0]), step);
}

static ct_value *put_factor(ct_builder *b, const ct_value *v, bc_kind kind)
{
    int64_t step;
    const ct_op *loop = cg_counted_loop(v, &step);
    ct_value *x = loop ? put_iteration(b, loop, step) : (ct_value *)(uintptr_t)v;
    return ct_build_resize(b, x, kind, true);
}

ct_value *cg_lift_put_poly(ct_builder *b, const cg_poly *p, int64_t by, bc_kind kind)
{
    ct_value *sum = ct_build_scalar(b, kind, 0);
    for (uint32_t i = 0; i < p->count; i++) {
        ct_value *term = ct_build_scalar(b, kind, p->terms[i].times / by);
        for (uint32_t f = 0; f < p->terms[i].count; f++)
            term = ct_build_mul(b, term, put_factor(b, p->terms[i].factors[f], kind));
        sum = ct_build_add(b, sum, term);
    }
    return sum;
}

static ct_value *put_select(ct_builder *b, ct_value *holds, ct_value *yes, ct_value *no)
{
    return ct_build(b, OP_select, yes ? yes->type : NULL, (ct_value *const[]){holds, yes, no}, 3);
}

/* An extent or stride: a number, or the value of the polynomial. The conditions that `holds` stands for promise that
   it is in range, and divisible. Where they do not hold, `otherwise` takes its place, so that tensor maps of the
   view can be built in any case. */
static ct_extent put_extent(ct_builder *b, const cg_poly *p, uint32_t divisor, ct_value *holds, int64_t otherwise)
{
    bool negative = false, is_number = p->count == 0 || (p->count == 1 && !p->terms[0].count);
    int64_t number = p->count ? p->terms[0].times : 0;
    if (is_number)
        return (ct_extent){number > 0 ? number : 0, NULL};
    for (uint32_t i = 0; i < p->count; i++)
        negative = negative || p->terms[i].times < 0;
    ct_value *v = cg_lift_put_poly(b, p, 1, BC_I64);
    if (negative) {
        v = ct_build_two(b, OP_maxi, v, ct_build_scalar(b, BC_I64, 0));
        if (v)
            bc_attr_of(v->op->from, F_maxi_signedness)->u = BC_Signedness_signed;
    }
    if (holds)
        v = put_select(b, holds, v, ct_build_scalar(b, BC_I64, otherwise));
    v = ct_build_bounded(b, v, 0, CG_LIFT_REACH);
    return (ct_extent){BC_DYNAMIC, divisor ? ct_build_multiple(b, v, divisor) : v};
}

/* ---- views ---- */

int64_t cg_lift_step_of(const cg_lift_dim *d)
{
    int64_t step = d->size;
    for (uint32_t i = 0; i < d->start.count; i++)
        while (d->start.terms[i].times % step)
            step = step & (step - 1) ? 1 : step / 2;
    return step;
}

ct_value *cg_lift_put_index(ct_builder *b, const cg_lift_dim *dim, bc_kind kind)
{
    int64_t step = cg_lift_step_of(dim), end = dim->is_masked ? CG_LIFT_REACH : CG_LIFT_UNBOUND;
    ct_value *index = cg_lift_put_poly(b, &dim->start, step, kind);
    bool is_number = index && index->op && index->op->opcode == OP_constant;
    return is_number ? index : ct_build_bounded(b, index, 0, (end - dim->size) / step);
}

static ct_value *put_base(ct_builder *b, const cg_lifted *l)
{
    ct_value *base = ct_build_multiple(b, l->base, l->byte_bits);
    if (!l->rest.count)
        return base;
    ct_value *rest = ct_build_multiple(b, cg_lift_put_poly(b, &l->rest, 1, BC_I64), cg_lift_chunk_bits(l));
    return ct_build_two(b, OP_offset, base, rest);
}

/* The extent of a dimension without a mask, large enough for all tiles. If the address may violate the conditions of
   tensor maps, the tensor has no elements in that case. */
static ct_extent put_unbound(ct_builder *b, const cg_lifted *l, uint32_t d, ct_value *holds)
{
    int64_t extent = l->dims[d].start.count ? CG_LIFT_UNBOUND : l->dims[d].size;
    if (!holds || d != l->contiguous || cg_lift_is_aligned(l))
        return (ct_extent){extent, NULL};
    ct_value *none = ct_build_scalar(b, BC_I64, 0), *v = put_select(b, holds, ct_build_scalar(b, BC_I64, extent), none);
    return (ct_extent){BC_DYNAMIC, ct_build_multiple(b, v, cg_lift_chunk_bits(l))};
}

/* The extent or stride with the promises that the checks justify. */
static ct_value *put_promised(ct_builder *b, ct_value *v, uint32_t bits, ct_value *holds, int64_t otherwise)
{
    bc_kind kind = bc_elem_kind(v->type);
    ct_value *x = put_select(b, holds, v, ct_build_scalar(b, kind, otherwise));
    x = ct_build_bounded(b, x, 0, bc_kind_bits(kind) > 32 ? INT64_MAX : INT32_MAX);
    return ct_build_multiple(b, x, bits);
}

static ct_value *put_promised_view(ct_builder *b, const cg_lifted *l, ct_value *holds)
{
    const bc_type *type = l->tensor->results[0].type;
    uint32_t chunk = cg_lift_chunk_bits(l), at = 1;
    ct_map map;
    ct_op *tensor = ct_map_new(b->f, &map) ? ct_clone(b->f, l->tensor, &map) : NULL;
    ct_op *view = tensor ? ct_clone(b->f, l->load->operands[0]->op, &map) : NULL;
    if (!view)
        return NULL;
    ct_insert_before(tensor, b->place);
    ct_insert_before(view, b->place);
    ct_builder before = {b->f, tensor, false};
    ct_set_operand(tensor, 0, ct_build_multiple(&before, tensor->operands[0], l->byte_bits));
    for (uint32_t d = 0; d < type->rank; d++)
        if (type->shape[d] == BC_DYNAMIC) {
            ct_set_operand(tensor, at,
                           put_promised(&before, tensor->operands[at], type->strides[d] == 1 ? chunk : 0, holds, 0));
            at++;
        }
    for (uint32_t d = 0; d < type->rank; d++)
        if (type->strides[d] == BC_DYNAMIC) {
            ct_set_operand(tensor, at, put_promised(&before, tensor->operands[at], chunk, holds, (int64_t)1 << chunk));
            at++;
        }
    b->failed = b->failed || before.failed;
    return &view->results[0];
}

ct_value *cg_lift_put_view(ct_builder *b, const cg_lifted *l, ct_value *holds)
{
    if (l->unwraps || l->tensor)
        return l->unwraps ? NULL : put_promised_view(b, l, holds);
    ct_extent extents[CG_AFFINE_DIMS], strides[CG_AFFINE_DIMS];
    int64_t shape[CG_AFFINE_DIMS], steps[CG_AFFINE_DIMS];
    bool is_masked = false;
    for (uint32_t d = 0; d < l->rank; d++) {
        const cg_lift_dim *dim = &l->dims[d];
        cg_poly stride = {1, {dim->stride}};
        stride.terms[0].dim = CG_NO_DIM;
        uint32_t chunk = cg_lift_chunk_bits(l);
        bool along = d == l->contiguous;
        strides[d] = put_extent(b, &stride, along ? 0 : chunk, holds, (int64_t)1 << chunk);
        extents[d] = dim->is_masked ? put_extent(b, &dim->extent, along ? chunk : 0, holds, 0)
                                    : put_unbound(b, l, d, holds);
        is_masked = is_masked || dim->is_masked;
        shape[d] = dim->size;
        steps[d] = cg_lift_step_of(dim);
    }
    ct_value *base = put_base(b, l);
    if (b->failed || !base)
        return NULL;
    ct_value *tensor = ct_build_op(b, ct_tensor_view_new(b->f, b->place, base, l->rank, extents, strides));
    return tensor ? ct_build_op(b, ct_tile_view_new(b->f, b->place, tensor, shape, steps,
                                                    is_masked ? (uint8_t)BC_PaddingValue_zero : BC_NO_PADDING))
                  : NULL;
}
