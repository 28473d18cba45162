/* The simplify pass replaces the uses of an op whose result is a constant, or equals one of its operands, by that
   constant or operand, and removes ops that have no effect and no use. CUDA Tile C++ computes the sizes and strides of
   a view from constants, again wherever the view is used; later passes see only the result.

       %33 = exti (cmpi equal 1, 0)     0
       %34 = muli %33, %n               0             make_tensor_view shape = [%39]
       %38 = muli 1, %k                 %k        ->  make_tensor_view shape = [%k]
       %39 = addi %34, %38              %k

   Integer results are computed as the op defines them, in the width and signedness of their type
   (codegen/facts/evaluate.c); floats are left alone. Identities such as `x + 0`, `x * 1`, `max` of ranges that do not
   overlap, and a conversion and its inverse become their operand. `fpowi` by 2 or 3 becomes one or two products.
   Unreachable storage is removed too.

   A weak load whose tile is never read is removed. Why it is right: it changes neither memory nor a value, and what its
   token orders, its operand token orders as well.

   The pass runs first, since all others examine ops. It computes facts as it goes, so that the facts of an op's
   operands are up to date when it visits the op. */
#include "codegen/passes/simplify.h"

#include "codegen/analysis/order.h"
#include "codegen/facts/facts.h"
#include "codegen/plan/budget.h"
#include "codegen/passes/pass.h"

/* ---- ops that give an operand ---- */

static bool is_constant(const ct_value *v, int64_t value)
{
    return v->fact->constant && v->fact->value == value;
}

/* The operand, if both operands are the same. */
static ct_value *twin(const ct_op *op)
{
    return op->operands[0] == op->operands[1] ? op->operands[0] : NULL;
}

/* The operand that the op leaves unchanged: a if b is `idle`, or, with `either`, b if a is. */
static ct_value *beside(const ct_op *op, int64_t idle, bool either)
{
    ct_value *a = op->operands[0], *b = op->operands[1];
    return is_constant(b, idle) ? a : either && is_constant(a, idle) ? b : NULL;
}

/* The larger or smaller operand, if the ranges do not overlap. is_signed: or if both ways to read the bits agree. */
static ct_value *chosen(const ct_op *op, uint64_t signedness, bool larger)
{
    ct_value *a = op->operands[0], *b = op->operands[1];
    cg_range x = cg_range_of(a), y = cg_range_of(b);
    if (a == b)
        return a;
    if (signedness != BC_Signedness_signed && (x.low < 0 || y.low < 0))
        return NULL;
    return x.low >= y.high ? (larger ? a : b) : y.low >= x.high ? (larger ? b : a) : NULL;
}

/* The operand of the op that this op reverses. */
static ct_value *undone(const ct_op *op, bc_opcode done)
{
    const ct_op *before = op->operands[0]->op;
    return before && before->opcode == (uint8_t)done ? before->operands[0] : NULL;
}

/* x != 0 of an extended i1 is that i1. */
static ct_value *narrowed(const ct_op *op)
{
    bool asks = ct_attr_u(op, F_cmpi_comparison_predicate) == BC_ComparisonPredicate_not_equal;
    return asks && is_constant(op->operands[1], 0) ? undone(op, OP_exti) : NULL;
}

/* x & (2^n - 1) is x, if x has no other bits. */
static ct_value *masked(const ct_op *op)
{
    for (uint32_t i = 0; i < 2; i++) {
        const cg_fact *mask = op->operands[i]->fact;
        cg_range x = cg_range_of(op->operands[1 - i]);
        if (mask->constant && mask->value >= 0 && !(mask->value & (mask->value + 1)) && x.low >= 0
            && x.high <= mask->value)
            return op->operands[1 - i];
    }
    ct_value *idle = beside(op, -1, true);
    return idle ? idle : twin(op);
}

static ct_value *selected(const ct_op *op)
{
    const cg_fact *which = op->operands[0]->fact;
    if (op->operands[1] == op->operands[2])
        return op->operands[1];
    return which->constant ? op->operands[which->value ? 1 : 2] : NULL;
}

/* The value that equals the result, whatever its type. NULL: there is none. */
static ct_value *operand_given(const ct_op *op)
{
    switch ((int)op->opcode) {
    case OP_ori: return twin(op) ? twin(op) : beside(op, 0, true);
    case OP_addi:
    case OP_xori: return beside(op, 0, true);
    case OP_subi:
    case OP_shli:
    case OP_shri:
    case OP_offset: return beside(op, 0, false);
    case OP_muli: return beside(op, 1, true);
    case OP_divi: return beside(op, 1, false);
    case OP_andi: return masked(op);
    case OP_maxi: return chosen(op, ct_attr_u(op, F_maxi_signedness), true);
    case OP_mini: return chosen(op, ct_attr_u(op, F_mini_signedness), false);
    case OP_cmpi: return narrowed(op);
    case OP_select: return selected(op);
    case OP_trunci: return undone(op, OP_exti);
    case OP_int_to_ptr: return undone(op, OP_ptr_to_int);
    case OP_ptr_to_int: return undone(op, OP_int_to_ptr);
    case OP_ptr_to_ptr:
        return op->operands[0]->type == op->results[0].type ? op->operands[0] : undone(op, OP_ptr_to_ptr);
    case OP_reshape:
    case OP_broadcast: return op->operands[0];
    default: return NULL;
    }
}

/* ---- constants ---- */

static bool give_fact(cg_func *c, ct_op *op)
{
    op->results[0].fact = bc_new(c->ir->arena, cg_fact, 1);
    if (op->results[0].fact)
        cg_learn(op, c->ir->arena);
    return op->results[0].fact;
}

/* Puts a constant for result i in front of the op. NULL: out of memory. */
static ct_value *constant_for(cg_func *c, ct_op *op, uint32_t i)
{
    ct_op *made = ct_constant_new(c->ir, op, op->results[i].type, op->results[i].fact->value);
    if (!made)
        return NULL;
    ct_insert_before(made, op);
    return give_fact(c, made) ? &made->results[0] : NULL;
}

/* ---- powers ---- */

static ct_value *put_product(cg_func *c, ct_op *place, ct_value *a, ct_value *b)
{
    ct_op *op = ct_made_new(c->ir, OP_mulf, place, place->results[0].type, (ct_value *const[]){a, b}, 2);
    if (!op || !give_fact(c, op)) {
        cg_no_memory(c);
        return NULL;
    }
    bc_attr_of(op->from, F_mulf_rounding_mode)->u = BC_RoundingMode_nearest_even;
    ct_insert_before(op, place);
    return &op->results[0];
}

/* Squares and cubes become products. A square is the power itself rounded once; a cube of f32 or f64 is within 1.5
   units of it (docs/reference/numerics.md). NULL: the exponent is another one, or not known. */
static ct_value *power_of(cg_func *c, ct_op *op)
{
    bc_kind kind = bc_elem_kind(op->results[0].type);
    ct_value *x = op->operands[0];
    bool cube = is_constant(op->operands[1], 3) && (kind == BC_F32 || kind == BC_F64);
    if (!cube && !is_constant(op->operands[1], 2))
        return NULL;
    ct_value *square = put_product(c, op, x, x);
    return square && cube ? put_product(c, op, square, x) : square;
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
    for (uint32_t i = 0; i < op->result_count; i++) {
        if (!op->results[i].uses)
            continue;
        bool known = is_known(op, i);
        ct_value *v = known                    ? constant_for(c, op, i)
                      : op->opcode == OP_fpowi ? power_of(c, op)
                      : i == 0                 ? operand_given(op)
                                               : NULL;
        if (known && !v)
            cg_no_memory(c);
        else if (v && v->type == op->results[i].type)
            ct_replace_uses(&op->results[i], v);
    }
}

static bool is_idle(const ct_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (op->results[i].uses)
            return false;
    return ct_is_pure(op) || op->opcode == OP_alloca;
}

void cg_drop_access(cg_func *c, ct_op *op, ct_value *token)
{
    ct_value *result = &op->results[op->result_count - 1];
    if (!token && result->uses) {
        ct_op *made = ct_token_new(c->ir, op, result->type);
        if (!made) {
            cg_no_memory(c);
            return;
        }
        ct_insert_before(made, op);
        token = &made->results[0];
    }
    if (result->uses)
        ct_replace_uses(result, token);
    ct_remove(op);
}

/* Removes a weak load whose tile nobody reads. */
static void drop_unread(cg_func *c, ct_op *op)
{
    bool by_view = op->opcode == OP_load_view_tko;
    if ((by_view || op->opcode == OP_load_ptr_tko) && cg_is_weak_access(op) && !op->results[0].uses)
        cg_drop_access(c, op, ct_operand(op, by_view ? F_load_view_tko_token : F_load_ptr_tko_token));
}

/* Visits the last op first, so that uses are removed before the values that they use. */
static void sweep(cg_func *c, ct_block *block)
{
    for (ct_op *op = block->last, *before; op && !c->failed; op = before) {
        before = op->prev;
        for (uint32_t r = 0; r < op->region_count; r++)
            if (op->regions[r])
                sweep(c, op->regions[r]);
        if (is_idle(op))
            ct_remove(op);
        else
            drop_unread(c, op);
    }
}

void cg_simplify(cg_func *c)
{
    ct_block *body = c->ir->body;
    if (!cg_begin_facts(c->ir)) {
        cg_no_memory(c);
        return;
    }
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
