/* Widening of loads and stores. Through pointers, a wide access has more pointers. Through a view, the tiles of a
   batch must be adjacent along one dimension: the index there is linear with step 1, and a step of the index is as
   long as the tile. Together they are one longer tile. */
#include "vm/compile/widen_access.h"

#include "vm/compile/access.h"

/* ---- the list ---- */

static bool list_access(vm_widener *w, const bc_op *op, vm_wide_access access)
{
    if (w->out->access_count == VM_BATCH_ACCESSES)
        return false;
    access.op = op;
    access.order = w->accesses++;
    w->out->accesses[w->out->access_count++] = access;
    return true;
}

/* Stores wait until all other ops are done. */
static void add_store(vm_widener *w, bc_op *op)
{
    if (w->last_store)
        w->last_store->next = op;
    else
        w->stores = op;
    w->last_store = op;
}

static bool is_weak(const bc_op *op, int row)
{
    return bc_attr_u(op, row) == BC_MemoryOrderingSemantics_weak;
}

/* 4-bit elements share bytes, so that neighbouring elements cannot be written independently. */
static bool is_addressed(const bc_type *elem)
{
    return bc_kind_memory_bytes((bc_kind)elem->kind) != 0;
}

static void set_result(vm_widener *w, const bc_op *op, uint32_t i, bc_value *now, bool wide)
{
    vm_wide_value *x = vm_wide_value_of(w, &bc_results(op)[i]);
    *(wide ? &x->wide : &x->base) = now;
}

/* ---- views ---- */

/* Finds the dimension whose index varies between blocks: only one may, with step 1. *out_dim is -1 if none does.
   False: the access is of another kind. */
static bool find_dim(vm_widener *w, const bc_op *op, bc_range indices, int32_t *out_dim)
{
    *out_dim = -1;
    for (uint32_t i = 0; i < indices.count; i++) {
        const vm_wide_value *x = vm_wide_value_of(w, bc_operands(op)[indices.first + i]);
        if (!x->varies)
            continue;
        if (*out_dim >= 0 || !x->is_linear || x->step != 1)
            return false;
        *out_dim = (int32_t)i;
    }
    return true;
}

/* The view whose tile along dim has the length of all blocks' tiles. */
static bc_value *wide_view(vm_widener *w, const bc_op *op, const bc_value *view, uint32_t dim)
{
    const bc_type *from = view->type;
    if (!view->op || !bc_op_in(view->op->opcode, BC_OPS(VIEW)) || vm_view_step(from, dim) != from->shape[dim])
        return NULL;
    bc_type *type = bc_new(w->arena, bc_type, 1);
    int64_t *shape = bc_new(w->arena, int64_t, from->rank + 1u), *steps = bc_new(w->arena, int64_t, from->rank + 1u);
    if (!type || !shape || !steps)
        return NULL;
    for (uint32_t t = 0; t < from->rank; t++) {
        shape[t] = from->shape[t] * (t == dim ? w->count : 1);
        steps[t] = vm_view_step(from, t);
    }
    *type = *from;
    type->kind = BC_STRIDED_VIEW;
    type->shape = shape;
    type->strides = steps;
    type->stride_count = from->rank;
    return vm_wide_unary(w, op, OP_make_strided_view, type, vm_same_of(w, bc_operands(view->op)[0]));
}

/* [.., count * s, ..] and [count, .., s, ..] have the same elements. Returns the permutation of dimensions from one
   to the other, with the long dimension split in two. */
static const bc_ints *order_of(vm_widener *w, uint32_t rank, uint32_t dim, bool outwards)
{
    bc_ints *ints = bc_new(w->arena, bc_ints, 1);
    int64_t *order = bc_new(w->arena, int64_t, rank + 1u);
    if (!ints || !order)
        return NULL;
    for (uint32_t i = 0; i <= rank; i++)
        order[i] = i;
    for (uint32_t i = 0; i < dim; i++)
        order[outwards ? i + 1 : i] = outwards ? i : i + 1;
    order[outwards ? 0 : dim] = outwards ? dim : 0;
    *ints = (bc_ints){order, rank + 1};
    return ints;
}

static bc_value *permuted(vm_widener *w, const bc_op *op, const bc_type *type, bc_value *v, const bc_ints *order)
{
    bc_value *result = order ? vm_wide_unary(w, op, OP_permute, type, v) : NULL;
    if (result)
        bc_attr_of(result->op, F_permute_permutation)->ints = order;
    return result;
}

/* The type of the long tile with that dimension split in two: [.., count, s, ..]. */
static const bc_type *split_type(vm_widener *w, const bc_type *tile, uint32_t dim)
{
    int64_t shape[BC_MAX_RANK + 1];
    if (tile->rank >= BC_MAX_RANK)
        return NULL;
    for (uint32_t i = 0; i <= tile->rank; i++)
        shape[i] = i < dim ? tile->shape[i] : i == dim ? w->count : tile->shape[i - 1];
    return vm_wide_tile(w, tile->elem, 0, shape, tile->rank + 1);
}

/* Is dim outermost, apart from dimensions of one element? Then the elements are already in the required order. */
static bool is_outermost(const bc_type *tile, uint32_t dim)
{
    for (uint32_t i = 0; i < dim; i++)
        if (tile->shape[i] != 1)
            return false;
    return true;
}

static bc_value *from_long_tile(vm_widener *w, const bc_op *op, const bc_type *tile, uint32_t dim, bc_value *v)
{
    const bc_type *wide = vm_wide_type(w, tile);
    if (is_outermost(tile, dim))
        return vm_wide_unary(w, op, OP_reshape, wide, v);
    bc_value *split = vm_wide_unary(w, op, OP_reshape, split_type(w, tile, dim), v);
    return wide ? permuted(w, op, wide, split, order_of(w, tile->rank, dim, true)) : NULL;
}

static bc_value *to_long_tile(vm_widener *w, const bc_op *op, const bc_type *tile, uint32_t dim, const bc_type *type,
                              bc_value *v)
{
    if (!v || is_outermost(tile, dim))
        return vm_wide_unary(w, op, OP_reshape, type, v);
    bc_value *split = permuted(w, op, split_type(w, tile, dim), v, order_of(w, tile->rank, dim, false));
    return vm_wide_unary(w, op, OP_reshape, type, split);
}

/* Copies the operands of a view access, except those already set. Indices are those of the first block. */
static bool view_operands(vm_widener *w, const bc_op *op, bc_range indices, bc_op *copy)
{
    bc_value **to = bc_operands(copy), **from = bc_operands(op);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        bool is_index = i - indices.first < indices.count;
        if (!to[i] && !(to[i] = is_index ? vm_wide_value_of(w, from[i])->base : vm_same_of(w, from[i])))
            return false;
    }
    return true;
}

static bc_op *view_access(vm_widener *w, const bc_op *op, const bc_value *view, int32_t dim)
{
    bc_op *copy = vm_wide_op(w, op, (bc_opcode)op->opcode, op->result_count, op->operand_count);
    bc_value *now = dim < 0 ? vm_same_of(w, view) : wide_view(w, op, view, (uint32_t)dim);
    bc_range at = bc_operand_range(op, op->opcode == OP_load_view_tko ? F_load_view_tko_view : F_store_view_tko_view);
    if (!copy || !now)
        return NULL;
    bc_operands(copy)[at.first] = now;
    for (uint32_t i = 0; i < op->result_count; i++)
        bc_results(copy)[i].type = bc_results(op)[i].type;
    return copy;
}

static vm_wide_access view_of_batch(const bc_value *view, int32_t dim)
{
    vm_wide_access access = {.is_wide = dim >= 0};
    if (dim >= 0) {
        access.dim = (uint32_t)dim;
        access.extent = (uint32_t)view->type->shape[dim];
    }
    return access;
}

static const bc_type *long_type(vm_widener *w, const bc_value *view, const bc_type *tile)
{
    return vm_wide_tile(w, tile->elem, 0, view->type->shape, view->type->rank);
}

static bool load_view(vm_widener *w, const bc_op *op)
{
    const bc_value *view = bc_operand(op, F_load_view_tko_view), *tile = bc_results(op);
    bc_range indices = bc_operand_range(op, F_load_view_tko_index);
    int32_t dim;
    if (!is_weak(op, F_load_view_tko_memory_ordering_semantics) || view->type->kind == BC_GATHER_SCATTER_VIEW
        || !is_addressed(tile->type->elem) || !find_dim(w, op, indices, &dim))
        return false;
    bc_op *copy = view_access(w, op, view, dim);
    if (!copy || !view_operands(w, op, indices, copy) || !list_access(w, copy, view_of_batch(view, dim)))
        return false;
    bc_value *now = bc_results(copy);
    if (dim >= 0)
        now->type = long_type(w, bc_operand(copy, F_load_view_tko_view), tile->type);
    bc_block_append(w->to, copy);
    if (dim >= 0)
        now = from_long_tile(w, op, tile->type, (uint32_t)dim, now);
    set_result(w, op, 0, now, dim >= 0);
    set_result(w, op, 1, bc_results(copy) + 1, false);
    return now && now->type;
}

static bool store_view(vm_widener *w, const bc_op *op)
{
    const bc_value *view = bc_operand(op, F_store_view_tko_view), *tile = bc_operand(op, F_store_view_tko_tile);
    bc_range indices = bc_operand_range(op, F_store_view_tko_index);
    int32_t dim;
    if (!is_weak(op, F_store_view_tko_memory_ordering_semantics) || view->type->kind == BC_GATHER_SCATTER_VIEW
        || !is_addressed(tile->type->elem) || !find_dim(w, op, indices, &dim) || dim < 0)
        return false;
    bc_op *copy = view_access(w, op, view, dim);
    if (!copy)
        return false;
    const bc_type *type = long_type(w, bc_operand(copy, F_store_view_tko_view), tile->type);
    bc_range at = bc_operand_range(op, F_store_view_tko_tile);
    bc_operands(copy)[at.first] = to_long_tile(w, op, tile->type, (uint32_t)dim, type, vm_wide_of(w, op, tile));
    vm_wide_access access = view_of_batch(view, dim);
    access.is_store = true;
    if (!bc_operands(copy)[at.first] || !view_operands(w, op, indices, copy) || !list_access(w, copy, access))
        return false;
    add_store(w, copy);
    set_result(w, op, 0, bc_results(copy), false);
    return true;
}

/* ---- pointers ---- */

/* Copies the op with all tiles wide, or unchanged if `wide` is false. */
static bc_op *pointer_access(vm_widener *w, const bc_op *op, bool wide)
{
    bc_op *copy = vm_wide_op(w, op, (bc_opcode)op->opcode, op->result_count, op->operand_count);
    for (uint32_t i = 0; copy && i < op->operand_count; i++) {
        const bc_value *v = bc_operands(op)[i];
        bool as_wide = wide && bc_is_tile(v->type);
        if (!(bc_operands(copy)[i] = as_wide ? vm_wide_of(w, op, v) : vm_same_of(w, v)))
            return NULL;
    }
    for (uint32_t i = 0; copy && i < op->result_count; i++) {
        const bc_type *type = bc_results(op)[i].type;
        bool as_wide = wide && bc_is_tile(type);
        if (!(bc_results(copy)[i].type = as_wide ? vm_wide_type(w, type) : type))
            return NULL;
        set_result(w, op, i, &bc_results(copy)[i], as_wide);
    }
    return copy;
}

static bool load_pointers(vm_widener *w, const bc_op *op)
{
    const bc_type *pointee = bc_operand(op, F_load_ptr_tko_source)->type->elem->elem;
    bool wide = vm_wide_value_of(w, bc_results(op))->varies;
    if (!is_weak(op, F_load_ptr_tko_memory_ordering_semantics) || !is_addressed(pointee))
        return false;
    bc_op *copy = pointer_access(w, op, wide);
    if (!copy || !list_access(w, copy, (vm_wide_access){.is_wide = wide}))
        return false;
    bc_block_append(w->to, copy);
    return true;
}

static bool store_pointers(vm_widener *w, const bc_op *op)
{
    const bc_value *pointers = bc_operand(op, F_store_ptr_tko_destination);
    if (!is_weak(op, F_store_ptr_tko_memory_ordering_semantics) || !is_addressed(pointers->type->elem->elem)
        || !vm_wide_value_of(w, pointers)->varies)
        return false;
    bc_op *copy = pointer_access(w, op, true);
    if (!copy || !list_access(w, copy, (vm_wide_access){.is_store = true, .is_wide = true}))
        return false;
    add_store(w, copy);
    return true;
}

bool vm_widen_load(vm_widener *w, const bc_op *op)
{
    return op->opcode == OP_load_view_tko ? load_view(w, op) : load_pointers(w, op);
}

bool vm_widen_store(vm_widener *w, const bc_op *op)
{
    return w->depth == 0 && (op->opcode == OP_store_view_tko ? store_view(w, op) : store_pointers(w, op));
}
