/* Loops over K of a product of two loaded tiles (codegen/analysis/k_loop.h). */
#include "codegen/analysis/k_loop.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"
#include "codegen/tile/build.h"

bool cg_is_steady(const cg_k_loop *x, const ct_value *v, uint32_t ops)
{
    if (!ct_is_inside(v->block, x->loop->regions[0]))
        return true;
    bool steady = ops && v->op && ct_is_pure(v->op);
    for (uint32_t i = 0; steady && i < v->op->operand_count; i++)
        steady = cg_is_steady(x, v->op->operands[i], ops - 1);
    return steady;
}

/* ---- the values that have K as a dimension ---- */

/* Is the op one that may stand between a load and its product as it is: a permute, a conversion, or a reshape that
   drops dimensions of one? */
static bool is_plain(const ct_op *op)
{
    if (op->opcode == OP_permute || op->opcode == OP_ftof || op->opcode == OP_itof)
        return true;
    if (op->opcode != OP_reshape || op->operands[0]->type->rank < op->results[0].type->rank)
        return false;
    const bc_type *from = op->operands[0]->type, *to = op->results[0].type;
    const uint32_t more = from->rank - to->rank;
    for (uint32_t d = 0; d < from->rank; d++)
        if (from->shape[d] != (d < more ? 1 : to->shape[d - more]))
            return false;
    return true;
}

/* The dimension of a reshape's operand whose elements are those of dimension k of its result, or groups of them. False:
   there is none. */
static bool before_reshape(const bc_type *from, const bc_type *to, uint32_t k, uint32_t *out)
{
    int64_t outside = 1, passed = 1;
    bool found = false;
    for (uint32_t d = 0; d < k; d++)
        outside *= to->shape[d];
    for (uint32_t d = 0; d < from->rank; passed *= from->shape[d++])
        if (passed == outside && from->shape[d] > 1) {
            *out = d;
            found = true;
        }
    return found;
}

/* The scalar that all elements are. NULL: there is none. */
static ct_value *scalar_of(ct_value *v)
{
    while (v->op && (v->op->opcode == OP_reshape || v->op->opcode == OP_broadcast))
        v = v->op->operands[0];
    return v->type->rank ? NULL : v;
}

/* The scalar of a sum of a scalar and the position along its only dimension. NULL: it is no such sum. */
static ct_value *base_of(const ct_value *v)
{
    const ct_op *op = v->op;
    for (uint32_t i = 0; op && op->opcode == OP_addi && v->type->rank == 1 && i < 2; i++) {
        ct_value *base = scalar_of(op->operands[i]);
        if (base && op->operands[1 - i]->op && op->operands[1 - i]->op->opcode == OP_iota)
            return base;
    }
    return NULL;
}

/* Is it a constant whose only number is that of all elements? */
static bool is_number(const ct_value *v)
{
    return v->op && v->op->opcode == OP_constant && ct_is_splat(v->op)
           && ct_attr_of(v->op, F_constant_value)->blob->len == bc_kind_constant_bytes(bc_elem_kind(v->type));
}

/* Finds what dimension k of v is computed from. False: from something else than loads, positions and what does not
   change. */
static bool visit(cg_k_loop *x, ct_value *v, uint32_t k)
{
    ct_op *op = v->op;
    for (uint32_t i = 0; i < x->slice_count; i++)
        if (x->slices[i].value == v)
            return x->slices[i].k == k;
    if (!op || x->slice_count == CG_K_SLICES)
        return false;
    cg_k_slice *slice = &x->slices[x->slice_count++];
    *slice = (cg_k_slice){.value = v, .k = k, .base = base_of(v)};
    if (is_number(v))
        return true;
    if (op->block != x->loop->regions[0])
        return false;
    if (op->opcode == OP_load_view_tko) {
        if (x->load_count == CG_K_LOADS)
            return false;
        x->k[x->load_count] = k;
        x->loads[x->load_count++] = op;
        return true;
    }
    x->computed[x->operand] = x->computed[x->operand] || !is_plain(op);
    if (op->opcode == OP_permute)
        return visit(x, op->operands[0], (uint32_t)ct_attr_of(op, F_permute_permutation)->ints->ptr[k]);
    if (op->opcode == OP_reshape)
        return before_reshape(op->operands[0]->type, v->type, k, &k) && visit(x, op->operands[0], k);
    if (op->opcode == OP_broadcast && op->operands[0]->type->shape[k] == 1)
        return cg_is_steady(x, op->operands[0], CG_K_LOADS);
    if (slice->base)
        return true;
    if (op->opcode == OP_cat ? ct_attr_u(op, F_cat_dim) == k : op->opcode != OP_broadcast && !ct_is_map(op))
        return false;
    bool all = op->operand_count > 0;
    for (uint32_t i = 0; all && i < op->operand_count; i++)
        all = visit(x, op->operands[i], k);
    return all;
}

static bool is_slice(const cg_k_loop *x, const ct_op *op)
{
    for (uint32_t i = 0; i < x->slice_count; i++)
        if (x->slices[i].value->op == op)
            return true;
    return op == x->product;
}

/* Does nothing else read the slices? */
static bool are_private(const cg_k_loop *x)
{
    for (uint32_t i = 0; i < x->slice_count; i++)
        for (const ct_use *use = x->slices[i].value->uses; use && !is_number(x->slices[i].value); use = use->next)
            if (!is_slice(x, use->op))
                return false;
    return true;
}

/* Finds the slices of both operands. The first two loads are to be of one operand each. */
static bool find_slices(cg_k_loop *x)
{
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t first = x->load_count;
        x->operand = i;
        ct_value *v = x->product->operands[i];
        if (!visit(x, v, v->type->rank - 1 - i) || x->load_count == first)
            return false;
        ct_op *load = x->loads[i];
        uint32_t k = x->k[i];
        x->loads[i] = x->loads[first];
        x->k[i] = x->k[first];
        x->loads[first] = load;
        x->k[first] = k;
    }
    return are_private(x);
}

/* Is the tile a two-dimensional one of tiles at even distances, or one of a batch of those, in the order of the
   tensor's dimensions? */
static bool is_even(const cg_k_loop *x, const ct_op *load)
{
    const ct_value *view = ct_operand(load, ct_info(load)->address);
    const bc_type *type = view->type;
    bool even = type->kind == BC_PARTITION_VIEW || type->kind == BC_STRIDED_VIEW;
    for (uint32_t d = 0; even && d < type->rank; d++)
        if (type->dim_map[d] != d || (d + 2 < type->rank && type->shape[d] != 1))
            return false;
    return even && view->op && bc_op_in(view->op->opcode, BC_OPS(VIEW))
           && !ct_is_inside(view->op->block, x->loop->regions[0]) && cg_is_weak_access(load);
}

/* May the op be executed in more or fewer iterations? It must belong to the product, or have no effects. */
static bool may_repeat(const cg_k_loop *x, const ct_op *op)
{
    return is_slice(x, op) || op->opcode == OP_continue || ct_is_pure(op)
           || (ct_is_load(op) && cg_is_weak_access(op) && ct_gives_no_tiles(op));
}

/* Does the loop carry only sums and tokens, and no counters? */
static bool carries_sums(const cg_k_loop *x)
{
    const ct_block *body = x->loop->regions[0];
    const ct_op *end = body->last;
    bool sums = false;
    for (uint32_t i = 1; i < body->arg_count; i++) {
        const ct_value *arg = &body->args[i];
        bool is_sum = x->product->operands[2] == arg && end->operands[i - 1] == &x->product->results[0];
        sums = sums || is_sum;
        if (!is_sum && arg->type->kind != BC_TOKEN)
            return false;
    }
    return sums;
}

bool cg_find_k_loop(ct_op *loop, cg_k_loop *x)
{
    const ct_block *body = loop->regions[0];
    *x = (cg_k_loop){.loop = loop};
    if (loop->opcode != OP_for)
        return false;
    for (ct_op *op = body->first; op; op = op->next) {
        if (cg_is_product(op) && x->product)
            return false;
        x->product = cg_is_product(op) ? op : x->product;
    }
    if (!x->product || !find_slices(x))
        return false;
    for (uint32_t i = 0; i < x->load_count; i++)
        if (!is_even(x, x->loads[i]))
            return false;
    for (const ct_op *op = body->first; op; op = op->next)
        if (!may_repeat(x, op))
            return false;
    return body->last->opcode == OP_continue && carries_sums(x);
}

uint32_t cg_loaded_bytes(const ct_op *load)
{
    const bc_type *type = load->results[0].type;
    return cg_memory_bytes(bc_elem_kind(type)) << cg_shape_of(type).tile_bits;
}

int64_t cg_tiles_apart(const bc_type *view, uint32_t dim)
{
    return view->kind == BC_STRIDED_VIEW ? view->strides[dim] : view->shape[dim];
}

/* ---- zeros ---- */

/* Are all elements of v zero where those of all loaded tiles are? What multiplies or divides a zero must be one, too:
   otherwise, it could be infinite. */
static bool is_zero(const cg_k_loop *x, const ct_value *v, uint32_t ops)
{
    const ct_op *op = v->op;
    if (!op || !ops)
        return false;
    bool first = false, all = op->operand_count > 0;
    switch ((int)op->opcode) {
    case OP_load_view_tko: return ct_is_inside(op->block, x->loop->regions[0]);
    case OP_constant: return ct_is_zero(op);
    case OP_permute:
    case OP_reshape:
    case OP_broadcast:
    case OP_ftof:
    case OP_itof:
    case OP_exti:
    case OP_negf:
    case OP_cat:
    case OP_mulf:
    case OP_addf:
    case OP_subf:
    case OP_select: /* whatever the condition */
        for (uint32_t i = op->opcode == OP_select; all && i < op->operand_count; i++)
            all = is_zero(x, op->operands[i], ops - 1);
        return all;
    case OP_andi: first = is_zero(x, op->operands[1], ops - 1); break;
    case OP_shli:
    case OP_shri: break;
    default: return false;
    }
    return first || is_zero(x, op->operands[0], ops - 1);
}

bool cg_is_zero_of_zeros(const cg_k_loop *x)
{
    return is_zero(x, x->product->operands[0], CG_K_SLICES) && is_zero(x, x->product->operands[1], CG_K_SLICES);
}

/* ---- another size ---- */

/* Values of one type have one type again. */
static bool resize(ct_func *f, cg_k_loop *x, uint32_t i, int64_t times, int64_t parts)
{
    cg_k_slice *slice = &x->slices[i];
    const bc_type *type = NULL;
    slice->was = slice->value->type;
    for (uint32_t n = 0; n < i && !type; n++)
        if (x->slices[n].was == slice->was && x->slices[n].k == slice->k)
            type = x->slices[n].value->type;
    type = type ? type : ct_sized_type(f, slice->was, slice->k, slice->was->shape[slice->k] * times / parts);
    if (type)
        slice->value->type = type;
    return type && (slice->value->op->opcode != OP_load_view_tko || ct_renew_from(f, slice->value->op));
}

/* A number becomes another one for those that read it here. */
static bool renew_number(ct_func *f, const cg_k_loop *x, cg_k_slice *slice)
{
    ct_value *was = slice->value;
    ct_op *copy = ct_op_like(f, OP_constant, was->op, 0, 1, 0);
    if (!copy)
        return false;
    copy->results[0].type = was->type;
    ct_insert_after(copy, was->op);
    slice->value = &copy->results[0];
    for (ct_use *use = was->uses, *next; use; use = next) {
        next = use->next;
        if (is_slice(x, use->op))
            ct_set_operand(use->op, use->index, slice->value);
    }
    return true;
}

/* The same for the numbers along K and the scalar in a position. */
static bool resize_position(ct_func *f, cg_k_slice *slice)
{
    ct_value *v = slice->value;
    ct_builder b = {f, v->op, false};
    ct_value *base = ct_build_spread(&b, slice->base, v->type), *numbers = ct_build(&b, OP_iota, v->type, NULL, 0);
    if (!base || !numbers)
        return false;
    ct_set_operand(v->op, 0, base);
    ct_set_operand(v->op, 1, numbers);
    return true;
}

bool cg_resize_k(ct_func *f, cg_k_loop *x, int64_t times, int64_t parts)
{
    for (uint32_t i = 0; i < x->slice_count; i++)
        if ((is_number(x->slices[i].value) && !renew_number(f, x, &x->slices[i])) || !resize(f, x, i, times, parts)
            || (x->slices[i].base && !resize_position(f, &x->slices[i])))
            return false;
    return true;
}
