/* The layouts pass; see assign.h. Maps take the layout of the operand whose home weighs most; what is cheap to make
   (constants, iotas, broadcasts, index arithmetic) has no home and is made in every layout that is wanted; anchors
   (memory ops, mma, reductions) choose their own, in the hooks beside their lowering. */
#include "codegen/assign.h"

#include "codegen/mma.h"

void cg_set_home(cg_func *c, const ct_value *v, const cg_layout *l, uint32_t weight)
{
    cg_value *x = cg_value_of(c, v);
    x->form = CG_TILE;
    x->home = *l;
    x->weight = (uint8_t)weight;
    x->copies = NULL;
    cg_want(c, v, l);
}

void cg_set_scalars(cg_func *c, const ct_op *op)
{
    cg_layout scalar = cg_layout_scalar(c->warp_bits);
    for (uint32_t i = 0; i < op->result_count; i++)
        cg_set_home(c, cg_result(op, i), &scalar, 0);
}

static void set_lazy(cg_func *c, const ct_value *v)
{
    cg_value *x = cg_value_of(c, v);
    *x = (cg_value){.form = CG_LAZY};
}

bool cg_wish(cg_func *c, const ct_value *v, cg_layout *out_layout, uint32_t *out_weight)
{
    const cg_value *x = cg_value_of(c, v);
    if (!x->weight)
        return false;
    *out_layout = x->home;
    *out_weight = x->weight;
    return true;
}

cg_layout cg_default_layout(cg_func *c, const bc_type *tile)
{
    cg_shape s = cg_shape_of(tile);
    uint32_t bytes = cg_class_bits(cg_elem_class(tile)) / 8, vector = bytes == 2 ? 3 : bytes == 8 ? 1 : 2;
    return cg_layout_blocked(&s, s.rank ? s.rank - 1 : 0, vector, c->warp_bits);
}

/* ---- lazy values ---- */

void cg_want_through(cg_func *c, const ct_value *v, const cg_layout *l)
{
    const ct_op *op = v->op;
    ct_value **operands = ct_operands(op);
    cg_layout from = *l;
    switch ((int)op->opcode) {
    case OP_constant:
    case OP_iota: break;
    case OP_broadcast: {
        cg_shape source = cg_shape_of(operands[0]->type), result = cg_shape_of(v->type);
        from = cg_layout_unbroadcast(l, &source, &result);
        from = cg_layout_drop_replicas(&from, NULL);
        cg_want(c, operands[0], &from);
        break;
    }
    case OP_permute: {
        cg_shape source = cg_shape_of(operands[0]->type), result = cg_shape_of(v->type);
        from = cg_layout_unpermute(l, &source, &result, ct_attr_of(op, F_permute_permutation)->ints->ptr);
        cg_want(c, operands[0], &from);
        break;
    }
    default: /* reshape and maps: the same index */
        for (uint32_t i = 0; i < op->operand_count; i++)
            cg_want(c, operands[i], &from);
        break;
    }
}

void cg_pass_wish(cg_func *c, const ct_op *op)
{
    const ct_value *from = ct_operands(op)[0], *v = cg_result(op, 0);
    cg_value *x = cg_value_of(c, v);
    uint32_t weight = 0;
    set_lazy(c, v);
    if (!cg_wish(c, from, &x->home, &weight))
        return;
    if (op->opcode == OP_permute) {
        cg_shape source = cg_shape_of(from->type), result = cg_shape_of(v->type);
        x->home = cg_layout_permute(&x->home, &source, &result, ct_attr_of(op, F_permute_permutation)->ints->ptr);
    }
    x->weight = (uint8_t)weight;
}

/* ---- maps ---- */

/* The layout of a product that v is the accumulator of, also by way of loops that v starts; false: none was found. */
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

/* Where nothing else decides. */
static cg_layout layout_for_users(cg_func *c, const ct_value *v, uint32_t *out_weight)
{
    enum { MOST_LOOPS = 4 };
    cg_layout l;
    bool found = accumulator_wish(c, v, MOST_LOOPS, &l);
    *out_weight = found ? CG_WEIGHT_MMA : CG_WEIGHT_DEFAULT;
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
    bool lazy = true;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        lazy = lazy && cg_value_of(c, operands[i])->form == CG_LAZY;
        if (cg_wish(c, operands[i], &layout, &weight) && weight > best_weight) {
            best = layout;
            best_weight = weight;
        }
    }
    if (lazy && (c->remakes || ct_info(op)->traits & BC_CHEAP)) {
        set_lazy(c, v);
        if (best_weight) {
            cg_value_of(c, v)->home = best;
            cg_value_of(c, v)->weight = (uint8_t)best_weight;
        }
        return;
    }
    if (!best_weight)
        best = layout_for_users(c, v, &best_weight);
    cg_set_home(c, v, &best, best_weight);
    for (uint32_t i = 0; i < op->operand_count; i++)
        cg_want(c, operands[i], &best);
}

/* ---- the walk ---- */

static cg_hook *const hooks[CT_LIMIT] = {
#define HOOK(name) [OP_##name] = cg_assign_##name,
#include "codegen/hooks.def"
#define TOP(name, ring, operands, more, results, text) [CT_##name] = cg_assign_##name,
#include "codegen/tile/ops.def"
};

/* The operand's elements: no register is moved, except into a scalar. */
static void assign_seen(cg_func *c, const ct_op *op)
{
    const ct_value *v = cg_result(op, 0);
    if (op->opcode == OP_broadcast)
        set_lazy(c, v);
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
    if (bc_op_in(op->opcode, BC_OPS(GIVEN)) && cg_result(op, 0)->type->rank)
        set_lazy(c, cg_result(op, 0));
    else if (cg_is_map(op->opcode))
        assign_map(c, op);
    else if (bc_op_in(op->opcode, BC_OPS(RESHAPE) | BC_OPS(MOVE)))
        assign_seen(c, op);
    else
        hooks[op->opcode](c, op);
}

void cg_assign_block(cg_func *c, const ct_block *block)
{
    for (const ct_op *op = block->first; op && !c->failed; op = op->next)
        assign_op(c, op);
}
