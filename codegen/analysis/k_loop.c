/* Loops over K of a product of two loaded tiles (codegen/analysis/k_loop.h). */
#include "codegen/analysis/k_loop.h"
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"

static bool is_flip(const ct_op *op)
{
    return op->opcode == OP_permute && op->results[0].type->rank == 2
           && ct_attr_of(op, F_permute_permutation)->ints->ptr[0] == 1;
}

/* Does the op only drop dimensions of one, such as that of a batch, in front of the others? Gives their number. */
static bool is_drop(const ct_op *op, uint32_t *out_dropped)
{
    if (op->opcode != OP_reshape || op->operands[0]->type->rank < op->results[0].type->rank)
        return false;
    const bc_type *from = op->operands[0]->type, *to = op->results[0].type;
    *out_dropped = from->rank - to->rank;
    for (uint32_t d = 0; d < from->rank; d++)
        if (from->shape[d] != (d < *out_dropped ? 1 : to->shape[d - *out_dropped]))
            return false;
    return true;
}

/* Is the op one that may stand between a load and its product? *k: the dimension that is K of its result; becomes that
   of its operand. */
static bool is_between(const ct_op *op, uint32_t *k)
{
    uint32_t dropped = 0;
    if (is_flip(op))
        *k = 1 - *k;
    else if (is_drop(op, &dropped))
        *k += dropped;
    else
        return op->opcode == OP_ftof || op->opcode == OP_itof;
    return true;
}

/* Finds the load of the body whose tile is used for operand i only. False: there is none. */
static bool find_load(cg_k_loop *x, uint32_t i)
{
    const ct_value *v = x->product->operands[i];
    x->k[i] = v->type->rank - 1 - i;
    for (uint32_t n = 0; n < CG_CUT_OPS && v->op && v->op->block == x->loop->regions[0] && v->uses && !v->uses->next;
         n++) {
        x->loads[i] = v->op;
        if (v->op->opcode == OP_load_view_tko)
            return true;
        if (!is_between(v->op, &x->k[i]))
            return false;
        v = v->op->operands[0];
    }
    return false;
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
    return even && type->rank >= 2 && view->op && bc_op_in(view->op->opcode, BC_OPS(VIEW))
           && !ct_is_inside(view->op->block, x->loop->regions[0]) && cg_is_weak_access(load);
}

/* May the op be executed in more or fewer iterations? It must belong to the product, or give only scalars or tokens. */
static bool may_repeat(const cg_k_loop *x, const ct_op *op)
{
    uint32_t k = 0;
    if (op == x->product || op == x->loads[0] || op == x->loads[1] || op->opcode == OP_continue || is_between(op, &k))
        return true;
    return (ct_is_pure(op) || (ct_is_load(op) && cg_is_weak_access(op))) && ct_gives_no_tiles(op);
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
    for (uint32_t i = 0; x->product && i < 2; i++)
        if (!find_load(x, i) || !is_even(x, x->loads[i]))
            return false;
    for (const ct_op *op = body->first; x->product && op; op = op->next)
        if (!may_repeat(x, op))
            return false;
    return x->product && body->last->opcode == OP_continue && carries_sums(x);
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

/* The dimension that is K of the result of an op between a load and its product; k: that of its operand. */
static uint32_t k_of_result(const ct_op *op, uint32_t k)
{
    return is_flip(op) ? 1 - k : k + op->results[0].type->rank - op->operands[0]->type->rank;
}

bool cg_resize_k(ct_func *f, const cg_k_loop *x, uint32_t i, int64_t size)
{
    uint32_t k = x->k[i];
    for (ct_value *v = &x->loads[i]->results[0];; v = &v->uses->op->results[0]) {
        k = v != &x->loads[i]->results[0] ? k_of_result(v->op, k) : k;
        if (!(v->type = ct_sized_type(f, v->type, k, size)))
            return false;
        if (v->uses->op == x->product)
            return ct_renew_from(f, x->loads[i]);
    }
}
