/* Finds the loads through pointers that are loads of a view, and the view; see the header.

   The pointers are one base plus a polynomial in elements. The factor of a position in the tile is a stride. A term
   that is divisible by a stride and differs between iterations or tile blocks gives the start of the tile along that
   dimension; a term that is divisible by no stride is a separate dimension, of which a tile has one element. The other
   terms are the same in the whole kernel and belong to the base. So an element's address is the same number in both
   forms: addresses wrap at 64 bits, and sums that could wrap before that are checked (lift_checks.c).

   A mask that is true exactly where start + position < extent selects the elements that a view with that extent reads
   if the start is not negative; the other elements are zero, as with the view's padding. */
#include "codegen/access/pointers.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/analysis/unread.h"
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/lift/lift.h"

/* ---- values that vary between iterations or tile blocks ---- */

static bool varies(const ct_value *v, uint32_t depth)
{
    const ct_op *op = v->op;
    if (!op)
        return v->block->parent;
    if (op->opcode == OP_get_tile_block_id || !depth || op->region_count)
        return true;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (varies(op->operands[i], depth - 1))
            return true;
    return false;
}

static bool term_varies(const cg_term *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (varies(t->factors[i], CG_LIFT_SEEN))
            return true;
    return false;
}

/* ---- terms ---- */

/* t / by. False: there is a remainder. */
static bool quotient(const cg_term *t, const cg_term *by, cg_term *out)
{
    uint32_t k = 0;
    *out = (cg_term){.times = t->times / by->times, .dim = t->dim};
    for (uint32_t i = 0; i < t->count; i++) /* both lists are sorted */
        if (k < by->count && cg_is_same_factor(t->factors[i], by->factors[k]))
            k++;
        else
            out->factors[out->count++] = t->factors[i];
    return k == by->count && t->times % by->times == 0;
}

void cg_lift_drop_term(cg_poly *p, uint32_t i)
{
    for (p->count--; i < p->count; i++)
        p->terms[i] = p->terms[i + 1];
}

bool cg_lift_is_positive(const cg_poly *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->terms[i].times < 0)
            return false;
    return true;
}

/* ---- dimensions ---- */

static cg_lift_dim *dim_of(cg_lifted *l, uint32_t dim)
{
    for (uint32_t i = 0; i < l->rank; i++)
        if (l->dims[i].stride.dim == dim)
            return &l->dims[i];
    return NULL;
}

/* Finds the dimensions of the tile with more than one element, and the stride of each; removes their terms. */
static bool find_dims(cg_lifted *l)
{
    const bc_type *tile = l->load->results[0].type;
    for (uint32_t d = 0; d < tile->rank; d++)
        if (tile->shape[d] > 1)
            l->dims[l->rank++] = (cg_lift_dim){.size = tile->shape[d], .stride = {.dim = (uint8_t)d}};
    for (uint32_t i = l->rest.count; i-- > 0;) {
        const cg_term *t = &l->rest.terms[i];
        cg_lift_dim *dim = t->dim == CG_NO_DIM ? NULL : dim_of(l, t->dim);
        if (t->dim == CG_NO_DIM)
            continue;
        if (!dim || dim->stride.times || t->times < 0 || term_varies(t))
            return false;
        dim->stride = *t;
        cg_lift_drop_term(&l->rest, i);
    }
    l->contiguous = CG_AFFINE_DIMS;
    for (uint32_t i = 0; i < l->rank; i++) {
        if (!l->dims[i].stride.times)
            return false;
        if (l->dims[i].stride.times == 1 && !l->dims[i].stride.count)
            l->contiguous = i;
    }
    return l->contiguous < CG_AFFINE_DIMS && l->contiguous + 2 >= l->rank;
}

/* Reads start + position < extent: the dimension that it bounds, where its tile starts, and its extent. Positive
   terms that vary belong to the start, all others to the extent. */
static cg_lift_dim *read_demand(cg_lifted *l, const cg_poly *demand, cg_lift_dim *out)
{
    cg_lift_dim *dim = NULL;
    *out = (cg_lift_dim){.is_masked = true};
    for (uint32_t i = 0; i < demand->count; i++) {
        cg_term t = demand->terms[i];
        if (t.dim != CG_NO_DIM) {
            if (dim || t.count || t.times != 1 || !(dim = dim_of(l, t.dim)))
                return NULL;
            continue;
        }
        bool starts = t.times > 0 && term_varies(&t);
        t.times = starts ? t.times : -t.times;
        if (!cg_poly_add_term(starts ? &out->start : &out->extent, &t))
            return NULL;
    }
    return dim;
}

static bool equals(const cg_poly *a, const cg_poly *b)
{
    cg_poly difference = *a;
    return cg_poly_add(&difference, b, -1) && difference.count == 0;
}

/* Applies the bound that a mask or a remainder gives to a dimension, if it agrees with the stride: removes the start
   from the rest. */
static bool demand(cg_lifted *l, const cg_poly *demand)
{
    cg_lift_dim said, *dim = read_demand(l, demand, &said);
    if (!dim)
        return false;
    if (dim->is_masked)
        return equals(&dim->start, &said.start) && equals(&dim->extent, &said.extent);
    cg_poly stride = {1, {dim->stride}}, before;
    stride.terms[0].dim = CG_NO_DIM;
    if (!cg_poly_multiply(&stride, &said.start, &before) || !cg_poly_add(&l->rest, &before, -1))
        return false;
    dim->is_masked = true;
    dim->start = said.start;
    dim->extent = said.extent;
    return true;
}

static bool demand_all(cg_lifted *l, const cg_poly *demands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!demand(l, &demands[i]))
            return false;
    return true;
}

/* Rows whose index wraps around, and that no store writes, may lie beyond the extent instead. *out: the index minus the
   extent. */
static bool may_lie_beyond(cg_func *c, cg_lifted *l, const cg_wrapped *w, cg_poly *out)
{
    cg_term extent = {.times = -1, .count = 1, .dim = CG_NO_DIM, .factors = {w->extent}};
    cg_lift_dim said, *dim;
    *out = w->x;
    return cg_poly_add_term(out, &extent) && (dim = read_demand(l, out, &said))
           && cg_is_unread(c, &l->affine, &l->load->results[0], dim->stride.dim, &w->x, w->extent);
}

/* All other indices must not wrap around, which is checked: an index from 0 to the extent is its own remainder. */
static bool unwrap(cg_func *c, cg_lifted *l)
{
    for (uint32_t i = 0; i < l->affine.wrapped_count; i++) {
        const cg_wrapped *w = &l->affine.wrapped[i];
        cg_poly beyond;
        if (!cg_lift_is_positive(&w->x))
            return false;
        if (!may_lie_beyond(c, l, w, &beyond))
            l->inside |= 1u << i;
        else if (!demand(l, &beyond))
            return false;
    }
    return true;
}

/* ---- where the tile starts ---- */

/* Is `a` the more specific stride? */
static bool is_larger(const cg_term *a, const cg_term *b)
{
    return a->count != b->count ? a->count > b->count : a->times > b->times;
}

/* The dimension without a mask to whose start the term can contribute; *out: its part of the start. */
static cg_lift_dim *start_for(cg_lifted *l, const cg_term *t, cg_term *out)
{
    cg_lift_dim *best = NULL;
    for (uint32_t i = 0; i < l->rank; i++) {
        cg_lift_dim *dim = &l->dims[i];
        cg_term part;
        bool fits = !dim->is_masked && (!best || is_larger(&dim->stride, &best->stride))
                    && quotient(t, &dim->stride, &part);
        for (uint32_t k = 0; fits && k < part.count; k++)
            fits = dim->stride.count || varies(part.factors[k], CG_LIFT_SEEN);
        if (fits) {
            *out = part;
            best = dim;
        }
    }
    return best;
}

/* Adds a dimension for a term that varies but fits no dimension of the tile. Its varying factors are the index. */
static bool add_dim(cg_lifted *l, const cg_term *t)
{
    cg_lift_dim dim = {.size = 1, .stride = {.times = t->times, .dim = CG_NO_DIM}};
    cg_term index = {.times = 1, .dim = CG_NO_DIM};
    for (uint32_t i = 0; i < t->count; i++) {
        cg_term *to = varies(t->factors[i], CG_LIFT_SEEN) ? &index : &dim.stride;
        to->factors[to->count++] = t->factors[i];
    }
    if (l->rank == CG_AFFINE_DIMS || !cg_poly_add_term(&dim.start, &index))
        return false;
    for (uint32_t i = l->rank++; i-- > 0;)
        l->dims[i + 1] = l->dims[i];
    l->dims[0] = dim;
    l->contiguous++;
    return true;
}

static bool find_starts(cg_lifted *l)
{
    for (uint32_t i = l->rest.count; i-- > 0;) {
        cg_term t = l->rest.terms[i], part;
        if (!term_varies(&t))
            continue;
        cg_lift_dim *dim = t.times > 0 ? start_for(l, &t, &part) : NULL;
        if (t.times <= 0 || (dim && !cg_poly_add_term(&dim->start, &part)))
            return false;
        cg_lift_drop_term(&l->rest, i);
        if (!dim && !add_dim(l, &t))
            return false;
    }
    return true;
}

/* ---- which ---- */

/* The first product found that has v as an operand, as it is or converted; NULL: there is none. */
static const ct_op *product_fed(const ct_value *v, bool packed, uint32_t depth)
{
    const ct_op *found = NULL;
    for (const ct_use *use = v->uses; use && depth && !found; use = use->next) {
        const ct_op *op = use->op;
        bool passes = bc_op_in(op->opcode, BC_OPS(CAST) | BC_OPS(MAP) | BC_OPS(RESHAPE) | BC_OPS(MOVE))
                      || (packed && op->opcode == OP_cat);
        if (cg_is_product(op) && use->index < 2)
            found = op;
        else if (passes)
            found = product_fed(&op->results[0], packed, depth - 1);
    }
    return found;
}

bool cg_lift_feeds_product(const ct_value *v, bool packed, uint32_t depth)
{
    return product_fed(v, packed, depth);
}

static bool is_copied_as_is(cg_func *c, ct_op *load)
{
    uint32_t along;
    cg_ptr_op p = cg_ptr_op_of(load);
    return cg_pointer_vector(c, &p, &along) + (uint32_t)cg_pointee_shift(p.pointers->type) >= CG_LIFT_CHUNK_BITS;
}

static bool is_loaded(const ct_value *operand)
{
    const ct_op *source = cg_source_of(operand)->op;
    return !source || ct_is_load(source);
}

/* Can threads make fragments for the product of what the load brings, or of its other operand? Of many rows and 64
   columns, one warpgroup would; operands of a chain come from other products. */
static bool suits_fragments(const cg_func *c, const ct_op *load)
{
    const ct_op *product = product_fed(&load->results[0], true, CG_LIFT_SEEN);
    if (!product)
        return false;
    const cg_product p = cg_product_of(c, product);
    const bool is_narrow = 1u << p.m > CG_WARPGROUP_ROWS && 1u << p.n <= CG_WARPGROUP_ROWS;
    return cg_has_atom(&p) && !p.chained && !is_narrow && !(is_loaded(p.lhs) && is_loaded(p.rhs));
}

bool cg_lift_copied_as_is(cg_func *c, const cg_lifted *l)
{
    return l->load->opcode == OP_load_ptr_tko && is_copied_as_is(c, l->load) && !suits_fragments(c, l->load);
}

static bool may_be_lifted(cg_func *c, ct_op *load)
{
    const ct_value *padding = ct_operand(load, F_load_ptr_tko_padding_value);
    const bc_type *tile = load->results[0].type;
    return load->opcode == OP_load_ptr_tko && tile->rank >= 2 && tile->rank <= CG_AFFINE_DIMS
           && bc_kind_memory_bytes(bc_elem_kind(tile)) && cg_is_weak_access(load)
           && (!padding || ct_is_all_zero(padding))
           && cg_lift_feeds_product(&load->results[0], !is_copied_as_is(c, load), CG_LIFT_SEEN);
}

/* Is the load of a view, with that padding, one whose view may be replaced by another one? */
static bool may_be_view(const ct_op *load, uint8_t padding)
{
    return cg_is_weak_access(load) && (padding == BC_NO_PADDING || padding == BC_PaddingValue_zero)
           && bc_kind_memory_bytes(bc_elem_kind(load->results[0].type))
           && cg_lift_feeds_product(&load->results[0], false, CG_LIFT_SEEN);
}

bool cg_lift_find_view(ct_op *load, cg_lifted *out)
{
    const ct_value *view = load->opcode == OP_load_view_tko ? load->operands[0] : NULL;
    const ct_op *loop = ct_loop_around(load), *made = view ? view->op : NULL;
    if (!made || !loop || loop->opcode != OP_for || ct_is_inside(view->block, loop->regions[0])
        || (made->opcode != OP_make_partition_view && made->opcode != OP_make_strided_view))
        return false;
    ct_op *tensor = made->operands[0]->op;
    if (!tensor || tensor->opcode != OP_make_tensor_view || !may_be_view(load, view->type->padding))
        return false;
    *out = (cg_lifted){.load = load, .tensor = tensor};
    return true;
}

/* A size of the tensor as a term. */
static cg_term size_term(const ct_op *tensor, int row, const int64_t *sizes, uint32_t d)
{
    const ct_value *v = cg_lift_size(tensor, row, sizes, d);
    cg_term t = {.times = v ? 1 : sizes[d], .count = v != NULL, .dim = CG_NO_DIM, .factors = {v}};
    return t;
}

bool cg_lift_find_start(cg_func *c, cg_lifted *l, ct_value *index, bool sparse, cg_poly *out)
{
    bool follows = !sparse;
    if (!cg_poly_of(&l->affine, index, out) || !cg_lift_mirror(c, out, true))
        return false;
    for (uint32_t i = out->count; i-- > 0;) {
        const cg_term *t = &out->terms[i];
        if (t->dim == CG_NO_DIM)
            continue;
        follows = t->times == 1 && !t->count;
        cg_lift_drop_term(out, i);
    }
    return follows && cg_lift_is_positive(out);
}

static bool is_outside(const cg_term *t, uint32_t count, const ct_block *body)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < t[i].count; k++)
            if (ct_is_inside(t[i].factors[k]->block, body))
                return false;
    return true;
}

/* Does the view's position depend only on values from outside the innermost loop? Values computed in an iteration
   may be tile indices only. */
static bool is_from_outside(const cg_lifted *l)
{
    const ct_op *loop = ct_loop_around(l->load);
    const ct_block *body = loop ? loop->regions[0] : NULL;
    bool outside = !loop || (!ct_is_inside(l->base->block, body) && is_outside(l->rest.terms, l->rest.count, body));
    for (uint32_t d = 0; loop && outside && d < l->rank; d++)
        outside = is_outside(&l->dims[d].stride, 1, body)
                  && is_outside(l->dims[d].extent.terms, l->dims[d].extent.count, body);
    return outside;
}

bool cg_lift_find_gather(cg_func *c, ct_op *load, cg_lifted *out)
{
    const ct_value *view = load->opcode == OP_load_view_tko ? load->operands[0] : NULL;
    const ct_op *made = view ? view->op : NULL;
    ct_op *tensor = made && made->opcode == OP_make_gather_scatter_view ? made->operands[0]->op : NULL;
    const bc_type *tile = load->results[0].type, *type = tensor ? tensor->results[0].type : NULL;
    if (!tensor || tensor->opcode != OP_make_tensor_view || !may_be_view(load, view->type->padding)
        || tile->rank != type->rank || tile->rank < 2 || tile->rank > CG_AFFINE_DIMS)
        return false;
    *out = (cg_lifted){.load = load, .base = tensor->operands[0], .rank = tile->rank, .contiguous = CG_AFFINE_DIMS};
    uint32_t first = ct_operand_range(load, F_load_view_tko_index).first;
    for (uint32_t d = 0; d < tile->rank; d++) {
        cg_lift_dim *dim = &out->dims[d];
        *dim = (cg_lift_dim){.size = tile->shape[d],
                             .stride = size_term(tensor, F_make_tensor_view_dynamic_strides, type->strides, d),
                             .is_masked = true};
        cg_term extent = size_term(tensor, F_make_tensor_view_dynamic_shape, type->shape, d);
        if (!cg_poly_add_term(&dim->extent, &extent)
            || !cg_lift_find_start(c, out, load->operands[first + d], view->type->sparse_dim == d, &dim->start))
            return false;
        out->contiguous = dim->stride.times == 1 && !dim->stride.count ? d : out->contiguous;
    }
    return out->contiguous < CG_AFFINE_DIMS && out->contiguous + 2 >= out->rank && is_from_outside(out);
}

bool cg_lift_find(cg_func *c, ct_op *load, cg_lifted *out)
{
    cg_poly demands[CG_LIFT_DEMANDS];
    uint32_t count = 0;
    if (!may_be_lifted(c, load))
        return false;
    *out = (cg_lifted){.load = load, .affine = {.wraps = true}};
    if (!cg_pointers_of(&out->affine, ct_operand(load, F_load_ptr_tko_source), &out->base, &out->rest)
        || !cg_lift_mirror(c, &out->rest, false) || !find_dims(out))
        return false;
    ct_value *mask = ct_operand(load, F_load_ptr_tko_mask);
    if (mask && !cg_mask_of(&out->affine, mask, demands, CG_LIFT_DEMANDS, &count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!cg_lift_mirror(c, &demands[i], false))
            return false;
    return demand_all(out, demands, count) && unwrap(c, out) && find_starts(out) && is_from_outside(out);
}

bool cg_lift_suits(cg_func *c, const cg_lifted *l, bool anywhere, bool *asks)
{
    ct_op *loop = (ct_op *)(uintptr_t)ct_loop_around(l->load);
    cg_lift_checks k = {.dry = true, .inside = loop ? loop->block : NULL, .first = loop, .last = loop};
    cg_lift_check(&k, l);
    *asks = k.any;
    return !k.failed && (!k.any || cg_lift_is_there(&k, l)) && (!l->tensor || (k.any && !k.divides))
           && !(cg_lift_takes_lesser(l) && (anywhere || cg_lift_copied_as_is(c, l)));
}
