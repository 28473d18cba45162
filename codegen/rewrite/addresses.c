/* Moves the loop-invariant parts of the addresses and masks of copies through pointers in front of the loop: sums and
   conjunctions are reordered so that these parts are combined first. The sum of a row's address and a column, as in
   gathers, becomes one addition per row. */
#include "codegen/facts/facts.h"
#include "codegen/kernel/limits.h"
#include "codegen/rewrite/ring.h"

/* An op like `like` on two other operands, with empty facts. NULL: out of memory. */
static ct_op *op_like(cg_func *c, const ct_op *like, ct_value *left, ct_value *right, ct_op *place)
{
    ct_op *op = ct_op_new(c->ir, like->opcode, like, 2, 1);
    cg_fact *fact = bc_new(c->ir->arena, cg_fact, 1);
    if (!op || !fact)
        return NULL;
    fact->used = true;
    op->results[0].type = like->results[0].type;
    op->results[0].fact = fact;
    ct_set_operand(op, 0, left);
    ct_set_operand(op, 1, right);
    ct_insert_before(op, place);
    return op;
}

/* Replaces the op's result by `v`, which gets its facts. */
static void replace(ct_op *op, ct_value *v)
{
    v->fact = op->results[0].fact;
    ct_replace_uses(&op->results[0], v);
    ct_remove(op);
}

/* May the sum be split? Sums of 32 bits are extended before they are added to an address, so they must not wrap. */
static bool may_be_split(const ct_value *sum)
{
    return sum->op && sum->op->opcode == OP_addi && (bc_elem_kind(sum->type) == BC_I64 || sum->fact->ranged);
}

/* Replaces base + (x + y) by (base + x) + y, if only y changes in the loop. */
static void split_offset(cg_func *c, ct_op *offset, ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    if (!offset || offset->opcode != OP_offset || !ct_is_inside(offset->block, body)
        || ct_is_inside(offset->operands[0]->block, body) || !may_be_split(offset->operands[1]))
        return;
    ct_value *const *parts = offset->operands[1]->op->operands;
    bool left = !ct_is_inside(parts[0]->block, body);
    if (left == !ct_is_inside(parts[1]->block, body))
        return;
    ct_op *outer = op_like(c, offset, offset->operands[0], parts[!left], loop);
    ct_op *whole = outer ? op_like(c, offset, &outer->results[0], parts[left], offset) : NULL;
    if (whole)
        replace(offset, &whole->results[0]);
}

typedef struct parts {
    ct_value *of[CG_MASK_PARTS];
    uint32_t count;
} parts;

/* Finds the operands of the conjunction; those from outside the body separately. False: there are too many. */
static bool find_parts(ct_value *v, const ct_block *body, parts *outer, parts *inner)
{
    bool is_outer = !ct_is_inside(v->block, body);
    if (!is_outer && v->op && v->op->opcode == OP_andi)
        return find_parts(v->op->operands[0], body, outer, inner) && find_parts(v->op->operands[1], body, outer, inner);
    parts *p = is_outer ? outer : inner;
    if (p->count == CG_MASK_PARTS)
        return false;
    p->of[p->count++] = v;
    return true;
}

/* The conjunction of `first` and the parts from number `from` on. */
static ct_value *all_of(cg_func *c, const ct_op *like, ct_value *first, const parts *p, uint32_t from, ct_op *place)
{
    for (uint32_t i = from; i < p->count && first; i++) {
        ct_op *op = op_like(c, like, first, p->of[i], place);
        first = op ? &op->results[0] : NULL;
    }
    return first;
}

static void split_mask(cg_func *c, ct_op *mask, ct_op *loop)
{
    parts outer = {.count = 0}, inner = {.count = 0};
    if (!mask || mask->opcode != OP_andi || !find_parts(&mask->results[0], loop->regions[0], &outer, &inner)
        || outer.count < 2 || inner.count == 0)
        return;
    ct_value *same = all_of(c, mask, outer.of[0], &outer, 1, loop);
    ct_value *whole = same ? all_of(c, mask, same, &inner, 0, mask) : NULL;
    if (whole)
        replace(mask, whole);
}

void cg_ring_put_addresses(cg_func *c, ct_op *copy, ct_op *loop)
{
    if (copy->from->opcode != OP_load_ptr_tko)
        return;
    cg_ptr_op p = cg_ptr_op_of(copy);
    split_offset(c, p.pointers->op, loop);
    if (p.mask && !c->failed)
        split_mask(c, p.mask->op, loop);
}
