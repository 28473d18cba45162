/* Finds which part of every tile each thread block of a cluster computes: it starts at stores, whose tiles are divided
   along some dimension, and goes back through the ops that compute them. */
#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/plan/budget.h"
#include "codegen/plan/cluster.h"

bool cg_fills_device(const ct_func *f)
{
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        for (uint32_t i = 0; op->opcode == OP_get_num_tile_blocks && i < op->result_count; i++)
            if (op->results[i].uses)
                return true;
    return false;
}

bool cg_may_spread(const cg_func *c)
{
    const bool may_pair = c->target->features & CG_HAS_TCGEN05 && cg_largest_product(c->ir);
    return cg_hint_of(c, CG_HINT_CLUSTER) > 1 && (may_pair || cg_least_blocks(c) > 1 || cg_fills_device(c->ir));
}

/* A value that is needed whole, or in parts. */
typedef struct wanted {
    const ct_value *v;
    bool parted;
} wanted;

/* The values that one store, or another op, needs; each appears at most once in either form. */
typedef struct search {
    cg_spreading *x;
    wanted *list;
    uint32_t count, followed;
} search;

bool cg_cluster_refuse(cg_spreading *x, const ct_op *op, const char *why)
{
    if (!x->why) {
        x->against = op;
        x->why = why;
    }
    return false;
}

/* ---- one op ---- */

bool cg_cluster_is_store(const ct_op *op, uint32_t *out_value)
{
    if (op->opcode != OP_store_view_tko && op->opcode != OP_store_ptr_tko)
        return false;
    *out_value =
        ct_operand_range(op, op->opcode == OP_store_view_tko ? F_store_view_tko_tile : F_store_ptr_tko_value).first;
    return true;
}

static const bc_type *type_of(const cg_spreading *x, const ct_value *v)
{
    return x->type[v->id];
}

static int reads_of_reshape(const cg_spreading *x, const bc_type *from, const bc_type *to, uint32_t axis)
{
    int64_t before = 1, here = 1;
    for (uint32_t d = 0; d < axis; d++)
        before *= to->shape[d];
    for (uint32_t d = 0; d < from->rank; here *= from->shape[d], d++)
        if (here == before && from->shape[d] >= x->blocks)
            return (int)d;
    return CG_NO_PART;
}

/* In products, rows come from the left operand and its scales, columns from the right one and its scales, and
   batches from all. Each block of a pair has rows of all batches, and half of the right operand's columns, but the
   scales of all of them, which multiply its rows. */
static int reads_of_product(const cg_spreading *x, const ct_op *op, uint32_t i, uint32_t axis)
{
    enum { SUM = 2, SCALES = 3, RIGHT_SCALES = 4 };
    uint32_t rank = op->results[0].type->rank;
    bool columns = axis == rank - 1, batch = axis + 2 < rank, right = i % SCALES;
    if (batch ? x->pair : columns != x->columns)
        return CG_NO_PART;
    if (x->pair && right && i != SUM)
        return i == RIGHT_SCALES ? CG_ALL_OF_IT : (int)rank - 1;
    return i == SUM || batch || right == columns ? (int)axis : CG_ALL_OF_IT;
}

/* A divisor of all elements applies to every part; other promises about blocks along a dimension may not. */
static int reads_of_assume(const ct_op *op, uint32_t axis)
{
    const bc_tagged *predicate = ct_attr_of(op, F_assume_predicate)->tagged;
    bool holds = predicate->tag == BC_TAG_BOUNDED || (predicate->tag == BC_TAG_DIV_BY && !predicate->has_a);
    return holds ? (int)axis : CG_NO_PART;
}

static int reads_of_fold(const ct_op *op, uint32_t axis)
{
    if (op->opcode == OP_reduce)
        return (int)(axis < ct_attr_u(op, F_reduce_dim) ? axis : axis + 1);
    return axis == ct_attr_u(op, F_scan_dim) ? CG_NO_PART : (int)axis;
}

static int reads_of_move(const cg_spreading *x, const ct_op *op, uint32_t axis)
{
    if (op->opcode == OP_permute)
        return (int)ct_attr_of(op, F_permute_permutation)->ints->ptr[axis];
    return type_of(x, op->operands[0])->shape[axis] == type_of(x, &op->results[0])->shape[axis] ? (int)axis
                                                                                                : CG_ALL_OF_IT;
}

/* Tiles of pointers, masks and values are divided; for views, the index along that dimension selects the part. */
static int reads_of_access(const ct_op *op, uint32_t i, uint32_t axis)
{
    uint32_t value;
    bool is_view = op->opcode == OP_load_view_tko || op->opcode == OP_store_view_tko;
    if (op->operands[i]->type->kind == BC_TOKEN || (is_view && !(cg_cluster_is_store(op, &value) && i == value)))
        return CG_ALL_OF_IT;
    return (int)axis;
}

int cg_cluster_reads(const cg_spreading *x, const ct_op *op, uint32_t i, uint32_t axis)
{
    if (ct_is_map(op))
        return (int)axis;
    switch ((int)bc_op_class_of[op->opcode]) {
    case BC_OP_SAME: return reads_of_assume(op, axis);
    case BC_OP_RESHAPE: return reads_of_reshape(x, type_of(x, op->operands[0]), type_of(x, &op->results[0]), axis);
    case BC_OP_MOVE: return reads_of_move(x, op, axis);
    case BC_OP_FOLD: return reads_of_fold(op, axis);
    case BC_OP_PART: return op->opcode == OP_pack || op->opcode == OP_unpack ? (int)axis : CG_NO_PART; /* of one row */
    case BC_OP_PRODUCT: return reads_of_product(x, op, i, axis);
    case BC_OP_ACCESS: return reads_of_access(op, i, axis);
    default: return CG_NO_PART;
    }
}

bool cg_cluster_has_parts(const ct_op *op)
{
    if (op->opcode == OP_constant)
        return ct_is_one_number(op);
    if (op->opcode != OP_load_view_tko && op->opcode != OP_store_view_tko)
        return true;
    const ct_value *view = ct_operand(op, ct_info(op)->address);
    return view->op && view->op->opcode == OP_make_partition_view;
}

/* ---- the form in which values are needed ---- */

/* Have parts along the dimension whole bytes? Those of pointers have, too. */
static bool has_whole_bytes(const search *s, const bc_type *tile, uint32_t axis)
{
    if (tile->elem->kind == BC_PTR || bc_kind_memory_bytes(bc_elem_kind(tile)))
        return true;
    int64_t run = tile->shape[axis] / s->x->blocks; /* elements side by side */
    for (uint32_t d = axis + 1; d < tile->rank; d++)
        run *= tile->shape[d];
    return run * bc_kind_bits(bc_elem_kind(tile)) % 8 == 0;
}

static bool want(search *s, const ct_value *v, int axis, const ct_op *by)
{
    cg_share *share = &s->x->of[v->id];
    bool parted = axis != CG_ALL_OF_IT;
    if (axis == CG_NO_PART)
        return cg_cluster_refuse(s->x, by, "it cannot be divided");
    if (!bc_is_tile(v->type))
        return true;
    if (parted && (axis >= (int)v->type->rank || v->type->shape[axis] < s->x->blocks))
        return cg_cluster_refuse(s->x, by, "its tiles have too few elements along a dimension");
    if (parted && !has_whole_bytes(s, v->type, (uint32_t)axis))
        return cg_cluster_refuse(s->x, by, "its elements share bytes");
    if (parted && share->parted && share->axis != axis)
        return cg_cluster_refuse(s->x, by, "its uses divide it along two dimensions");
    if (parted ? share->parted : share->whole)
        return true;
    if (parted) {
        share->parted = true;
        share->axis = (uint8_t)axis;
    } else {
        share->whole = true;
    }
    s->list[s->count++] = (wanted){v, parted};
    return true;
}

/* Requests the operands that terminators in the op pass on as value `index` of `targets`. */
static bool want_handed_on(search *s, const ct_op *op, const ct_value *targets, uint32_t index, int axis)
{
    for (uint32_t r = 0; r < op->region_count; r++) {
        const ct_block *region = op->regions[r];
        for (const ct_op *t = region ? region->first : NULL; t; t = ct_next_op(t, region)) {
            uint32_t count;
            if (ct_targets(t, &count) == targets && !want(s, t->operands[index], axis, t))
                return false;
        }
    }
    return true;
}

/* Requests a carried value in the same form everywhere. */
static bool want_carried(search *s, const ct_op *loop, uint32_t index, int axis)
{
    uint32_t is_for = loop->opcode == OP_for;
    const ct_value *args = loop->regions[0]->args + is_for;
    return want(s, loop->operands[ct_first_carried(loop) + index], axis, loop) && want(s, &args[index], axis, loop)
           && (!is_for || want(s, &loop->results[index], axis, loop)) && want_handed_on(s, loop, args, index, axis);
}

static bool want_operands(search *s, const ct_op *op, bool parted, uint32_t axis)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!want(s, op->operands[i], parted ? cg_cluster_reads(s->x, op, i, axis) : CG_ALL_OF_IT, op))
            return false;
    return true;
}

static bool want_made(search *s, const ct_op *op, bool parted, uint32_t axis)
{
    if (parted && !cg_cluster_has_parts(op))
        return cg_cluster_refuse(s->x, op, "it cannot be divided");
    if (!parted && cg_is_product(op))
        return cg_cluster_refuse(s->x, op, "every thread block would compute all of it");
    for (uint32_t i = 0; parted && bc_op_in(op->opcode, BC_OPS(FOLD)) && i < op->result_count; i++)
        if (!want(s, &op->results[i], (int)axis, op))
            return false;
    return want_operands(s, op, parted, axis);
}

static bool follow(search *s, const wanted *w)
{
    const ct_value *v = w->v;
    const ct_op *op = ct_maker_of(v);
    uint32_t axis = s->x->of[v->id].axis;
    int how = w->parted ? (int)axis : CG_ALL_OF_IT;
    if (!op)
        return true;
    if (!v->op && ct_is_loop(op)) {
        uint32_t is_for = op->opcode == OP_for;
        return v->number < is_for || want_carried(s, op, v->number - is_for, how);
    }
    if (!v->op) /* an argument of a reduction, which is scalar */
        return true;
    if (op->opcode == OP_for)
        return want_carried(s, op, v->number, how);
    if (op->opcode == OP_loop || op->opcode == OP_if)
        return want_handed_on(s, op, op->results, v->number, how);
    return want_made(s, op, w->parted, axis);
}

static void begin(search *s)
{
    s->count = s->followed = 0;
}

static bool follow_all(search *s)
{
    while (s->followed < s->count) {
        wanted next = s->list[s->followed++];
        if (!follow(s, &next))
            return false;
    }
    return true;
}

/* Takes back all requests of the search. */
static void take_back(search *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        cg_share *share = &s->x->of[s->list[i].v->id];
        *(s->list[i].parted ? &share->parted : &share->whole) = false;
    }
}

/* ---- starting points ---- */

/* Finds the first dimension along which blocks can store their parts, in the order that the product prefers. */
static bool find_store(search *s, const ct_op *op, uint32_t value)
{
    cg_spreading *x = s->x;
    const ct_value *v = op->operands[value];
    const char *why = x->why; /* a reason against one dimension does not count if another one is possible */
    for (uint32_t n = 0; n < v->type->rank && cg_cluster_has_parts(op); n++) {
        uint32_t axis = x->columns ? v->type->rank - 1 - n : n;
        if (v->type->shape[axis] < x->blocks)
            continue;
        begin(s);
        if (want_operands(s, op, true, axis) && follow_all(s)) {
            x->why = why;
            return true;
        }
        take_back(s);
    }
    return cg_cluster_refuse(x, op, "the value that it stores cannot be divided");
}

/* Requests the operands of ops with effects, which are executed whether their results are used or not. */
static bool find_effects(search *s, const ct_op *op)
{
    uint32_t value, effects = ct_info(op)->effects & ~(uint32_t)(BC_PARTIAL | BC_OF_BLOCK);
    if (bc_op_in(op->opcode, BC_OPS(ACCESS)) && !cg_is_weak_access(op))
        return cg_cluster_refuse(s->x, op, "the thread blocks would need a common order of memory accesses");
    if (cg_cluster_is_store(op, &value))
        return find_store(s, op, value);
    if (effects & ~(uint32_t)BC_READS)
        return cg_cluster_refuse(s->x, op, "every thread block would execute it");
    begin(s);
    for (uint32_t i = 0; i < op->operand_count && (op->opcode == OP_if || op->opcode == OP_for); i++)
        if (i < 3 && !want(s, op->operands[i], CG_ALL_OF_IT, op))
            return false;
    return follow_all(s);
}

static bool is_in_fold(const ct_op *op)
{
    return op->block->parent && bc_op_in(op->block->parent->opcode, BC_OPS(FOLD));
}

/* Requests unused values whole. */
static bool want_rest(search *s, const ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!s->x->of[values[i].id].parted && !s->x->of[values[i].id].whole) {
            begin(s);
            if (!want(s, &values[i], CG_ALL_OF_IT, values[i].op) || !follow_all(s))
                return false;
        }
    return true;
}

/* Loops and branches pass a value on in one form only. */
static bool is_one(cg_spreading *x, const ct_value *values, uint32_t count, const ct_op *op)
{
    for (uint32_t i = 0; i < count; i++)
        if (x->of[values[i].id].whole && x->of[values[i].id].parted)
            return cg_cluster_refuse(x, op, "its result is needed both whole and in parts");
    return true;
}

static bool find_rest(search *s)
{
    const ct_block *body = s->x->c->ir->body;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (!is_in_fold(op) && !want_rest(s, op->results, op->result_count))
            return false;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if ((ct_is_loop(op) && !is_one(s->x, op->regions[0]->args, op->regions[0]->arg_count, op))
            || (op->region_count && !is_one(s->x, op->results, op->result_count, op)))
            return false;
    return true;
}

static void note(cg_spreading *x, const ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        x->type[values[i].id] = values[i].type;
}

static void note_types(cg_spreading *x)
{
    const ct_block *body = x->c->ir->body;
    note(x, body->args, body->arg_count);
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        note(x, op->results, op->result_count);
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                note(x, op->regions[r]->args, op->regions[r]->arg_count);
    }
}

bool cg_cluster_find(cg_spreading *x)
{
    const ct_func *f = x->c->ir;
    bc_arena *arena = &x->c->arena;
    search s = {.x = x, .list = bc_new(arena, wanted, 2 * (size_t)f->value_count + 1)};
    x->of = bc_new(arena, cg_share, f->value_count + 1u);
    x->type = bc_new(arena, const bc_type *, f->value_count + 1u);
    if (!s.list || !x->of || !x->type)
        return false;
    note_types(x);
    for (const ct_op *op = f->body->first; op; op = ct_next_op(op, f->body))
        if (!is_in_fold(op) && !find_effects(&s, op))
            return false;
    return find_rest(&s);
}
