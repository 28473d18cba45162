/* The layouts pass assigns each tile a layout, and records which layout each use prefers; codegen/values/homes.h
   describes both. Element-wise ops take the layout of their most expensive operand. Values that are cheap to compute
   (constants, iotas, broadcasts, index arithmetic) are assigned none and are computed in every layout that is needed.
   Anchors (memory ops, products, reductions) choose their own, in the hooks beside their lowering.

   The pass visits the ops twice. The first walk determines the layouts of values that loops carry, and in which layouts
   tiles are read. From that follows which loads and maps have another layout in the second walk (codegen/plan/homes.c).
   Maps of rows that all threads compute are known after the last walk, and need one more.

   The operand that an op reads in a given layout is recorded at its use (`ct_use.read`).

   Why it is right: no access moves. Where several warps load the same elements, the loads are weak, so that no thread
   may store to these between them. */
#include <string.h>

#include "codegen/analysis/product.h"
#include "codegen/kernel/limits.h"
#include "codegen/ops/hooks.h"
#include "codegen/passes/pass.h"
#include "codegen/plan/homes.h"
#include "codegen/values/homes.h"
#include "codegen/values/values.h"

/* ---- maps ---- */

/* The layout of a product whose accumulator is v, also through loops that v initialises. False: none was found. */
static bool accumulator_wish(cg_func *c, const ct_value *v, uint32_t depth, cg_layout *out)
{
    for (const ct_use *use = v->uses; use && depth; use = use->next) {
        const ct_op *op = use->op;
        uint32_t first = ct_is_loop(op) ? ct_first_carried(op) : 0;
        if (use->index == 2 && cg_mma_accumulator_layout(c, op, out))
            return true;
        if (ct_is_loop(op) && use->index >= first
            && accumulator_wish(c, &op->regions[0]->args[use->index - first + (op->opcode == OP_for)], depth - 1, out))
            return true;
    }
    return false;
}

/* The layout if nothing else determines it. */
static cg_layout layout_for_users(cg_func *c, const ct_value *v, uint32_t *out_weight)
{
    cg_layout l;
    bool found = accumulator_wish(c, v, CG_WISH_LOOPS, &l);
    *out_weight = found ? CG_WEIGHT_MMA : CG_WEIGHT_FREE;
    return found ? l : cg_default_layout(c, v->type);
}

static void assign_map(cg_func *c, const ct_op *op)
{
    const ct_value *v = cg_result(op, 0);
    ct_value **operands = ct_operands(op);
    if (v->type->rank == 0) {
        cg_layout scalar = cg_layout_scalar(c->warp_bits);
        cg_set_home(c, v, &scalar, 0);
        return;
    }
    cg_layout best, layout;
    uint32_t best_weight = 0, weight;
    bool lazy = true, made = true;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        lazy = lazy && cg_value_of(c, operands[i])->form == CG_LAZY;
        made = made && operands[i]->op && (ct_is_map(operands[i]->op) || cg_value_of(c, operands[i])->form == CG_LAZY);
        if (cg_wish(c, operands[i], &layout, &weight) && weight > best_weight) {
            best = layout;
            best_weight = weight;
        }
    }
    if (lazy && (c->homes->remakes || ct_info(op)->traits & BC_CHEAP)) {
        cg_set_lazy(c, v);
        if (best_weight) {
            cg_value_of(c, v)->home = cg_intern(c, &best);
            cg_value_of(c, v)->weight = (uint8_t)best_weight;
        }
        return;
    }
    const cg_layout *decided = c->homes->decided[v->id];
    if (decided)
        best = *decided;
    else if (!best_weight)
        best = layout_for_users(c, v, &best_weight);
    if (best_weight == CG_WEIGHT_FREE && !made)
        best_weight = CG_WEIGHT_DEFAULT;
    cg_set_home(c, v, &best, best_weight);
    for (uint32_t i = 0; i < op->operand_count; i++)
        cg_want(c, operands[i], &best);
}

/* ---- the walk ---- */

static cg_hook *const hooks[CT_LIMIT] = {
#define HOOK(name) [OP_##name] = cg_assign_##name,
#include "codegen/ops/hooks.def"
#define TOP(name, ring, operands, more, results, text) [CT_##name] = cg_assign_##name,
#include "codegen/tile/ops.def"
};

/* The result has the operand's elements: no register is moved, except for a scalar. */
static void assign_seen(cg_func *c, const ct_op *op)
{
    const ct_value *v = cg_result(op, 0);
    if (op->opcode == OP_broadcast)
        cg_set_lazy(c, v);
    else
        cg_pass_wish(c, op);
    if (v->type->rank == 0) { /* a reshape to a scalar */
        cg_layout scalar = cg_layout_scalar(c->warp_bits);
        cg_want(c, ct_operands(op)[0], &scalar);
        cg_want(c, v, &scalar);
    }
}

static void assign_op(cg_func *c, const ct_op *op)
{
    c->homes->reader = op;
    if (bc_op_in(op->opcode, BC_OPS(GIVEN)) && cg_result(op, 0)->type->rank)
        cg_set_lazy(c, cg_result(op, 0));
    else if (ct_is_map(op))
        assign_map(c, op);
    else if (bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE)))
        assign_seen(c, op);
    else
        hooks[op->opcode](c, op);
}

void cg_pass_layouts(cg_func *c)
{
    cg_raise_operands(c);
    const ct_block *body = c->ir->body;
    size_t size = c->ir->value_count * sizeof *c->values;
    c->values = bc_new(&c->arena, cg_value, c->ir->value_count + 1u);
    cg_homes homes = {.visit = assign_op, .decided = bc_new(&c->arena, const cg_layout *, c->ir->value_count + 1u)};
    if (!c->values || !homes.decided)
        return;
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    c->homes = &homes;
    bool rows = false;
    for (homes.deciding = true;; homes.deciding = false) {
        memset(c->values, 0, size);
        for (uint32_t i = 0; i < body->arg_count; i++)
            cg_set_home(c, &body->args[i], &scalar, 0);
        cg_assign_block(c, body);
        if (c->failed || (!homes.deciding && (rows || !cg_decide_row_maps(c))))
            break;
        rows = !homes.deciding;
        if (!rows)
            cg_decide_homes(c);
    }
    c->homes = NULL;
}
