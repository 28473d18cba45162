/* The hoist pass moves views, and scalars that cost little, in front of the loops in which they do not change, from
   inner loops to outer ones and out of branches. Later passes look for values that are computed outside a loop: loads,
   for example, are prefetched only through views that are not created in the loop.

   Why it is right: the ops only compute, and none of them can fail. A division moves only if it divides by a constant;
   an op that could fail stays behind the condition that guards it. A fact that an `assume` states applies only to the
   uses of its result, wherever the op is. Tiles stay in the loop, because they would occupy registers for its whole
   duration. */
#include "codegen/passes/hoist.h"

#include "codegen/passes/pass.h"

/* Is the op one that does no harm where nobody asked for it? */
static bool is_safe(const ct_op *op)
{
    if (op->opcode != OP_divi && op->opcode != OP_remi)
        return true;
    const ct_op *divisor = op->operands[1]->op;
    return divisor && divisor->opcode == OP_constant && !ct_is_zero(divisor);
}

static bool is_light(const ct_op *op)
{
    const bc_op_classes light = BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(RESHAPE)
                                | BC_OPS(MOVE) | BC_OPS(VIEW) | BC_OPS(QUERY);
    return ct_is_pure(op) && bc_op_in(op->opcode, light) && is_safe(op) && ct_gives_no_tiles(op);
}

/* What the block and the branches in it make anew in each iteration goes in front of the loop. */
static void hoist_from(ct_block *block, ct_op *loop)
{
    for (ct_op *op = block->first, *next; op; op = next) {
        next = op->next;
        for (uint32_t r = 0; op->opcode == OP_if && r < op->region_count; r++)
            if (op->regions[r])
                hoist_from(op->regions[r], loop);
        if (is_light(op) && ct_is_from_outside(op, loop->regions[0]))
            ct_move_before(op, loop);
    }
}

void cg_hoist_from_loop(ct_op *loop)
{
    hoist_from(loop->regions[0], loop);
}

/* Inner loops first: what leaves them may leave those around as well. */
static void hoist_all(ct_block *block)
{
    for (ct_op *op = block->first; op; op = op->next) {
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                hoist_all(op->regions[r]);
        if (ct_is_loop(op))
            cg_hoist_from_loop(op);
    }
}

void cg_pass_hoist(cg_func *c)
{
    hoist_all(c->ir->body);
}

void cg_dump_hoist(cg_func *c, bc_text *out)
{
    cg_dump_ops(c, out);
}
