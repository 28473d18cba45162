/* Divides the keys of a chain of products: an iteration loads them in parts, and multiplies part by part.

       k = load K[i]                         k0 = load K'[2 i], k1 = load K'[2 i + 1]
       s = mmaf q, k^T, 0                    s0 = mmaf q, k0^T, 0; s1 = mmaf q, k1^T, 0
       p = exp s - max s              ->     m = max (max s0, s1); p0 = exp s0 - m; p1 = exp s1 - m
       o = mmaf p, k, o                      o = mmaf p1, k1, mmaf p0, k0, o

   Each part has a slot of its own, which is filled again as soon as its last product has read it. Keys of which two
   iterations do not fit in shared memory are otherwise copied while nothing is multiplied.

   Why it is right: each element of s and p is computed as before, with the same operands; o adds the same products in
   the order in which the instruction would add them; and a reduction combines elements in any order. Loads are weak,
   nothing reads their tokens, and the parts of a tile have the elements that the tile has. */
#include "codegen/cluster/keys.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/cluster/cluster.h"
#include "codegen/kernel/limits.h"
#include "codegen/plan/budget.h"

typedef struct dividing {
    cg_func *c;
    ct_func *f;
    ct_op *loop;
    int64_t keys;
    cg_spreading as;        /* in so many parts */
    const ct_value **found; /* the values that are divided */
    uint32_t count;
    ct_value **part; /* by id * parts */
    cg_parted *types;
} dividing;

/* ---- what is divided ---- */

static bool is_parted(const dividing *x, const ct_value *v)
{
    return v->id < x->f->value_count && x->as.type[v->id] && x->as.of[v->id].parted;
}

/* Is it a product of the loop that multiplies what another one gives? */
static bool ends_chain(const dividing *x, const ct_op *op)
{
    return cg_is_product(op) && op->block == x->loop->regions[0] && op->opcode != OP_mmaf_scaled
           && op->results[0].type->rank == 2 && cg_product_before(op);
}

/* The op by which a reduction combines two elements, if it is a single one, of both in order. */
static const ct_op *combining(const ct_op *reduce)
{
    const ct_block *body = reduce->regions[0];
    const ct_op *op = body->first;
    bool is_one = op->next == body->last && ct_is_map(op) && ct_is_pure(op) && op->operand_count == 2
                  && op->operands[0] == &body->args[0] && op->operands[1] == &body->args[1]
                  && body->last->operands[0] == &op->results[0];
    return reduce->operand_count == 1 && is_one ? op : NULL;
}

/* May a tile come in parts? Loads in an order, and those that anything waits for, may not; they have no slots either,
   so that the plan would not be taken. */
static bool may_divide(const dividing *x, const ct_op *op)
{
    if (!op || op->region_count || !op->result_count || op->opcode >= OP_LIMIT || !cg_cluster_has_parts(op))
        return false;
    const ct_block *body = x->loop->regions[0];
    bool loads = ct_is_load(op) && cg_is_weak_access(op) && op->block == body && !op->results[1].uses;
    return loads || ct_is_pure(op);
}

/* Asks for the parts of a value along a dimension. False: it has none. */
static bool want(dividing *x, const ct_value *v, int axis)
{
    if (axis == CG_ALL_OF_IT || !bc_is_tile(v->type))
        return true;
    if (axis < 0 || axis >= (int)v->type->rank || v->type->shape[axis] != x->keys || !may_divide(x, v->op))
        return false;
    cg_share *share = &x->as.of[v->id];
    if (!share->parted)
        x->found[x->count++] = v;
    else if (share->axis != axis)
        return false;
    *share = (cg_share){.parted = true, .axis = (uint8_t)axis};
    return true;
}

static bool want_operands(dividing *x, const ct_op *op, uint32_t axis)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!want(x, op->operands[i], cg_cluster_reads(&x->as, op, i, axis)))
            return false;
    return true;
}

/* Does the op take the value in parts? */
static bool takes_parts(const dividing *x, const ct_use *use, uint32_t axis)
{
    const ct_op *op = use->op;
    if (op->result_count && is_parted(x, &op->results[0]))
        return cg_cluster_reads(&x->as, op, use->index, x->as.of[op->results[0].id].axis) == (int)axis;
    if (op->opcode == OP_reduce && op->block == x->loop->regions[0])
        return ct_attr_u(op, F_reduce_dim) == axis && combining(op);
    return ends_chain(x, op) && use->index < 2;
}

/* Is nothing that costs much needed whole as well? */
static bool is_only_parted(const dividing *x, const ct_value *v)
{
    bool is_given = bc_op_in(v->op->opcode, BC_OPS(GIVEN)) || v->op->block != x->loop->regions[0];
    for (const ct_use *use = v->uses; use && !is_given; use = use->next)
        if (!takes_parts(x, use, x->as.of[v->id].axis))
            return false;
    return true;
}

/* Bytes of the tiles that are loaded in parts. */
static uint64_t bytes_loaded(const dividing *x)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < x->count; i++)
        if (ct_is_load(x->found[i]->op))
            bytes += (uint64_t)cg_memory_bytes(bc_elem_kind(x->found[i]->type))
                     << cg_shape_of(x->found[i]->type).tile_bits;
    return bytes;
}

/* Finds what is divided with the loop's keys. */
static bool find(dividing *x)
{
    bool ends = false;
    for (const ct_op *op = x->loop->regions[0]->first; op; op = op->next) {
        if (!ends_chain(x, op))
            continue;
        if (!want(x, op->operands[0], 1) || !want(x, op->operands[1], 0))
            return false;
        ends = true;
    }
    for (uint32_t i = 0; i < x->count; i++)
        if (!want_operands(x, x->found[i]->op, x->as.of[x->found[i]->id].axis))
            return false;
    for (uint32_t i = 0; i < x->count; i++)
        if (!is_only_parted(x, x->found[i]))
            return false;
    return ends;
}

/* Do two iterations not fit in shared memory, beside results? */
static bool is_too_large(const dividing *x)
{
    enum { TWO_STAGES = 2 };
    return TWO_STAGES * bytes_loaded(x) + CG_MOST_OF_RESULTS > cg_shared_most(x->c);
}

/* ---- the parts ---- */

static ct_value **parts_of(const dividing *x, const ct_value *v)
{
    return &x->part[v->id * x->as.blocks];
}

static const bc_type *type_of_part(dividing *x, const bc_type *whole, uint32_t axis)
{
    return cg_parted_type(x->f, &x->types, whole, axis, x->as.blocks);
}

static ct_op *copy_in_front(dividing *x, ct_op *op)
{
    ct_map map;
    ct_op *copy = ct_map_new(x->f, &map) ? ct_clone(x->f, op, &map) : NULL;
    if (copy)
        ct_insert_before(copy, op);
    return copy;
}

/* Makes the load read its part through a view with smaller tiles. In 64 bits, an index outside the tensor stays
   outside. */
static bool use_finer_view(dividing *x, ct_op *load, ct_op *place, uint32_t axis, uint32_t k)
{
    uint32_t at = ct_operand_range(load, ct_info(load)->address).first,
             index = ct_operand_range(load, F_load_view_tko_index).first + axis;
    ct_op *maker = load->operands[at]->op, *view = ct_op_like(x->f, maker->opcode, maker, 1, 1, 0);
    const bc_type *type = type_of_part(x, maker->results[0].type, axis);
    ct_builder b = {x->f, place, false};
    ct_value *blocks = ct_build_scalar(&b, BC_I64, x->as.blocks),
             *wide = ct_build_resize(&b, load->operands[index], BC_I64, false), *first = ct_build_mul(&b, wide, blocks),
             *sum = ct_build_add(&b, first, ct_build_scalar(&b, BC_I64, k));
    if (!view || !type || !sum)
        return false;
    view->results[0].type = type;
    ct_set_operand(view, 0, maker->operands[0]);
    ct_insert_after(view, maker);
    ct_set_operand(load, at, &view->results[0]);
    ct_set_operand(load, index, sum);
    return true;
}

/* A shorter iota starts where that of the previous part ends. */
static ct_value *started(dividing *x, ct_op *iota, uint32_t k)
{
    const bc_type *type = iota->results[0].type;
    ct_builder b = {x->f, iota->next, false};
    return ct_build_add(&b, &iota->results[0], ct_build_constant(&b, type, (int64_t)k * type->shape[0]));
}

static bool put_part(dividing *x, ct_op *op, uint32_t k)
{
    uint32_t axis = x->as.of[op->results[0].id].axis;
    ct_op *copy = copy_in_front(x, op);
    ct_value *part = copy ? &copy->results[0] : NULL;
    if (!part || !(part->type = type_of_part(x, part->type, axis)))
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (bc_is_tile(op->operands[i]->type) && cg_cluster_reads(&x->as, op, i, axis) != CG_ALL_OF_IT)
            ct_set_operand(copy, i, parts_of(x, op->operands[i])[k]);
    if (op->opcode == OP_load_view_tko && !use_finer_view(x, copy, copy, axis, k))
        return false;
    if (bc_op_in(op->opcode, BC_OPS(ACCESS)) && !ct_renew_from(x->f, copy))
        return false;
    part = op->opcode == OP_iota ? started(x, copy, k) : part;
    parts_of(x, &op->results[0])[k] = part;
    return part;
}

/* Adds the products of all parts, one after the other. */
static bool put_products(dividing *x, ct_op *product)
{
    ct_value *sum = product->operands[2];
    for (uint32_t k = 0; k < x->as.blocks; k++) {
        ct_op *copy = copy_in_front(x, product);
        if (!copy)
            return false;
        for (uint32_t i = 0; i < 2; i++)
            ct_set_operand(copy, i, parts_of(x, product->operands[i])[k]);
        ct_set_operand(copy, 2, sum);
        sum = &copy->results[0];
    }
    ct_replace_uses(&product->results[0], sum);
    return true;
}

/* Combines the parts, of which the reduction then takes one. */
static bool combine(dividing *x, ct_op *reduce)
{
    const ct_op *by = combining(reduce);
    ct_value **parts = parts_of(x, reduce->operands[0]), *all = parts[0];
    for (uint32_t k = 1; k < x->as.blocks; k++) {
        ct_op *op = ct_op_like(x->f, by->opcode, by, 2, 1, 0);
        if (!op)
            return false;
        op->results[0].type = all->type;
        ct_set_operand(op, 0, all);
        ct_set_operand(op, 1, parts[k]);
        ct_insert_before(op, reduce);
        if (!ct_renew_from(x->f, op))
            return false;
        all = &op->results[0];
    }
    ct_set_operand(reduce, 0, all);
    return true;
}

static bool divide_op(dividing *x, ct_op *op)
{
    if (op->result_count && is_parted(x, &op->results[0])) {
        for (uint32_t k = 0; k < x->as.blocks; k++)
            if (!put_part(x, op, k))
                return false;
        return true;
    }
    if (ends_chain(x, op))
        return put_products(x, op);
    bool reduces = op->opcode == OP_reduce && op->block == x->loop->regions[0] && is_parted(x, op->operands[0]);
    return !reduces || combine(x, op);
}

/* Removes what is read in parts only. */
static void drop_whole(ct_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (op->results[i].uses)
            return;
    ct_remove(op);
}

static bool divide(dividing *x)
{
    uint32_t count = 0, known = x->f->value_count;
    ct_op **done = bc_new(&x->c->arena, ct_op *, known + 1u);
    x->part = bc_new(&x->c->arena, ct_value *, (size_t)(known + 1u) * x->as.blocks);
    if (!done || !x->part)
        return false;
    for (ct_op *op = x->f->body->first, *next; op; op = next) {
        next = ct_next_op(op, x->f->body);
        if (!op->result_count || op->results[0].id >= known)
            continue;
        bool goes = is_parted(x, &op->results[0]) || ends_chain(x, op);
        if (!divide_op(x, op))
            return false;
        if (goes)
            done[count++] = op;
    }
    while (count)
        drop_whole(done[--count]);
    return true;
}

/* ---- the loop ---- */

/* The keys of an iteration: the elements that the chain's last product sums up. 0: there is no chain. */
static int64_t keys_of(const dividing *x)
{
    int64_t keys = 0;
    for (const ct_op *op = x->loop->regions[0]->first; op; op = op->next)
        if (ends_chain(x, op)) {
            int64_t own = op->operands[0]->type->shape[1];
            keys = keys && keys != own ? 1 : own;
        }
    return keys;
}

/* The keys of a part: an instruction's rows or columns for each of the warpgroups that share rows. With fewer columns,
   it takes as long. With swapped operands, keys are its rows, and a single warpgroup has all columns. */
static int64_t keys_of_part(const dividing *x)
{
    const uint32_t bits = x->c->warp_bits, groups = bits > CG_WARPGROUP_BITS ? 1u << (bits - CG_WARPGROUP_BITS) : 1;
    int64_t rows = CG_WARPGROUP_ROWS;
    for (const ct_op *op = x->loop->regions[0]->first; op; op = op->next)
        if (ends_chain(x, op) && op->results[0].type->shape[0] > rows)
            rows = op->results[0].type->shape[0];
    const int64_t own = rows / CG_WARPGROUP_ROWS;
    const bool are_columns = cg_choices_of(x->c)->swap != CG_IF_LEGAL;
    return are_columns && groups > own ? groups / own * CG_WARPGROUP_ROWS : CG_WARPGROUP_ROWS;
}

bool cg_divide_keys(cg_func *c, ct_op *loop)
{
    uint32_t values = c->ir->value_count + 1u;
    dividing x = {.c = c, .f = c->ir, .loop = loop, .as = {.c = c, .columns = true}};
    if (cg_choices_of(c)->keys != CG_IF_LEGAL || loop->opcode != OP_for || loop->plain)
        return false;
    x.keys = keys_of(&x);
    x.as.blocks = (uint32_t)(x.keys / keys_of_part(&x));
    if (x.as.blocks < 2)
        return false;
    x.as.of = bc_new(&c->arena, cg_share, values);
    x.as.type = bc_new(&c->arena, const bc_type *, values);
    x.found = bc_new(&c->arena, const ct_value *, values);
    if (!x.as.of || !x.as.type || !x.found)
        return false;
    for (const ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        for (uint32_t i = 0; i < op->result_count; i++)
            x.as.type[op->results[i].id] = op->results[i].type;
    if (!find(&x) || !is_too_large(&x))
        return false;
    if (!divide(&x))
        cg_no_memory(c);
    return true;
}
