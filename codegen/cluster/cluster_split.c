/* Gives each thread block of a cluster its part of the tiles that codegen/plan/cluster_find.c divides: tiles get
   their new types in place, and a value needed both whole and in parts is computed twice. The rank of a block
   determines the differences between blocks: the tile of a view with smaller tiles, and the first number of an iota. If
   a single block takes turns, the turn replaces the rank.

   Why it is right: each element is stored by one block, and the accesses that every block repeats for itself are loads
   (codegen/plan/cluster_order.c). */
#include <string.h>

#include "codegen/analysis/product.h"
#include "codegen/cluster/cluster.h"

/* A type, and its part along a dimension. */
struct cg_parted {
    const bc_type *whole, *part;
    uint32_t axis;
    struct cg_parted *next;
};

typedef struct splitting {
    cg_spreading *x;
    cg_func *c;
    ct_func *f;
    ct_op *first;     /* the first op of the original kernel */
    uint32_t count;   /* of original values */
    ct_value **part;  /* by id of these: the value that holds the part */
    ct_value **finer; /* by id of an index: the same position in a view with smaller tiles */
    cg_parted *types;
    ct_value *rank, *wide_rank,
        *wide_blocks; /* the block's rank (NULL: only the first part is computed); as i64; the number of blocks */
} splitting;

static void *fail(splitting *s)
{
    cg_no_memory(s->c);
    return NULL;
}

/* ---- types ---- */

const bc_type *cg_parted_type(ct_func *f, cg_parted **types, const bc_type *whole, uint32_t axis, uint32_t parts)
{
    for (const cg_parted *p = *types; p; p = p->next)
        if (p->whole == whole && p->axis == axis)
            return p->part;
    cg_parted *made = bc_new(f->arena, cg_parted, 1);
    const bc_type *type = ct_part_type(f, whole, axis, parts);
    if (!made || !type)
        return NULL;
    *made = (cg_parted){.whole = whole, .part = type, .axis = axis, .next = *types};
    *types = made;
    return type;
}

static const bc_type *part_type(splitting *s, const bc_type *whole, uint32_t axis)
{
    const bc_type *type = cg_parted_type(s->f, &s->types, whole, axis, s->x->blocks);
    if (!type)
        fail(s);
    return type ? type : whole;
}

static void make_part(splitting *s, ct_value *v, uint32_t axis)
{
    v->type = part_type(s, v->type, axis);
}

/* ---- the block's rank ---- */

/* Puts the rank in front of all other ops. */
static void put_rank(splitting *s)
{
    ct_builder b = {s->f, s->first, false};
    s->wide_blocks = ct_build_scalar(&b, BC_I64, s->x->blocks);
    if (!s->x->only_first) {
        s->rank = s->x->in_turn ? cg_turns_begin(s->c, s->x->blocks) : cg_build_rank(&b, s->wide_blocks);
        s->wide_rank = ct_build_resize(&b, s->rank, BC_I64, false);
    }
    if (b.failed)
        fail(s);
}

/* The index times the number of blocks, plus the rank, computed after the index. In 64 bits, an index outside the
   tensor stays outside. */
static ct_value *finer_index(splitting *s, ct_value *index)
{
    ct_value **known = &s->finer[index->id];
    if (*known)
        return *known;
    ct_op *place = index->op ? index->op->next : index->block->parent ? index->block->first : s->first;
    ct_builder b = {s->f, place, false};
    ct_value *sum = ct_build_mul(&b, ct_build_resize(&b, index, BC_I64, false), s->wide_blocks);
    if (s->rank)
        sum = ct_build_add(&b, sum, s->wide_rank);
    if (!sum)
        fail(s);
    return *known = sum ? sum : index;
}

/* ---- ops ---- */

/* The view with smaller tiles, created after the op that creates the view. */
static ct_value *finer_view(splitting *s, ct_value *view, uint32_t axis)
{
    ct_op *maker = view->op;
    const bc_type *type = part_type(s, view->type, axis);
    for (ct_op *op = maker->next; op->from == maker->from; op = op->next)
        if (op->results[0].type == type)
            return &op->results[0];
    ct_op *op = ct_op_like(s->f, OP_make_partition_view, maker, 1, 1, 0);
    if (!op)
        return fail(s);
    op->results[0].type = type;
    ct_set_operand(op, 0, maker->operands[0]);
    ct_insert_after(op, maker);
    return &op->results[0];
}

static void split_view_access(splitting *s, ct_op *op, uint32_t axis)
{
    bool loads = op->opcode == OP_load_view_tko;
    uint32_t view = ct_operand_range(op, ct_info(op)->address).first;
    uint32_t index = ct_operand_range(op, loads ? F_load_view_tko_index : F_store_view_tko_index).first + axis;
    ct_value *finer = finer_view(s, op->operands[view], axis);
    if (!finer)
        return;
    ct_set_operand(op, view, finer);
    ct_set_operand(op, index, finer_index(s, op->operands[index]));
}

/* A shorter iota starts where that of the previous block ends. */
static ct_value *split_iota(splitting *s, ct_op *op)
{
    if (!s->rank)
        return &op->results[0];
    const bc_type *type = op->results[0].type;
    bc_kind kind = bc_elem_kind(type);
    ct_builder b = {s->f, op->next, false};
    ct_value *start = ct_build_resize(&b, s->rank, kind, false);
    start = ct_build_mul(&b, start, ct_build_scalar(&b, kind, type->shape[0]));
    ct_value *sum = ct_build_add(&b, &op->results[0], ct_build_spread(&b, start, type));
    if (!sum)
        fail(s);
    return sum ? sum : &op->results[0];
}

/* Gives `op`, the original or a copy of it, the parts of the operands that it needs in parts. */
static void take_parts(splitting *s, ct_op *op, const ct_op *original, uint32_t axis)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const ct_value *v = original->operands[i];
        if (bc_is_tile(v->type) && cg_cluster_reads(s->x, original, i, axis) != CG_ALL_OF_IT)
            ct_set_operand(op, i, s->part[v->id]);
    }
}

static ct_op *copy_of(splitting *s, ct_op *op)
{
    ct_map map;
    ct_op *copy = ct_map_new(s->f, &map) ? ct_clone(s->f, op, &map) : NULL;
    if (!copy)
        return fail(s);
    ct_insert_after(copy, op);
    return copy;
}

static void split_op(splitting *s, ct_op *original)
{
    cg_share share = s->x->of[original->results[0].id];
    ct_op *op = share.whole ? copy_of(s, original) : original;
    if (!op)
        return;
    take_parts(s, op, original, share.axis);
    for (uint32_t i = 0; i < op->result_count; i++)
        if (bc_is_tile(op->results[i].type)) {
            make_part(s, &op->results[i], share.axis);
            s->part[original->results[i].id] = &op->results[i];
        }
    if (op->opcode == OP_load_view_tko)
        split_view_access(s, op, share.axis);
    op->paired = s->x->pair && cg_is_product(op);
    if (bc_op_in(op->opcode, BC_OPS(ACCESS)) && !ct_renew_from(s->f, op))
        fail(s);
    if (op->opcode == OP_iota)
        s->part[original->results[0].id] = split_iota(s, op);
}

static void split_store(splitting *s, ct_op *op, uint32_t value)
{
    uint32_t axis = s->x->of[op->operands[value]->id].axis;
    take_parts(s, op, op, axis);
    if (op->opcode == OP_store_view_tko)
        split_view_access(s, op, axis);
}

/* ---- values that are passed on ---- */

static void split_values(splitting *s, ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (s->x->of[values[i].id].parted) {
            make_part(s, &values[i], s->x->of[values[i].id].axis);
            s->part[values[i].id] = &values[i];
        }
}

static void hand_on(splitting *s, ct_op *op, uint32_t first, const ct_value *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (s->x->of[to[i].id].parted)
            ct_set_operand(op, first + i, s->part[op->operands[first + i]->id]);
}

static void split_control(splitting *s, ct_op *op)
{
    if (ct_is_loop(op)) {
        uint32_t is_for = op->opcode == OP_for;
        ct_block *body = op->regions[0];
        hand_on(s, op, ct_first_carried(op), body->args + is_for, body->arg_count - is_for);
        split_values(s, body->args, body->arg_count);
    }
    split_values(s, op->results, op->result_count);
}

static void split_one(splitting *s, ct_op *op)
{
    uint32_t value, count;
    const ct_value *targets = ct_targets(op, &count);
    if (targets)
        hand_on(s, op, 0, targets, count);
    else if (ct_is_loop(op) || op->opcode == OP_if)
        split_control(s, op);
    else if (cg_cluster_is_store(op, &value))
        split_store(s, op, value);
    else if (op->result_count && s->x->of[op->results[0].id].parted)
        split_op(s, op);
}

/* Was the op created by this pass? The loop over turns has no result, but it has a counter. */
static bool is_new(const splitting *s, const ct_op *op)
{
    if (op->result_count)
        return op->results[0].id >= s->count;
    return ct_is_loop(op) && op->regions[0]->arg_count && op->regions[0]->args[0].id >= s->count;
}

/* The next original op. */
static ct_op *next_of(const splitting *s, ct_op *op)
{
    do
        op = ct_next_op(op, s->f->body);
    while (op && is_new(s, op));
    return op;
}

void cg_cluster_split(cg_spreading *x)
{
    ct_func *f = x->c->ir;
    splitting s = {.x = x, .c = x->c, .f = f, .first = f->body->first, .count = f->value_count};
    s.part = bc_new(f->arena, ct_value *, f->value_count + 1u);
    s.finer = bc_new(f->arena, ct_value *, f->value_count + 1u);
    if (!s.part || !s.finer) {
        fail(&s);
        return;
    }
    put_rank(&s);
    for (ct_op *op = s.first; op && !x->c->failed; op = next_of(&s, op))
        split_one(&s, op);
    if (x->in_turn && !x->c->failed)
        cg_turns_enclose(x->c, s.rank);
}
