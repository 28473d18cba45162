/* The unmask pass skips masks in iterations where they are all true (mask elision). In loops that multiply, a mask
   for the last keys, or for the keys behind a diagonal, is true for whole tiles in most iterations. The select and
   its comparison move into a branch that all threads take alike. Measured on an H200: attention over 4,096 keys in
   tiles of 128x128 went from 1,116 to 880 us, causal from 617 to 514.

       s' = select m, s, none             s' = if all of m { s } else { m ...; select m, s, none }

   If several selects take the same mask, each computes it in its own branch. The condition costs a few scalars per
   tile. Kernels with several loops that multiply are not changed: such a program has separated the masked tiles itself
   (as cuTile does for some kernels), and attention at 64x128 has no registers left for a branch.

   Why it is right: a mask compares scalars plus consecutive numbers, so it is true everywhere if it is true at both
   ends; the ends are elements of the tile, computed in the same way. If the sum wraps around inside the tile, signed or
   unsigned as the mask compares, its ends are in the wrong order, and the select stays. */
#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"
#include "codegen/passes/pass.h"

typedef struct unmasking {
    cg_func *c;
    ct_func *f;
    ct_op *select, *put[CG_MASK_SCALARS]; /* the select; ops in front of it that compute the condition */
    uint32_t put_count;
} unmasking;

/* The smallest and the largest element of a tile of consecutive numbers; both are equal if all elements are. NULL:
   not known. */
typedef struct ends {
    ct_value *low, *high;
} ends;

static const bc_type *scalar_of(const unmasking *x, const ct_value *v)
{
    return ct_scalar_type(x->f, bc_elem_kind(v->type));
}

/* Puts the op for scalars in front of the select. */
static ct_value *put(unmasking *x, ct_op *op)
{
    if (!op) {
        cg_no_memory(x->c);
        return NULL;
    }
    ct_insert_before(op, x->select);
    x->put[x->put_count++] = op;
    return &op->results[0];
}

static ct_value *put_of(unmasking *x, bc_opcode opcode, const ct_op *like, ct_value *a, ct_value *b)
{
    ct_value *operands[] = {a, b};
    return a && b && x->put_count < CG_MASK_SCALARS
               ? put(x, ct_made_new(x->f, opcode, like, scalar_of(x, &like->results[0]), operands, 2))
               : NULL;
}

static bool varies(const ends *e)
{
    return e->low != e->high;
}

static ends ends_of_numbers(unmasking *x, const ct_op *iota)
{
    const bc_type *type = iota->results[0].type, *one = scalar_of(x, &iota->results[0]);
    if (bc_kind_bits(bc_elem_kind(type)) < 32 || type->shape[0] < 2 || x->put_count + 2 > CG_MASK_SCALARS)
        return (ends){NULL, NULL};
    ct_value *low = put(x, ct_constant_new(x->f, iota, one, 0)),
             *high = put(x, ct_constant_new(x->f, iota, one, type->shape[0] - 1));
    return low && high ? (ends){low, high} : (ends){NULL, NULL};
}

static ends ends_of(unmasking *x, ct_value *v, uint32_t depth);

/* The ends of a sum or a difference. Only one operand may vary: the first, or in a sum also the second. */
static ends ends_of_sum(unmasking *x, const ct_op *op, uint32_t depth)
{
    ends a = ends_of(x, op->operands[0], depth), b = a.low ? ends_of(x, op->operands[1], depth) : a;
    if (!a.low || !b.low || (varies(&b) && (varies(&a) || op->opcode == OP_subi)))
        return (ends){NULL, NULL};
    ends r = {put_of(x, (bc_opcode)op->opcode, op, a.low, b.low), NULL};
    r.high = varies(&a) || varies(&b) ? put_of(x, (bc_opcode)op->opcode, op, a.high, b.high) : r.low;
    return r.high ? r : (ends){NULL, NULL};
}

static bool is_rearranged(const ct_op *op)
{
    return op->opcode == OP_reshape || op->opcode == OP_broadcast || op->opcode == OP_permute
           || op->opcode == OP_assume;
}

static ends ends_of(unmasking *x, ct_value *v, uint32_t depth)
{
    if (bc_is_tile(v->type) && !v->type->rank)
        return (ends){v, v};
    if (!v->op || !depth)
        return (ends){NULL, NULL};
    if (is_rearranged(v->op))
        return ends_of(x, v->op->operands[0], depth - 1);
    switch ((int)v->op->opcode) {
    case OP_iota: return ends_of_numbers(x, v->op);
    case OP_addi:
    case OP_subi: return ends_of_sum(x, v->op, depth - 1);
    default: return (ends){NULL, NULL};
    }
}

/* Puts the comparison, with scalar operands. */
static ct_value *put_like(unmasking *x, const ct_op *comparison, ct_value *a, ct_value *b)
{
    ct_value *result = put_of(x, OP_cmpi, comparison, a, b);
    for (int row = F_cmpi_comparison_predicate; result && row <= F_cmpi_signedness; row++)
        bc_attr_of(result->op->from, row)->u = ct_attr_u(comparison, row);
    return result;
}

/* Is the comparison true for the ends of a and b for which it is least likely? And are the ends of each operand in
   order, so that it does not wrap? */
static ct_value *all_in_order(unmasking *x, const ct_op *like, const ends *a, const ends *b)
{
    const ends *both[] = {a, b};
    ct_value *all = put_like(x, like, a->high, b->low);
    for (uint32_t i = 0; i < 2 && all; i++)
        if (varies(both[i]))
            all = put_of(x, OP_andi, like, all, put_like(x, like, both[i]->low, both[i]->high));
    return all;
}

static ct_value *all_of_comparison(unmasking *x, const ct_op *op, uint32_t depth)
{
    uint64_t predicate = ct_attr_u(op, F_cmpi_comparison_predicate);
    bool is_less = predicate == BC_ComparisonPredicate_less_than
                   || predicate == BC_ComparisonPredicate_less_than_or_equal,
         is_greater = predicate == BC_ComparisonPredicate_greater_than
                      || predicate == BC_ComparisonPredicate_greater_than_or_equal;
    if (!is_less && !is_greater)
        return NULL;
    ends a = ends_of(x, op->operands[0], depth), b = a.low ? ends_of(x, op->operands[1], depth) : a;
    if (!a.low || !b.low)
        return NULL;
    if (is_greater) {
        a = (ends){a.high, a.low};
        b = (ends){b.high, b.low};
    }
    return all_in_order(x, op, &a, &b);
}

/* The condition that the whole mask is true. NULL: it cannot be determined. */
static ct_value *all_of(unmasking *x, ct_value *mask, uint32_t depth)
{
    const ct_op *op = mask->op;
    if (!op || !depth)
        return NULL;
    if (is_rearranged(op))
        return all_of(x, op->operands[0], depth - 1);
    if (op->opcode == OP_andi) {
        ct_value *a = all_of(x, op->operands[0], depth - 1), *b = a ? all_of(x, op->operands[1], depth - 1) : NULL;
        return put_of(x, OP_andi, op, a, b);
    }
    return op->opcode == OP_cmpi ? all_of_comparison(x, op, depth - 1) : NULL;
}

static bool is_read_in(const ct_op *op, const ct_block *block)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        for (const ct_use *use = op->results[i].uses; use; use = use->next)
            if (use->op->block != block)
                return false;
    return true;
}

static bool may_move(const ct_op *op)
{
    return (ct_is_map(op) || is_rearranged(op)) && op->result_count == 1 && op->results[0].type->rank;
}

/* A copy of v in front of the select, with copies of the ops that compute it, as long as some are left; v itself if it
   does not depend on the iteration. */
static ct_value *copy_of(unmasking *x, ct_value *v, uint32_t *left)
{
    if (!v->op || v->op->block != x->select->block || !may_move(v->op) || !*left || x->c->failed)
        return v;
    --*left;
    ct_op *copy = ct_op_like(x->f, (bc_opcode)v->op->opcode, v->op, v->op->operand_count, 1, 0);
    if (!copy) {
        cg_no_memory(x->c);
        return v;
    }
    copy->results[0].type = v->type;
    for (uint32_t i = 0; i < copy->operand_count; i++)
        ct_set_operand(copy, i, copy_of(x, v->op->operands[i], left));
    ct_insert_before(copy, x->select);
    return &copy->results[0];
}

/* Moves the select into the block, with the ops that only it needs. A mask that other selects need, too, is computed
   again for this one: it is not needed where it is true, and registers would have to hold the predicates of all
   elements in between. */
static void move_select(unmasking *x, ct_block *block)
{
    ct_value *mask = x->select->operands[0];
    uint32_t left = CG_MASK_DEPTH;
    if (mask->uses->next)
        ct_set_operand(x->select, 0, copy_of(x, mask, &left));
    ct_op *before = x->select->prev;
    ct_move_before(x->select, block->last);
    for (ct_op *op = before, *prev; op; op = prev) {
        prev = op->prev;
        if (may_move(op) && is_read_in(op, block))
            ct_move_before(op, block->first);
    }
}

static void guard(unmasking *x, ct_value *all)
{
    ct_op *branch = ct_if_new(x->f, x->select, all, 1);
    if (!branch || !ct_yield_new(x->f, branch->regions[0], x->select, &x->select->operands[1], 1)) {
        cg_no_memory(x->c);
        return;
    }
    branch->results[0].type = x->select->results[0].type;
    ct_insert_after(branch, x->select);
    ct_replace_uses(&x->select->results[0], &branch->results[0]);
    ct_value *result = &x->select->results[0];
    if (ct_yield_new(x->f, branch->regions[1], x->select, &result, 1))
        move_select(x, branch->regions[1]);
    else
        cg_no_memory(x->c);
}

static bool is_masked(const ct_op *op)
{
    if (op->opcode != OP_select || cg_shape_of(op->results[0].type).tile_bits < CG_MASKED_BITS)
        return false;
    const ct_op *maker = op->operands[1]->op;
    return maker && maker->opcode != OP_constant && op->operands[0]->type->rank == op->results[0].type->rank;
}

static void look_at(cg_func *c, ct_op *loop)
{
    for (ct_op *op = loop->regions[0]->first, *next; op && !c->failed; op = next) {
        next = op->next;
        if (!is_masked(op))
            continue;
        unmasking x = {.c = c, .f = c->ir, .select = op};
        ct_value *all = all_of(&x, op->operands[0], CG_MASK_DEPTH);
        if (all)
            guard(&x, all);
        while (!all && x.put_count)
            ct_remove(x.put[--x.put_count]);
    }
}

/* If several loops multiply, the program has moved the masked tiles into a loop of their own, in which a branch
   would only cost registers. */
void cg_pass_unmask(cg_func *c)
{
    ct_op *loop = NULL;
    for (ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        if (op->opcode == OP_for && !op->plain && cg_product_in(op->regions[0])) {
            if (loop)
                return;
            loop = op;
        }
    if (loop)
        look_at(c, loop);
}
