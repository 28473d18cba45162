/* The simplify pass replaces the uses of an op whose result is a constant, or equals one of its operands, by that
   constant or operand, and removes ops that have no effect and no use. CUDA Tile C++ computes the sizes and strides of
   a view from constants, again wherever the view is used; later passes see only the result.

       %33 = exti (cmpi equal 1, 0)     0
       %34 = muli %33, %n               0             make_tensor_view shape = [%39]
       %38 = muli 1, %k                 %k        ->  make_tensor_view shape = [%k]
       %39 = addi %34, %38              %k

   Integer results are computed as the op defines them, in the width and signedness of their type
   (codegen/facts/evaluate.c); floats are left alone. Identities such as `x + 0`, `x * 1`, `max` of ranges that do not
   overlap, a remainder of what is less than the divisor, a conversion and its inverse, `x + y - x` and
   `max(x, min(x, y))` become what they equal (codegen/facts/given.c): a tile whose elements cancel need not be loaded,
   and columns modulo the length of a row follow each other. `fpowi` by 2 or 3 becomes one or two products. A select
   takes from selects with the same condition in its arms what they give there (codegen/rewrite/arms.c; one map in 30
   of the zoo, 0.98 to 1.30 times as fast on an H200, 1.02 in the geometric mean of 27). A power of two gives 0 instead
   of a subnormal number where the program rounds it to f16 or f8 and only a softmax adds it up, which saves three of
   four instructions (codegen/analysis/underflow.c; 26 chains of three seeds 0.99 to 1.20 times as fast on an H200, 1.04
   in the geometric mean). Unreachable storage is removed too, and so are reductions and scans whose results are never
   read: ptxas would keep their shuffles and barriers.

   A weak load whose tile is never read is removed. Why it is right: it changes neither memory nor a value, and what its
   token orders, its operand token orders as well.

   The pass runs first, since all others examine ops. It computes facts as it goes, so that the facts of an op's
   operands are up to date when it visits the op. */
#include "codegen/passes/simplify.h"

#include "codegen/analysis/order.h"
#include "codegen/analysis/underflow.h"
#include "codegen/facts/facts.h"
#include "codegen/passes/pass.h"
#include "codegen/plan/budget.h"
#include "codegen/rewrite/arms.h"
#include "codegen/tile/tokens.h"

/* ---- constants ---- */

static bool give_fact(cg_func *c, ct_op *op)
{
    op->results[0].fact = bc_new(c->ir->arena, cg_fact, 1);
    if (op->results[0].fact)
        cg_learn(op, c->ir->arena);
    return op->results[0].fact;
}

/* Puts a new op in front of `place`. NULL: out of memory. */
static ct_value *put(cg_func *c, ct_op *made, ct_op *place)
{
    if (!made || !give_fact(c, made))
        return NULL;
    ct_insert_before(made, place);
    return &made->results[0];
}

/* ---- powers ---- */

static ct_value *put_product(cg_func *c, ct_op *place, ct_value *a, ct_value *b)
{
    ct_op *op = ct_made_new(c->ir, OP_mulf, place, place->results[0].type, (ct_value *const[]){a, b}, 2);
    if (op)
        bc_attr_of(op->from, F_mulf_rounding_mode)->u = BC_RoundingMode_nearest_even;
    return put(c, op, place);
}

/* Squares and cubes become products. A square is the power itself rounded once; a cube of f32 or f64 is within 1.5
   units of it (docs/reference/numerics.md). NULL: the exponent is another one, or not known. */
static ct_value *power_of(cg_func *c, ct_op *op)
{
    bc_kind kind = bc_elem_kind(op->results[0].type);
    ct_value *x = op->operands[0];
    bool cube = cg_is_number(op->operands[1], 3) && (kind == BC_F32 || kind == BC_F64);
    if (!cube && !cg_is_number(op->operands[1], 2))
        return NULL;
    ct_value *square = put_product(c, op, x, x);
    return square && cube ? put_product(c, op, square, x) : square;
}

/* The same power of two with 0 for subnormal results. NULL: some of these may be read. */
static ct_value *flushed(cg_func *c, ct_op *op)
{
    if (!cg_may_underflow(op))
        return NULL;
    ct_op *made = ct_made_new(c->ir, OP_exp2, op, op->results[0].type, op->operands, 1);
    if (made)
        bc_attr_of(made->from, F_exp2_flush_to_zero)->u = 1;
    return put(c, made, op);
}

static bool is_known(const ct_op *op, uint32_t i)
{
    const ct_value *v = &op->results[i];
    return op->opcode != OP_constant && v->fact->constant && bc_kind_in(bc_elem_kind(v->type), BC_SET_INT);
}

/* ---- the walk ---- */

static void simplify(cg_func *c, ct_op *op)
{
    if (!ct_is_pure(op))
        return;
    if (op->opcode == OP_select)
        cg_take_arms(op);
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (!op->results[i].uses)
            continue;
        const ct_value *r = &op->results[i];
        ct_value *v = is_known(op, i)          ? put(c, ct_constant_new(c->ir, op, r->type, r->fact->value), op)
                      : op->opcode == OP_fpowi ? power_of(c, op)
                      : op->opcode == OP_exp2  ? flushed(c, op)
                      : i == 0                 ? cg_operand_given(op)
                                               : NULL;
        if (v && v->type == op->results[i].type)
            ct_replace_uses(&op->results[i], v);
    }
}

/* Does nobody read its results, and does it nothing else? The body of a reduction or scan has no effects (V-AGG-11). */
static bool is_idle(const ct_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (op->results[i].uses)
            return false;
    return ct_is_pure(op) || op->opcode == OP_alloca || (op->opcode < OP_LIMIT && bc_op_in(op->opcode, BC_OPS(FOLD)));
}

/* Is it a weak load whose tile nobody reads? */
static bool is_unread(const ct_op *op)
{
    return ct_is_load(op) && cg_is_weak_access(op) && !op->results[0].uses;
}

/* Visits the last op first, so that uses are removed before the values that they use. */
static void sweep(cg_func *c, ct_block *block)
{
    for (ct_op *op = block->last, *before; op && !c->failed; op = before) {
        before = op->prev;
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                sweep(c, op->regions[r]);
        if (is_idle(op) || (is_unread(op) && ct_pass_token_on(c->ir, op)))
            ct_remove(op);
    }
}

void cg_simplify(cg_func *c)
{
    ct_block *body = c->ir->body;
    if (!cg_begin_facts(c->ir))
        return;
    for (ct_op *op = body->first; op && !c->failed; op = ct_next_op(op, body)) {
        cg_learn(op, c->ir->arena);
        simplify(c, op);
    }
    if (!c->failed)
        sweep(c, body);
}

void cg_pass_simplify(cg_func *c)
{
    cg_simplify(c);
    if (!c->failed)
        cg_set_warps(c); /* removed tiles need no registers */
}
