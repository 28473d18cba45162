/* Follows what a loop's body reads to the branches by which the loop ends; see the header. */
#include "codegen/analysis/going_on.h"

typedef struct follower {
    const ct_op *loop;
    bool *read; /* by value id: it depends on what the body reads */
    bool changed;
} follower;

static void mark(follower *x, const ct_value *v, bool is_read)
{
    x->changed = x->changed || (is_read && !x->read[v->id]);
    x->read[v->id] = x->read[v->id] || is_read;
}

/* Does it depend on what the body reads whether the op is executed in an iteration? */
static bool is_chosen(const follower *x, const ct_op *op)
{
    for (const ct_op *p = op->block->parent; p && p != x->loop; p = p->block->parent)
        if (p->opcode == OP_if && x->read[p->operands[0]->id])
            return true;
    return false;
}

/* The results of an op with regions are what its terminators pass on. */
static void follow(follower *x, const ct_op *op)
{
    uint32_t count = 0;
    const ct_value *targets = ct_targets(op, &count);
    const bool is_chosen_here = targets && is_chosen(x, op);
    for (uint32_t i = 0; targets && i < count && i < op->operand_count; i++)
        mark(x, &targets[i], is_chosen_here || x->read[op->operands[i]->id]);
    bool reads = !targets && !op->region_count && !ct_is_pure(op);
    for (uint32_t i = 0; !op->region_count && i < op->operand_count; i++)
        reads = reads || x->read[op->operands[i]->id];
    for (uint32_t i = 0; i < op->result_count; i++)
        mark(x, &op->results[i], reads);
}

/* A break is executed, too, only if the iteration has not gone on before it. */
static bool ends_by_memory(const follower *x)
{
    const ct_block *body = x->loop->regions[0];
    bool may_be_over = false;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        const bool is_own = op->opcode == OP_return
                            || ((op->opcode == OP_break || op->opcode == OP_continue) && ct_loop_around(op) == x->loop);
        may_be_over = may_be_over || (is_own && is_chosen(x, op));
        if (is_own && op->opcode != OP_continue && may_be_over)
            return true;
    }
    return false;
}

bool cg_goes_on_by_memory(cg_func *c, const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    follower x = {.loop = loop, .read = bc_new(&c->arena, bool, c->ir->value_count + 1u), .changed = true};
    if (!x.read)
        return false;
    while (x.changed) {
        x.changed = false;
        for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
            follow(&x, op);
    }
    return ends_by_memory(&x);
}
