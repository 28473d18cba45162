/* Finds the value that the result of an op equals: one of its operands, or an operand of the ops from which they come.
   Sums and extremes are of integers: those of floats are rounded, or skip NaN, but for the extreme of a number and
   itself. */
#include "bytecode/base/compiler.h"
#include "codegen/facts/facts.h"

bool cg_is_number(const ct_value *v, int64_t value)
{
    return v->fact->constant && v->fact->value == value;
}

/* The operand, if both operands are the same. */
static ct_value *twin(const ct_op *op)
{
    return op->operands[0] == op->operands[1] ? op->operands[0] : NULL;
}

/* The same of floats, unless the op makes zeros of small numbers. A NaN remains one. */
static ct_value *float_twin(const ct_op *op, int flush_row)
{
    return ct_attr_u(op, flush_row) ? NULL : twin(op);
}

/* The operand that the op leaves unchanged: a if b is `idle`, or, with `either`, b if a is. */
static ct_value *beside(const ct_op *op, int64_t idle, bool either)
{
    ct_value *a = op->operands[0], *b = op->operands[1];
    return cg_is_number(b, idle) ? a : either && cg_is_number(a, idle) ? b : NULL;
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
    return asks && cg_is_number(op->operands[1], 0) ? undone(op, OP_exti) : NULL;
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

/* x % y is x, if 0 <= x < y. */
static ct_value *below(const ct_op *op)
{
    cg_range x = cg_range_of(op->operands[0]), y = cg_range_of(op->operands[1]);
    return x.low >= 0 && x.high < y.low ? op->operands[0] : NULL;
}

static ct_value *selected(const ct_op *op)
{
    const cg_fact *which = op->operands[0]->fact;
    if (op->operands[1] == op->operands[2])
        return op->operands[1];
    return which->constant ? op->operands[which->value ? 1 : 2] : NULL;
}

/* ---- pairs of ops ---- */

static bool has_operand(const ct_op *op, const ct_value *v)
{
    return op->operands[0] == v || op->operands[1] == v;
}

static uint64_t sign_of(const ct_op *op)
{
    return op->opcode == OP_maxi   ? ct_attr_u(op, F_maxi_signedness)
           : op->opcode == OP_mini ? ct_attr_u(op, F_mini_signedness)
                                   : 0;
}

/* Of a lattice: max(x, min(x, y)) is x, and max(x, max(x, y)) the inner one; in the same way for min, and, or. */
static ct_value *absorbed(const ct_op *op, bc_opcode dual)
{
    for (uint32_t i = 0; i < 2; i++) {
        ct_value *x = op->operands[1 - i], *other = op->operands[i];
        const ct_op *inner = other->op;
        bool pairs = inner && (inner->opcode == op->opcode || inner->opcode == (uint8_t)dual) && has_operand(inner, x);
        if (pairs && sign_of(inner) == sign_of(op))
            return inner->opcode == op->opcode ? other : x;
    }
    return NULL;
}

static ct_value *lattice(const ct_op *op, bc_opcode dual, ct_value *otherwise)
{
    ct_value *v = absorbed(op, dual);
    return v ? v : otherwise;
}

/* What is left of a sum or an exclusive or. */
typedef struct remainder {
    ct_value *terms[8];
    int32_t factors[8];
    uint32_t count;
    bool fits;
} remainder;

static void add_term(remainder *r, ct_value *v, int32_t factor)
{
    uint32_t i = 0;
    while (i < r->count && r->terms[i] != v)
        i++;
    if (i == r->count && r->count == TV_COUNT(r->terms)) {
        r->fits = false;
        return;
    }
    r->terms[i] = v;
    r->factors[i] = i < r->count ? r->factors[i] + factor : factor;
    r->count += i == r->count;
}

/* Adds the operands of the op, and of the ops of the same kind from which they come. */
static void add_terms(remainder *r, const ct_op *op, int32_t factor, uint32_t depth)
{
    bool exclusive = op->opcode == OP_xori;
    for (uint32_t i = 0; i < 2; i++) {
        ct_value *v = op->operands[i];
        const ct_op *inner = depth ? v->op : NULL;
        int32_t signed_factor = i == 1 && op->opcode == OP_subi ? -factor : factor;
        bool joins = inner
                     && (exclusive ? inner->opcode == OP_xori : inner->opcode == OP_addi || inner->opcode == OP_subi);
        if (joins)
            add_terms(r, inner, signed_factor, depth - 1);
        else
            add_term(r, v, signed_factor);
    }
}

/* The only term of a sum, or of an exclusive or, that the others do not cancel. Integers of n bits are added modulo
   2^n, so that the order of additions makes no difference. */
static ct_value *left_of_sum(const ct_op *op)
{
    enum { DEPTH = 3 };
    remainder r = {.fits = true};
    ct_value *left = NULL;
    uint32_t terms = 0;
    add_terms(&r, op, 1, DEPTH);
    for (uint32_t i = 0; i < r.count; i++)
        if (op->opcode == OP_xori ? r.factors[i] & 1 : r.factors[i]) {
            terms++;
            left = op->opcode == OP_xori || r.factors[i] == 1 ? r.terms[i] : NULL;
        }
    return r.fits && terms == 1 ? left : NULL;
}

static ct_value *sum_given(const ct_op *op, bool either)
{
    ct_value *idle = beside(op, 0, either);
    return idle ? idle : left_of_sum(op);
}

/* ---- all of them ---- */

ct_value *cg_operand_given(const ct_op *op)
{
    switch ((int)op->opcode) {
    case OP_ori: return lattice(op, OP_andi, twin(op) ? twin(op) : beside(op, 0, true));
    case OP_addi:
    case OP_xori: return sum_given(op, true);
    case OP_subi: return sum_given(op, false);
    case OP_shli:
    case OP_shri:
    case OP_offset: return beside(op, 0, false);
    case OP_muli: return beside(op, 1, true);
    case OP_divi: return beside(op, 1, false);
    case OP_remi: return below(op);
    case OP_andi: return lattice(op, OP_ori, masked(op));
    case OP_maxi: return lattice(op, OP_mini, chosen(op, ct_attr_u(op, F_maxi_signedness), true));
    case OP_mini: return lattice(op, OP_maxi, chosen(op, ct_attr_u(op, F_mini_signedness), false));
    case OP_maxf: return float_twin(op, F_maxf_flush_to_zero);
    case OP_minf: return float_twin(op, F_minf_flush_to_zero);
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
