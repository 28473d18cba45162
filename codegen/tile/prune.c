/* Removes the ops of a block that its roots do not need: marks what is needed until nothing new is found, and
   removes the rest. Control flow remains if it contains something that is needed, or leaves. A value that a loop or
   branch passes on without need gets a type of its own, and `nothing` replaces the values passed to it. */
#include "codegen/tile/ir.h"

typedef struct pruning {
    ct_func *f;
    ct_is_root *is_root;
    bool *needed; /* by value id */
    bool has_changed;
} pruning;

static void need(pruning *p, const ct_value *v)
{
    p->has_changed = p->has_changed || !p->needed[v->id];
    p->needed[v->id] = true;
}

/* The value that operand i of a terminator becomes. NULL: the op passes on nothing that may be removed. */
static ct_value *handed_to(const ct_op *op, uint32_t i)
{
    uint32_t count;
    ct_value *targets = ct_targets(op, &count);
    return targets ? &targets[i] : NULL;
}

/* Does the op leave `outer`, in which it is? */
static bool leaves(const ct_op *op, const ct_op *outer)
{
    if (op->opcode == OP_return)
        return !bc_op_in(outer->opcode, BC_OPS(FOLD));
    if (op->opcode != OP_continue && op->opcode != OP_break)
        return false;
    for (const ct_op *p = op->block->parent; p != outer; p = p->block->parent)
        if (ct_is_loop(p))
            return false;
    return !ct_is_loop(outer);
}

static bool is_needed(const pruning *p, const ct_op *op)
{
    if (p->is_root(op) || !op->next) /* a terminator */
        return true;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (p->needed[op->results[i].id])
            return true;
    for (const ct_op *in = op; (in = ct_next_within(in, op));)
        if (p->is_root(in) || leaves(in, op))
            return true;
    return false;
}

/* Marks the initial values of a loop's arguments. Those of a `for` are also its results: both are needed, or
   neither. */
static void need_carried(pruning *p, const ct_op *loop, uint32_t first)
{
    bool is_for = loop->opcode == OP_for;
    const ct_block *body = loop->regions[0];
    for (uint32_t i = is_for; i < body->arg_count; i++) {
        const ct_value *arg = &body->args[i], *result = is_for ? &loop->results[i - 1] : arg;
        if (!p->needed[arg->id] && !p->needed[result->id])
            continue;
        need(p, arg);
        need(p, result);
        need(p, loop->operands[first + i - is_for]);
    }
}

static void need_operands(pruning *p, const ct_op *op)
{
    uint32_t count = ct_is_loop(op) ? ct_first_carried(op) : op->operand_count;
    for (uint32_t i = 0; i < count; i++) {
        const ct_value *to = handed_to(op, i);
        if (!to || p->needed[to->id])
            need(p, op->operands[i]);
    }
    if (ct_is_loop(op))
        need_carried(p, op, count);
}

static void drop(const ct_value *v, ct_op *op, uint32_t i, ct_value *nothing, const pruning *p)
{
    if (!p->needed[v->id])
        ct_set_operand(op, i, nothing);
}

/* Changes the type of values that are not needed. */
static void retype(const pruning *p, ct_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!p->needed[values[i].id])
            values[i].type = &ct_own_type;
}

static void tidy_op(const pruning *p, ct_op *op, ct_value *nothing)
{
    uint32_t first = ct_first_carried(op);
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (handed_to(op, i))
            drop(handed_to(op, i), op, i, nothing, p);
        else if (ct_is_loop(op) && i >= first)
            drop(&op->regions[0]->args[i - first + (op->opcode == OP_for)], op, i, nothing, p);
    if (ct_is_loop(op))
        retype(p, op->regions[0]->args + (op->opcode == OP_for), op->regions[0]->arg_count - (op->opcode == OP_for));
    if (ct_is_loop(op) || op->opcode == OP_if)
        retype(p, op->results, op->result_count);
}

/* Removes the op, and returns the one after it. No part of the op remains. */
static ct_op *remove(ct_op *op)
{
    ct_op *next = op->next;
    ct_remove(op);
    return next;
}

static void sweep(const pruning *p, ct_block *block, ct_value *nothing)
{
    for (ct_op *op = block->first; op;) {
        if (!is_needed(p, op)) {
            op = remove(op);
            continue;
        }
        tidy_op(p, op, nothing);
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r] && !bc_op_in(op->opcode, BC_OPS(FOLD)))
                sweep(p, op->regions[r], nothing);
        op = op->next;
    }
}

bool ct_prune(ct_func *f, ct_block *block, ct_is_root *is_root, ct_value *nothing)
{
    pruning p = {.f = f, .is_root = is_root, .needed = bc_new(f->arena, bool, f->value_count + 1u)};
    if (!p.needed)
        return false;
    for (p.has_changed = true; p.has_changed;) {
        p.has_changed = false;
        for (const ct_op *op = block->first; op; op = ct_next_op(op, block))
            if (is_needed(&p, op))
                need_operands(&p, op);
    }
    sweep(&p, block, nothing);
    return true;
}
