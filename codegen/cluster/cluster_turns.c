/* Makes one thread block compute the parts of a tile block (codegen/passes/cluster.c) in turn, in a loop around the
   kernel:

       for turn = 0 to parts {
           what a thread block of a cluster would do whose rank is `turn`
       }

   Values that are the same in all turns and take few registers stay in front of the loop: scalars, views, constants.
   Why it is right: parts that blocks may compute without waiting for each other (codegen/plan/cluster_order.c) may be
   computed one after the other. */
#include "codegen/cluster/cluster.h"

ct_value *cg_loop_begin(cg_func *c, ct_value *const bounds[3])
{
    ct_func *f = c->ir;
    ct_op *end = f->body->last, *loop = ct_for_new(f, end, bounds), *next = ct_op_like(f, OP_continue, end, 0, 0, 0);
    if (!loop || !next)
        return NULL;
    ct_insert_before(loop, end);
    ct_append(loop->regions[0], next);
    return &loop->regions[0]->args[0];
}

ct_value *cg_turns_begin(cg_func *c, uint32_t count)
{
    ct_func *f = c->ir;
    const bc_type *type = ct_scalar_type(f, BC_I32);
    ct_value *bounds[3];
    for (uint32_t i = 0; i < 3; i++) {
        ct_op *number = type ? ct_constant_new(f, f->body->last, type, i == 0 ? 0 : i == 1 ? count : 1) : NULL;
        if (!number)
            return NULL;
        ct_insert_before(number, f->body->first);
        bounds[i] = &number->results[0];
    }
    return cg_loop_begin(c, bounds);
}

/* May the op stay in front of the loop? Then all of its operands do, too. */
static bool stays(const ct_op *op, const ct_block *turn)
{
    return ct_is_pure(op) && ct_is_from_outside(op, turn) && (op->opcode == OP_constant || ct_gives_no_tiles(op));
}

void cg_turns_enclose(cg_func *c, const ct_value *turn)
{
    ct_block *body = turn->block;
    for (ct_op *op = c->ir->body->first, *next; op != body->parent; op = next) {
        next = op->next;
        if (!stays(op, body))
            ct_move_before(op, body->last);
    }
}
