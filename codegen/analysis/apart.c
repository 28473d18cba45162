/* See the header. Why it is right: if each stride is at least as long as the span of all inner dimensions, two
   indices have the same address only if they are equal. Otherwise the symbol promises distinct addresses. */
#include "codegen/analysis/apart.h"

#include "codegen/facts/facts.h"
#include "codegen/kernel/promises.h"
#include "codegen/tile/same.h"

enum { MOST_DIMS = 16 };

/* An extent or a stride: its range, and its value if the type leaves it open. */
typedef struct size {
    cg_range range;
    const ct_value *value; /* NULL: the type states it */
} size;

typedef struct dims {
    uint32_t count; /* dimensions with more than one element */
    size extents[MOST_DIMS], strides[MOST_DIMS];
} dims;

/* The value itself, without promises. */
static const ct_value *without_assume(const ct_value *v)
{
    while (v->op && v->op->opcode == OP_assume)
        v = v->op->operands[0];
    return v;
}

/* The op that creates the tensor. NULL: it is not known. */
static const ct_op *maker_of(const ct_value *view)
{
    while (view->op && bc_is_tile_view(view->type))
        view = view->op->operands[0];
    return view->op && view->op->opcode == OP_make_tensor_view ? view->op : NULL;
}

static const ct_value *dynamic_of(const ct_op *maker, int row, const int64_t *stated, uint32_t dim)
{
    uint32_t at = ct_operand_range(maker, row).first;
    for (uint32_t d = 0; d < dim; d++)
        at += stated[d] == BC_DYNAMIC;
    return maker->operands[at];
}

static size size_of(const ct_op *maker, int row, const int64_t *stated, uint32_t dim)
{
    if (stated[dim] != BC_DYNAMIC)
        return (size){{stated[dim], stated[dim]}, NULL};
    const ct_value *v = dynamic_of(maker, row, stated, dim);
    return (size){v->fact ? cg_range_of(v) : (cg_range){INT64_MIN, INT64_MAX}, v};
}

static size extent_of(const ct_op *maker, uint32_t dim)
{
    return size_of(maker, F_make_tensor_view_dynamic_shape, maker->results[0].type->shape, dim);
}

static size stride_of(const ct_op *maker, uint32_t dim)
{
    return size_of(maker, F_make_tensor_view_dynamic_strides, maker->results[0].type->strides, dim);
}

/* ---- dimensions that nest ---- */

static bool is_number(const size *s, int64_t number)
{
    return s->range.low == number && s->range.high == number;
}

static bool are_equal(const size *a, const size *b)
{
    return a->value && b->value && ct_is_same(without_assume(a->value), without_assume(b->value));
}

/* Are both non-negative, and so small that their product cannot overflow int64_t? */
static bool are_small(const size *a, const size *b)
{
    return a->range.low >= 0 && b->range.low >= 0 && a->range.high <= INT32_MAX && b->range.high <= INT32_MAX;
}

static bool never_wraps(const ct_op *product, const size *a, const size *b)
{
    uint64_t said = ct_attr_u(product, F_muli_overflow);
    bool wide = bc_kind_bits(bc_elem_kind(product->results[0].type)) > 32;
    return said == BC_IntegerOverflow_no_signed_wrap || said == BC_IntegerOverflow_no_wrap
           || (are_small(a, b) && (wide || a->range.high * b->range.high <= INT32_MAX));
}

/* Is the outer stride computed as the product of the other two, neither of which is negative? */
static bool is_product_of(const size *outer, const size *stride, const size *extent)
{
    if (extent->range.low < 0 || stride->range.low < 0)
        return false;
    if (is_number(stride, 1))
        return are_equal(outer, extent);
    const ct_value *v = outer->value ? without_assume(outer->value) : NULL;
    if (!v || !v->op || v->op->opcode != OP_muli)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        size a = {{0, 0}, v->op->operands[i]}, b = {{0, 0}, v->op->operands[1 - i]};
        if (are_equal(&a, stride) && are_equal(&b, extent))
            return never_wraps(v->op, stride, extent);
    }
    return false;
}

/* Is the stride at least the span of dimension `inner`? Address arithmetic wraps, so a stride of 2^48 and more
   proves nothing. */
static bool is_beyond(const size *stride, const dims *d, uint32_t inner)
{
    const int64_t far = (int64_t)1 << 48;
    const size *step = &d->strides[inner], *extent = &d->extents[inner];
    if (stride->range.low >= far)
        return false;
    return (are_small(step, extent) && stride->range.low >= step->range.high * extent->range.high)
           || is_product_of(stride, step, extent);
}

/* Do all dimensions nest in an order that begins with `innermost`? If several may come next, the one with the
   smallest stride does. */
static bool nests_from(const dims *d, uint32_t innermost)
{
    bool placed[MOST_DIMS] = {0};
    uint32_t last = innermost;
    if (d->strides[innermost].range.low <= 0)
        return false;
    placed[innermost] = true;
    for (uint32_t n = 1; n < d->count; n++) {
        uint32_t next = MOST_DIMS;
        for (uint32_t k = 0; k < d->count; k++)
            if (!placed[k] && is_beyond(&d->strides[k], d, last)
                && (next == MOST_DIMS || d->strides[k].range.low < d->strides[next].range.low))
                next = k;
        if (next == MOST_DIMS)
            return false;
        placed[next] = true;
        last = next;
    }
    return true;
}

static bool nests(const ct_op *maker)
{
    const bc_type *type = maker->results[0].type;
    dims d = {0};
    for (uint32_t i = 0; i < type->rank; i++) {
        size extent = extent_of(maker, i);
        if (extent.range.low >= 0 && extent.range.high <= 1)
            continue;
        if (d.count == MOST_DIMS)
            return false;
        d.extents[d.count] = extent;
        d.strides[d.count++] = stride_of(maker, i);
    }
    for (uint32_t i = 0; i < d.count; i++)
        if (nests_from(&d, i))
            return true;
    return d.count == 0;
}

/* ---- promises ---- */

static bool is_parameter(const cg_func *c, const ct_value *v, uint32_t number)
{
    v = without_assume(v);
    return !v->op && v->block == c->ir->body && v->number == number;
}

/* Is the extent or stride the one of the array: its parameter, or the number that the symbol promises? */
static bool is_of_array(const cg_func *c, const size *s, int64_t promised, uint32_t parameter)
{
    return s->value ? is_parameter(c, s->value, parameter) : promised == s->range.low;
}

static bool is_promised(const cg_func *c, const ct_op *maker)
{
    const ct_value *base = without_assume(ct_operand(maker, F_make_tensor_view_base));
    uint32_t rank = maker->results[0].type->rank, first = base->number;
    if (base->op || base->block != c->ir->body || !c->promises.arrays)
        return false;
    const cg_array *array = &c->promises.arrays[first];
    bool same = array->rank == rank && array->is_simple;
    for (uint32_t d = 0; same && d < rank; d++) {
        size extent = extent_of(maker, d), stride = stride_of(maker, d);
        same = is_of_array(c, &extent, array->extents[d], first + 1 + d)
               && is_of_array(c, &stride, array->strides[d], first + 1 + rank + d);
    }
    return same;
}

bool cg_tensor_is_apart(const cg_func *c, const ct_value *view)
{
    const ct_op *maker = maker_of(view);
    return maker && (is_promised(c, maker) || nests(maker));
}

bool cg_view_tiles_apart(const cg_func *c, const ct_value *view)
{
    return view->type->kind == BC_PARTITION_VIEW && cg_tensor_is_apart(c, view);
}
