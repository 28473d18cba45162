/* The unmask pass skips masks in iterations where they are all true (mask elision). In loops that multiply, a mask
   for the last keys, or for the keys behind a diagonal, is true for whole tiles in most iterations. The select and
   its comparison move into a branch that all threads take alike. Measured on an H200: attention over 4,096 keys in
   tiles of 128x128 went from 1,116 to 880 us, causal from 617 to 514.

       s' = select m, s, none             s' = if all of m { s } else { m ...; select m, s, none }

   If several selects take the same mask, each computes it in its own branch. The condition costs a few scalars per
   tile.

   Where a loop of products goes on behind the diagonal, because it does not end there, all of the mask is false
   in about half of its iterations. Then a second branch skips what only the select needs, and what reads only it and
   gives a known constant, such as the row's maximum and sum and the tile that the next product multiplies:

       s' = select m, s, none             s', r = if any of m { s = ...; s' = if all of m ...; max of s' }
       r = max of s'                              else { none, none }

   506 of 1,498 chains of 27 seeds are of this kind. On an H200, 44 of them are 1.16 times as fast in the geometric mean
   (0.98 to 1.39). So is an operand that is converted or unpacked under such a mask, as in products of triangular
   matrices: it is zero in these iterations, without being computed. The product itself is not skipped, since its other
   operand may be infinite. 24 of 1,200 kernels have such an operand. They are 0.98 to 1.28 times as fast, 1.06 in the
   geometric mean, and 1.97 times where K is 17 times N.

   Kernels with several loops that multiply are not changed: such a program has separated the masked tiles itself
   (as cuTile does for some kernels), and attention at 64x128 has no registers left for a branch. Copies of the
   program's own loop, for rows that start anywhere (codegen/passes/lift.c), do not count. They are changed together if
   several selects take a mask, as in a softmax. On an H200, 17 such chains on which the rule was not found are 1.28
   times as fast in the geometric mean (0.95 to 2.60); eight with one select for each mask would be 0.79 to 1.09 times
   as fast.

   Why it is right: a mask compares scalars plus consecutive numbers, so it is true everywhere if it is true at both
   ends; the ends are elements of the tile, computed in the same way. If the sum wraps around inside the tile, signed or
   unsigned as the mask compares, its ends are in the wrong order, and the select stays. It is false everywhere if it is
   false for the ends for which it is most likely; what is skipped only computes in registers, and the select would have
   thrown it away. */
#include <math.h>
#include <string.h>

#include "bytecode/number/fast.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"
#include "codegen/passes/pass.h"
#include "codegen/tile/compare.h"

typedef struct unmasking {
    cg_func *c;
    ct_func *f;
    ct_op *select;
    uint32_t put_count; /* ops in front of it that compute conditions */
    bool some;          /* the condition is that any of the mask may be true */
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
    if (!op)
        return NULL;
    ct_insert_before(op, x->select);
    x->put_count++;
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

/* Puts the comparison, or its opposite, with scalar operands. */
static ct_value *put_like(unmasking *x, const ct_op *comparison, uint64_t predicate, ct_value *a, ct_value *b)
{
    ct_value *result = put_of(x, OP_cmpi, comparison, a, b);
    if (result) {
        bc_attr_of(result->op->from, F_cmpi_comparison_predicate)->u = predicate;
        bc_attr_of(result->op->from, F_cmpi_signedness)->u = ct_attr_u(comparison, F_cmpi_signedness);
    }
    return result;
}

/* Is the comparison true for the ends of a and b for which it is least likely? And are the ends of each operand in
   order, so that it does not wrap around? If any may be true (x->some): is it for those for which it is most likely, or
   does an operand wrap around? */
static ct_value *all_in_order(unmasking *x, const ct_op *like, const ends *a, const ends *b)
{
    const uint64_t predicate = ct_attr_u(like, F_cmpi_comparison_predicate);
    const uint64_t order = x->some ? ct_negated((bc_ComparisonPredicate)predicate) : predicate;
    const bc_opcode also = x->some ? OP_ori : OP_andi;
    const ends *both[] = {a, b};
    ct_value *all = put_like(x, like, predicate, x->some ? a->low : a->high, x->some ? b->high : b->low);
    for (uint32_t i = 0; i < 2 && all; i++)
        if (varies(both[i]))
            all = put_of(x, also, like, all, put_like(x, like, order, both[i]->low, both[i]->high));
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

/* x->some decides which: that the whole mask is true, or that any of it may be. */
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

static bool is_read_inside(const ct_op *op, const ct_block *block)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        for (const ct_use *use = op->results[i].uses; use; use = use->next)
            if (!ct_is_inside(use->op->block, block))
                return false;
    return true;
}

static bool may_move(const ct_op *op)
{
    return (ct_is_map(op) || is_rearranged(op) || op->opcode == OP_cat) && op->result_count == 1
           && op->results[0].type->rank;
}

/* A copy of v in front of the select, with copies of the ops that compute it, as long as some are left; v itself if it
   does not depend on the iteration. */
static ct_value *copy_of(unmasking *x, ct_value *v, uint32_t *left)
{
    if (!v->op || v->op->block != x->select->block || !may_move(v->op) || !*left || x->c->failed)
        return v;
    --*left;
    ct_op *copy = ct_op_like(x->f, (bc_opcode)v->op->opcode, v->op, v->op->operand_count, 1, 0);
    if (!copy)
        return v;
    copy->results[0].type = v->type;
    for (uint32_t i = 0; i < copy->operand_count; i++)
        ct_set_operand(copy, i, copy_of(x, v->op->operands[i], left));
    ct_insert_before(copy, x->select);
    return &copy->results[0];
}

/* Moves ops, from `last` back, into the block if only ops of the block need them. */
static void move_along(ct_op *last, ct_block *block)
{
    for (ct_op *op = last, *prev; op; op = prev) {
        prev = op->prev;
        if (may_move(op) && is_read_inside(op, block))
            ct_move_before(op, block->first);
    }
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
    move_along(before, block);
}

static ct_op *guard(unmasking *x, ct_value *all)
{
    ct_op *branch = ct_if_new(x->f, x->select, all, 1);
    if (!branch || !ct_yield_new(x->f, branch->regions[0], x->select, &x->select->operands[1], 1))
        return NULL;
    branch->results[0].type = x->select->results[0].type;
    ct_insert_after(branch, x->select);
    ct_replace_uses(&x->select->results[0], &branch->results[0]);
    ct_value *result = &x->select->results[0];
    if (ct_yield_new(x->f, branch->regions[1], x->select, &result, 1))
        move_select(x, branch->regions[1]);
    return branch;
}

/* What reads the result, and what it gives where all elements are that constant. */
typedef struct readers {
    ct_op *ops[CG_MASK_READERS];
    ct_value *given[CG_MASK_READERS];
    uint32_t count;
    bool all; /* nothing else reads the result */
} readers;

/* Is the constant one f32 for all elements, neither NaN nor subnormal? */
static bool is_normal_number(const ct_op *constant)
{
    uint32_t bits;
    const bc_blob *blob = ct_attr_of(constant, F_constant_value)->blob;
    if (bc_elem_kind(constant->results[0].type) != BC_F32 || !ct_is_one_number(constant))
        return false;
    memcpy(&bits, blob->ptr, sizeof bits);
    const float number = bc_f32_from_bits(bits);
    return isnormal(number) || isinf(number) || ct_is_zero(constant);
}

/* Does the reduction of the number with itself give that number? */
static bool keeps(const ct_op *reduction, const ct_op *number)
{
    const ct_op *op = reduction->regions[0] ? reduction->regions[0]->first : NULL;
    if (reduction->operand_count != 1 || !op || op->next != reduction->regions[0]->last || !is_normal_number(number))
        return false;
    return op->opcode == OP_maxf || op->opcode == OP_minf || (op->opcode == OP_addf && ct_is_zero(number));
}

/* What an op gives that reads elements which all have the value of the constant. NULL: not known. */
static ct_op *given_of(unmasking *x, const ct_op *op, const ct_op *number)
{
    const bc_blob *blob = ct_attr_of(number, F_constant_value)->blob;
    const bc_type *type = op->results[0].type;
    if (op->opcode == OP_ftof && ct_is_zero(number) && bc_elem_kind(type) != BC_F8E8M0FNU)
        return ct_constant_new(x->f, number, type, 0);
    if (op->opcode != OP_reduce || !keeps(op, number))
        return NULL;
    ct_op *given = ct_made_new(x->f, OP_constant, number, type, NULL, 0);
    if (given)
        bc_attr_of(given->from, F_constant_value)->blob = blob;
    return given;
}

static readers readers_of(unmasking *x, const ct_value *result, const ct_block *block)
{
    readers r = {.all = true};
    for (const ct_use *use = result->uses; use; use = use->next) {
        ct_op *given = use->op->block == block && r.count < CG_MASK_READERS
                           ? given_of(x, use->op, x->select->operands[2]->op)
                           : NULL;
        r.all = r.all && given;
        if (!given)
            continue;
        r.ops[r.count] = use->op;
        r.given[r.count++] = &given->results[0];
    }
    return r;
}

/* Moves the branch into another one, which takes the place of the result where the mask is false everywhere, with the
   ops that only it needs, and those that read only it. */
static ct_op *skip(unmasking *x, ct_op *work, ct_value *some)
{
    ct_value *result = &work->results[0], *other = x->select->operands[2], *yields[2][1 + CG_MASK_READERS];
    const readers r = readers_of(x, result, work->block);
    const uint32_t first = r.all ? 0 : 1, count = first + r.count;
    yields[0][0] = result;
    yields[1][0] = other;
    ct_op *branch = ct_if_new(x->f, x->select, some, count);
    if (!branch)
        return NULL;
    ct_insert_after(branch, work);
    if (first) {
        branch->results[0].type = result->type;
        ct_replace_uses(result, &branch->results[0]);
    }
    for (uint32_t i = 0; i < r.count; i++) {
        ct_value *read = &r.ops[i]->results[0];
        branch->results[first + i].type = read->type;
        ct_replace_uses(read, &branch->results[first + i]);
        yields[0][first + i] = read;
        yields[1][first + i] = r.given[i];
        ct_append(branch->regions[1], r.given[i]->op);
        ct_set_operand(r.ops[i], 0, result);
    }
    for (uint32_t i = 0; i < 2; i++)
        if (!ct_yield_new(x->f, branch->regions[i], x->select, yields[i], count))
            return NULL;
    ct_block *block = branch->regions[0];
    for (uint32_t i = 0; i < r.count; i++)
        ct_move_before(r.ops[i], block->last);
    ct_move_before(work, block->first);
    move_along(branch->prev, block);
    return branch;
}

/* Does v depend on the index of the block, or on that of the loop? */
static bool depends(const ct_value *v, const ct_op *loop, uint32_t depth)
{
    const ct_op *op = v->op;
    if (!op || !depth)
        return loop && v == &loop->regions[0]->args[0];
    if (op->opcode == OP_get_tile_block_id)
        return !loop;
    for (uint32_t i = 0; !op->region_count && i < op->operand_count; i++)
        if (depends(op->operands[i], loop, depth - 1))
            return true;
    return false;
}

/* Does a part of the mask compare the place of the block with that of the iteration? */
static bool is_of_both(const ct_value *mask, const ct_op *loop, uint32_t depth)
{
    const ct_op *op = mask->op;
    if (!op || !depth)
        return false;
    if (is_rearranged(op))
        return is_of_both(op->operands[0], loop, depth - 1);
    if (op->opcode == OP_andi)
        return is_of_both(op->operands[0], loop, depth - 1) || is_of_both(op->operands[1], loop, depth - 1);
    return depends(mask, NULL, depth) && depends(mask, loop, depth);
}

/* Does the loop go on where the mask is false everywhere? If the mask depends on the places of the block and of the
   iteration, but the bounds of the loop not on the former, the program does not stop by itself. */
static bool goes_beyond(const ct_op *loop, const ct_op *select)
{
    const ct_op *other = select->operands[2]->op;
    return other && other->opcode == OP_constant && other->block != loop->regions[0]
           && is_of_both(select->operands[0], loop, CG_MASK_DEPTH) && !depends(loop->operands[0], NULL, CG_MASK_DEPTH)
           && !depends(loop->operands[1], NULL, CG_MASK_DEPTH);
}

static bool is_masked(const ct_op *op)
{
    if (op->opcode != OP_select || cg_shape_of(op->results[0].type).tile_bits < CG_MASKED_BITS)
        return false;
    const ct_op *maker = op->operands[1]->op;
    return maker && maker->opcode != OP_constant && op->operands[0]->type->rank == op->results[0].type->rank;
}

/* The condition that the whole mask is true, or that any of it may be. NULL: it cannot be determined. */
static ct_value *condition_of(unmasking *x, bool some)
{
    const uint32_t count = x->put_count;
    x->some = some;
    ct_value *result = all_of(x, x->select->operands[0], CG_MASK_DEPTH);
    for (; !result && x->put_count > count; x->put_count--)
        ct_remove(x->select->prev);
    return result;
}

static void look_at(cg_func *c, ct_op *loop)
{
    for (ct_op *op = loop->regions[0]->first, *next; op && !c->failed; op = next) {
        next = op->next;
        if (!is_masked(op))
            continue;
        unmasking x = {.c = c, .f = c->ir, .select = op};
        const bool skips = goes_beyond(loop, op);
        ct_value *all = condition_of(&x, false), *some = all && skips ? condition_of(&x, true) : NULL;
        ct_op *branch = all ? guard(&x, all) : NULL;
        if (branch && some)
            branch = skip(&x, branch, some);
        next = branch ? branch->next : next;
    }
}

static bool multiplies(const ct_op *op)
{
    return op->opcode == OP_for && cg_product_in(op->regions[0]);
}

/* Do two selects of the loop take the same mask, so that its predicates are in registers between them? */
static bool shares_mask(const ct_op *loop)
{
    for (const ct_op *op = loop->regions[0]->first; op; op = op->next)
        for (const ct_use *use = is_masked(op) ? op->operands[0]->uses : NULL; use; use = use->next)
            if (use->op != op && use->op->block == op->block && is_masked(use->op))
                return true;
    return false;
}

/* If several loops multiply, the program has moved the masked tiles into a loop of their own, in which a branch
   would only cost registers. Copies of its only loop are changed with it. */
void cg_pass_unmask(cg_func *c)
{
    ct_op *own = NULL;
    bool has_copies = false;
    for (ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body)) {
        if (op->plain || !multiplies(op))
            continue;
        if (own && !op->likely)
            return;
        has_copies = has_copies || op->likely;
        own = op->likely ? own : op;
    }
    if (!own || (has_copies && !shares_mask(own)))
        return;
    look_at(c, own);
    for (ct_op *op = c->ir->body->first; op && !c->failed; op = ct_next_op(op, c->ir->body))
        if (op->likely && multiplies(op) && shares_mask(op))
            look_at(c, op);
}
