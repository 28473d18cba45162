/* Taking a lock; see the header. */
#include "codegen/ops/lock.h"

#include "codegen/ops/hooks.h"
#include "codegen/values/effects.h"

const ct_op *cg_lock_of(const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    const ct_op *exchange = NULL;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body)) {
        bool exchanges = op->opcode == OP_atomic_cas_tko;
        if (op->opcode >= OP_LIMIT || (exchanges && exchange)
            || !(exchanges || op->opcode == OP_if || ct_is_pure(op) || bc_op_in(op->opcode, BC_OPS(EXIT))))
            return NULL;
        exchange = exchanges ? op : exchange;
    }
    return exchange;
}

static bool are_light(const ct_value *values, uint32_t count, bool scalars)
{
    for (uint32_t i = 0; i < count; i++) {
        const bc_type *type = values[i].type;
        if (type->kind != BC_TOKEN && !(scalars && bc_is_tile(type) && !type->rank))
            return false;
    }
    return true;
}

/* Before each attempt, a release makes the other threads' accesses visible. */
static bool is_release(const ct_op *exchange)
{
    uint64_t order = ct_attr_u(exchange, F_atomic_cas_tko_memory_ordering_semantics);
    return order == BC_MemoryOrderingSemantics_release || order == BC_MemoryOrderingSemantics_acq_rel;
}

bool cg_is_taken_by_one(const ct_op *loop)
{
    const ct_op *exchange = loop->opcode == OP_loop ? cg_lock_of(loop) : NULL;
    const ct_block *body = loop->opcode == OP_loop ? loop->regions[0] : NULL;
    if (!exchange || is_release(exchange) || !are_light(loop->results, loop->result_count, false)
        || !are_light(body->args, body->arg_count, false))
        return false;
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (!are_light(op->results, op->result_count, true) || op->opcode == OP_return)
            return false;
    return true;
}

bool cg_is_done_by_one(const ct_op *op)
{
    const ct_op *loop = op->opcode == OP_atomic_cas_tko ? ct_loop_around(op) : NULL;
    return loop && cg_is_taken_by_one(loop) && cg_lock_of(loop) == op;
}

void cg_effects_loop(cg_func *c, ct_op *op)
{
    if (cg_is_taken_by_one(op))
        cg_add_effect(c, op, CG_MEETS);
}
