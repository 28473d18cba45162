/* Finds products that are computed together: a shared operand is stored to shared memory once, and loaded once for
   all of them. This applies to products in blocks of registers, and to products by mma.sync whose operands both come
   from registers. */
#include "codegen/analysis/product.h"
#include "codegen/analysis/ring.h"

/* 32-bit registers for the sums of all products of a group */
enum { MOST_SUMS = 128, MOST_LOOKED_AT = 32 };

static uint32_t sums_of(const cg_func *c, const ct_op *op)
{
    const bc_type *type = cg_result(op, 0)->type;
    return (cg_memory_bytes(bc_elem_kind(type)) << cg_shape_of(type).tile_bits) / 4 / cg_threads(c);
}

/* Only 16-bit operands, since tiles with other ones may be spread differently; and no tiles in strips, whose loops
   would have to be the same. */
static bool joins_by_instruction(const cg_func *c, const ct_op *op, const cg_product *p)
{
    return p->instruction == CG_BY_MMA && p->atom.element_bits == 1 && !p->chained && !op->detail && !c->strip_bits
           && !cg_encoding_of(p->lhs) && !cg_encoding_of(p->rhs);
}

bool cg_may_join(const cg_func *c, const ct_op *op)
{
    if (!cg_is_product(op))
        return false;
    cg_product p = cg_product_of(c, op);
    return p.instruction == CG_BY_BLOCKS || joins_by_instruction(c, op, &p);
}

/* Does the op belong to another group, which its first op has found? */
static bool is_taken(cg_func *c, const ct_op *op)
{
    const cg_product *p = cg_value_of(c, cg_result(op, 0))->product;
    return p && p->together;
}

/* v without reshapes, which keep the elements and their order. */
static const ct_value *behind_reshapes(const ct_value *v)
{
    while (v->op && v->op->opcode == OP_reshape)
        v = v->op->operands[0];
    return v;
}

bool cg_is_same_operand(const ct_value *a, const ct_value *b)
{
    bool same = a->type == b->type;
    const ct_op *x = behind_reshapes(a)->op, *y = behind_reshapes(b)->op;
    if (same && x && y && x != y && x->opcode == OP_broadcast && y->opcode == OP_broadcast) {
        same = x->results[0].type == y->results[0].type && x->operands[0]->type == y->operands[0]->type;
        a = x->operands[0];
        b = y->operands[0];
    }
    return same && behind_reshapes(a) == behind_reshapes(b);
}

bool cg_shares_operand(const ct_op *a, const ct_op *b)
{
    return a != b && cg_is_product(b) && a->opcode == b->opcode && a->results[0].type == b->results[0].type
           && (cg_is_same_operand(a->operands[0], b->operands[0])
               || cg_is_same_operand(a->operands[1], b->operands[1]));
}

/* Does it multiply like the first product, have an operand in common with one of the group, and use none of their
   results? */
static bool fits(const cg_together *t, const ct_op *op)
{
    bool same = true, shares = false;
    for (uint32_t i = 0; i < 3; i++)
        same = same && op->operands[i]->type == t->ops[0]->operands[i]->type;
    for (uint32_t i = 0; i < t->count && same; i++) {
        same = op != t->ops[i];
        shares = shares || cg_shares_operand(t->ops[i], op);
    }
    return same && shares;
}

/* Are all of its operands available before the first product? */
static bool is_ready(const ct_op *first, const ct_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        for (const ct_op *made = first; made != op; made = made->next)
            if (op->operands[i]->op == made)
                return false;
    return true;
}

/* The next product that joins the group. NULL: there is none, or its sums do not fit. */
static const ct_op *next_of(cg_func *c, const cg_together *t)
{
    const ct_op *first = t->ops[0];
    uint32_t looked_at = 0;
    if (t->count == CG_MOST_TOGETHER || (t->count + 1) * sums_of(c, first) > MOST_SUMS)
        return NULL;
    for (const ct_op *op = first->next; op && looked_at < MOST_LOOKED_AT; op = op->next, looked_at++)
        if (cg_may_join(c, op) && fits(t, op) && !is_taken(c, op) && is_ready(first, op))
            return op;
    return NULL;
}

cg_together *cg_find_together(cg_func *c, const ct_op *first)
{
    cg_together *t = bc_new(&c->arena, cg_together, 1);
    if (!t)
        return NULL;
    t->ops[t->count++] = first;
    for (const ct_op *op = cg_may_join(c, first) ? next_of(c, t) : NULL; op; op = next_of(c, t))
        t->ops[t->count++] = op;
    return t;
}

/* ---- operands ---- */

/* Moves v up, if it is a constant, a reshape or a broadcast: behind the op that computes its operand, or to the head of
   the block. The same applies to that operand, through at most `deep` ops. */
static void raise(ct_value *v, const ct_block *block, uint32_t deep)
{
    ct_op *op = v->op;
    bool shows = op && op->block == block && !op->region_count
                 && (op->opcode == OP_constant || op->opcode == OP_reshape || op->opcode == OP_broadcast);
    if (!shows || !deep)
        return;
    ct_value *from = op->operand_count ? op->operands[0] : NULL;
    if (from)
        raise(from, block, deep - 1);
    ct_op *place = from && from->op && from->op->block == block ? from->op->next : block->first;
    if (place != op)
        ct_move_before(op, place);
}

void cg_raise_operands(cg_func *c)
{
    enum { DEEP = 4 };
    for (ct_op *op = c->ir->body->first; op; op = ct_next_op(op, c->ir->body))
        for (uint32_t i = 0; i < op->operand_count && cg_may_join(c, op); i++)
            raise(op->operands[i], op->block, DEEP);
}
