/* The hoist pass moves views, and scalars that cost little, in front of the loops in which they do not change, from
   inner loops to outer ones and out of branches. Later passes look for values that are computed outside a loop: loads,
   for example, are prefetched only through views that are not created in the loop.

   Why it is right: the ops only compute, and none of them can fail. A division moves only if it divides by a constant;
   an op that could fail stays behind the condition that guards it. A fact that an `assume` states applies only to the
   uses of its result, wherever the op is. Tiles stay in the loop, because they would occupy registers for its whole
   duration.

   Small rows that are the same in all iterations leave the loop, too: weak loads, and values computed from them, that
   take a few registers per thread. Their pointers and masks take none, since they are recomputed where they are read.
   Why it is right: the loop is known to run, so the row would be loaded anyway. No store and no ordering op of the loop
   precedes the load, neither by tokens nor through the same memory. So the load reads the same elements in front of the
   loop as in each iteration. In maps, rows also leave loops that may not run, if they are loaded through pointers under
   a mask: it is then false where the loop does not run, so that nothing is accessed. If the results that a map's loop
   reads are small, all that they are computed from leaves with them. */
#include "codegen/passes/hoist.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/product.h"
#include "codegen/kernel/groups.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/remarks.h"
#include "codegen/passes/pass.h"
#include "codegen/plan/budget.h"
#include "codegen/tile/build.h"

/* Can the op be executed where its result may not be needed? */
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

/* Moves the ops of the block, and of branches in it, that do not change in the loop in front of the loop. */
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

/* ---- rows ---- */

/* Does each iteration end as the body does, and does none multiply? */
static bool is_plain(const ct_op *loop)
{
    const ct_block *body = loop->regions[0];
    for (const ct_op *op = body->first; op; op = ct_next_op(op, body))
        if (op->opcode == OP_return || cg_is_product(op))
            return false;
    return loop->opcode == OP_for;
}

/* Does the body execute at least once? */
static bool is_run(const ct_op *loop)
{
    int64_t bounds[2];
    for (uint32_t i = 0; i < 2; i++)
        if (!ct_is_constant(loop->operands[i], &bounds[i]))
            return false;
    return bounds[0] >= 0 && bounds[0] < bounds[1];
}

/* Registers of a thread, if the value has no replicas. Bytes stay in the words that they are loaded in. */
static uint64_t registers_of(const cg_func *c, const ct_value *v)
{
    if (!bc_is_tile(v->type) || !v->type->rank)
        return 0;
    const bool packed = bc_kind_bits(bc_elem_kind(v->type)) == 8;
    uint64_t bits = (uint64_t)(packed ? 8 : cg_class_bits(cg_elem_class(v->type))) << cg_shape_of(v->type).tile_bits,
             unit = 32ull * cg_threads(c);
    return (bits + unit - 1) / unit;
}

static bool is_small(const cg_func *c, const ct_op *op)
{
    uint64_t registers = 0;
    for (uint32_t i = 0; i < op->result_count; i++)
        registers += registers_of(c, &op->results[i]);
    return registers <= CG_HELD_REGISTERS / 2;
}

/* Does the value take no registers in the loop, because it depends on indices and scalars alone? The layouts pass
   recomputes such tiles, as the pointers and the mask of a row, where they are read. */
static bool is_made_anew(const ct_value *v, uint32_t depth)
{
    const bc_op_classes pure = BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(RESHAPE)
                               | BC_OPS(MOVE);
    const ct_op *op = v->op;
    bool is_anew = !v->type->rank || (depth && op && op->opcode < OP_LIMIT && bc_op_in(op->opcode, pure));
    for (uint32_t i = 0; is_anew && v->type->rank && i < op->operand_count; i++)
        is_anew = is_made_anew(op->operands[i], depth - 1);
    return is_anew;
}

/* Can the load be left out if the loop is not executed? */
static bool can_be_guarded(const ct_op *load)
{
    return load->opcode == OP_load_ptr_tko && ct_operand(load, F_load_ptr_tko_mask);
}

/* Can the op be executed in front of the loop, if its operands are there? */
static bool may_leave(const cg_func *c, const ct_block *body, const ct_op *op)
{
    const bc_op_classes pure = BC_OPS(GIVEN) | BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(RESHAPE)
                               | BC_OPS(MOVE) | BC_OPS(VIEW);
    const bool runs = is_run(body->parent);
    if (ct_is_load(op))
        return cg_is_weak_access(op) && (runs || can_be_guarded(op)) && !cg_order_holds_back(c, body, op);
    return ct_is_pure(op) && op->opcode < OP_LIMIT && bc_op_in(op->opcode, pure) && (runs || is_safe(op));
}

/* Can the op leave the loop? Its operands must be computed outside the loop or be able to leave it, too. */
static bool can_leave(const cg_func *c, const ct_block *body, const ct_op *op, uint32_t depth)
{
    bool can = depth && op->block == body && (is_small(c, op) || is_made_anew(&op->results[0], depth))
               && may_leave(c, body, op);
    for (uint32_t i = 0; can && i < op->operand_count; i++) {
        const ct_value *v = op->operands[i];
        can = !ct_is_inside(v->block, body) || (v->op && can_leave(c, body, v->op, depth - 1));
    }
    return can;
}

/* Lets the load access memory only if the loop is executed. */
static void guard(cg_func *c, ct_op *load, ct_op *loop)
{
    ct_builder b = {.f = c->ir, .place = load};
    ct_value *mask = ct_operand(load, F_load_ptr_tko_mask),
             *run = ct_build_less(&b, loop->operands[0], loop->operands[1], !ct_attr_u(loop, F_for_unsigned_cmp)),
             *both = ct_build_two(&b, OP_andi, mask, ct_build_spread(&b, run, mask->type));
    if (both)
        ct_set_operand(load, ct_operand_range(load, F_load_ptr_tko_mask).first, both);
}

/* Moves the op, and the ops of the body that compute its operands, in front of the loop. */
static void leave(cg_func *c, const ct_block *body, ct_op *op, ct_op *loop)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (ct_is_inside(op->operands[i]->block, body))
            leave(c, body, op->operands[i]->op, loop);
    if (ct_is_load(op))
        cg_remark(c, op, CG_REMARK_LoadAhead, TV_REMARK_PASSED,
                  "loaded ahead: once in front of the loop, in which it does not change");
    ct_move_before(op, loop);
    if (can_be_guarded(op) && !is_run(loop))
        guard(c, op, loop);
}

/* Is it an element-wise op on rows? */
static bool is_row_map(const ct_op *op)
{
    return op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(MAP) | BC_OPS(CAST) | BC_OPS(RESHAPE))
           && bc_is_tile(op->results[0].type) && op->results[0].type->rank
           && bc_kind_in(bc_elem_kind(op->results[0].type), BC_SET_FLOAT);
}

/* Does the op leave the loop? leaves: by value id. */
static bool does_leave(const ct_op *op, const bool *leaves)
{
    return op->result_count && leaves[op->results[0].id];
}

/* Are all operands of the op outside the loop, or results of ops that leave it? */
static bool follows(const ct_op *op, const ct_block *body, const bool *leaves)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (ct_is_inside(op->operands[i]->block, body) && !leaves[op->operands[i]->id])
            return false;
    return true;
}

/* Is the op one whose result takes registers in the loop if all ops leave that can? */
static bool is_held(const ct_op *op, const ct_block *body, const bool *leaves)
{
    bool held = false;
    if (!does_leave(op, leaves) || !(ct_is_load(op) || is_row_map(op)))
        return false;
    for (const ct_use *use = op->results[0].uses; use && !held; use = use->next)
        held = use->op->block != body || !does_leave(use->op, leaves);
    return held;
}

/* Moves all that does not change in the loop in front of it if the results that are read there take few registers,
   whatever they are computed from. False: they take more, or there are none. */
static bool hoist_results(cg_func *c, ct_op *loop)
{
    ct_block *body = loop->regions[0];
    bool *leaves = bc_new(&c->arena, bool, c->ir->value_count + 1u);
    uint64_t registers = 0;
    if (!leaves)
        return false;
    for (const ct_op *op = body->first; op; op = op->next)
        for (uint32_t i = 0; i < op->result_count; i++)
            leaves[op->results[i].id] = may_leave(c, body, op) && follows(op, body, leaves);
    for (const ct_op *op = body->first; op; op = op->next)
        registers += is_held(op, body, leaves) ? registers_of(c, &op->results[0]) : 0;
    if (!registers || registers > CG_HELD_REGISTERS)
        return false;
    for (ct_op *op = body->first, *next; op; op = next) {
        next = op->next;
        if (is_held(op, body, leaves))
            leave(c, body, op, loop);
    }
    return true;
}

static void hoist_rows(cg_func *c, ct_op *loop, bool of_map)
{
    ct_block *body = loop->regions[0];
    uint64_t loaded = 0;
    if (!is_plain(loop) || !(is_run(loop) || (of_map && cg_choices_of(c)->rows != CG_NEVER)))
        return;
    if (of_map && hoist_results(c, loop))
        return;
    for (ct_op *op = body->first, *next; op; op = next) {
        next = op->next;
        bool is_load = ct_is_load(op);
        uint64_t registers = is_load ? registers_of(c, &op->results[0]) : 0;
        if ((is_load || is_row_map(op)) && is_small(c, op) && loaded + registers <= CG_HELD_REGISTERS
            && can_leave(c, body, op, CG_ROW_DEPTH)) {
            leave(c, body, op, loop);
            loaded += registers;
        }
    }
}

/* ---- the pass ---- */

void cg_hoist_from_loop(ct_op *loop)
{
    hoist_from(loop->regions[0], loop);
}

/* Inner loops come first: an op that leaves one may leave the enclosing loop as well. */
static void hoist_all(cg_func *c, ct_block *block, bool of_map)
{
    for (ct_op *op = block->first; op; op = op->next) {
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                hoist_all(c, op->regions[r], of_map);
        if (ct_is_loop(op)) {
            cg_hoist_from_loop(op);
            hoist_rows(c, op, of_map);
        }
    }
}

void cg_pass_hoist(cg_func *c)
{
    hoist_all(c, c->ir->body, cg_is_map(c));
}
