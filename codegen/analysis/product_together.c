/* Blocked products that are computed together: what they share is stored to shared memory once, and loaded once for all
   of them. */
#include "codegen/analysis/product.h"

/* Registers of 32 bits that hold the sums of all of them. */
enum { MOST_SUMS = 64, MOST_LOOKED_AT = 32 };

static uint32_t sums_of(const cg_func *c, const ct_op *op)
{
    const bc_type *type = cg_result(op, 0)->type;
    uint32_t words = cg_memory_bytes(bc_elem_kind(type)) / 4;
    return (words << cg_shape_of(type).tile_bits) / cg_threads(c);
}

/* Is the op one of another group, whose first op has found it? */
static bool is_taken(cg_func *c, const ct_op *op)
{
    const cg_product *p = cg_value_of(c, cg_result(op, 0))->product;
    return p && p->together;
}

/* Does it multiply as the first one does, and something that one of them multiplies? */
static bool fits(const cg_together *t, const ct_op *op)
{
    const ct_op *first = t->ops[0];
    bool same = op->opcode == first->opcode, shares = false;
    for (uint32_t i = 0; i < 3 && same; i++)
        same = op->operands[i]->type == first->operands[i]->type;
    for (uint32_t i = 0; i < t->count && same; i++)
        shares = shares || op->operands[0] == t->ops[i]->operands[0] || op->operands[1] == t->ops[i]->operands[1];
    return shares;
}

/* Is none of its operands made behind the first one? */
static bool is_ready(const ct_op *first, const ct_op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        for (const ct_op *made = first; made != op; made = made->next)
            if (op->operands[i]->op == made)
                return false;
    return true;
}

cg_together *cg_find_together(cg_func *c, const ct_op *first)
{
    cg_together *t = bc_new(&c->arena, cg_together, 1);
    uint32_t looked_at = 0, sums = sums_of(c, first);
    if (!t) {
        cg_no_memory(c);
        return NULL;
    }
    t->ops[t->count++] = first;
    for (const ct_op *op = first->next; op && looked_at < MOST_LOOKED_AT; op = op->next, looked_at++)
        if (op->opcode == first->opcode && t->count < CG_MOST_TOGETHER && (t->count + 1) * sums <= MOST_SUMS
            && fits(t, op) && !is_taken(c, op) && is_ready(first, op))
            t->ops[t->count++] = op;
    return t;
}
