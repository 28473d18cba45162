/* Integer arithmetic on constants: exact, modulo 2^n, signed or unsigned as the op says. Numbers are sign-extended,
   as in facts; true is -1 in i1. Source: operation reference, sections 7 and 9. */
#include "codegen/facts/facts.h"

/* The lower n bits of x, sign-extended. */
static int64_t wrapped(uint64_t x, unsigned bits)
{
    unsigned unused = 64 - bits;
    return (int64_t)(x << unused) >> unused;
}

/* The lower n bits of x, zero-extended. */
static uint64_t bits_of(int64_t x, unsigned bits)
{
    return (uint64_t)x << (64 - bits) >> (64 - bits);
}

static bool is_less(int64_t a, int64_t b, uint64_t signedness)
{
    return signedness == BC_Signedness_signed
               ? a < b
               : (uint64_t)a < (uint64_t)b; /* both are extended in the same way, which keeps their order */
}

static bool compare(const ct_op *op, int64_t a, int64_t b)
{
    uint64_t signedness = ct_attr_u(op, F_cmpi_signedness);
    switch (ct_attr_u(op, F_cmpi_comparison_predicate)) {
    case BC_ComparisonPredicate_equal: return a == b;
    case BC_ComparisonPredicate_not_equal: return a != b;
    case BC_ComparisonPredicate_less_than: return is_less(a, b, signedness);
    case BC_ComparisonPredicate_less_than_or_equal: return !is_less(b, a, signedness);
    case BC_ComparisonPredicate_greater_than: return is_less(b, a, signedness);
    default: return !is_less(a, b, signedness);
    }
}

/* By less than n bits; other shifts are not defined. */
static bool shift(const ct_op *op, int64_t a, int64_t by, unsigned bits, uint64_t *out)
{
    if (by < 0 || by >= (int64_t)bits)
        return false;
    if (op->opcode == OP_shli)
        *out = (uint64_t)a << by;
    else if (ct_attr_u(op, F_shri_signedness) == BC_Signedness_signed)
        *out = (uint64_t)(a >> by);
    else
        *out = bits_of(a, bits) >> by;
    return true;
}

/* Evaluates the op on constants. from, bits: the width of the first operand, and of the result. */
static bool evaluate(const ct_op *op, unsigned from, unsigned bits, const int64_t *x, uint64_t *out)
{
    uint64_t a = (uint64_t)x[0], b = (uint64_t)x[1];
    switch ((int)op->opcode) {
    case OP_addi: *out = a + b; return true;
    case OP_subi: *out = a - b; return true;
    case OP_muli: *out = a * b; return true;
    case OP_negi: *out = 0 - a; return true;
    case OP_andi: *out = a & b; return true;
    case OP_ori: *out = a | b; return true;
    case OP_xori: *out = a ^ b; return true;
    case OP_shli:
    case OP_shri: return shift(op, x[0], x[1], bits, out);
    case OP_maxi: *out = is_less(x[0], x[1], ct_attr_u(op, F_maxi_signedness)) ? b : a; return true;
    case OP_mini: *out = is_less(x[0], x[1], ct_attr_u(op, F_mini_signedness)) ? a : b; return true;
    case OP_cmpi: *out = compare(op, x[0], x[1]) ? UINT64_MAX : 0; return true;
    case OP_exti:
        *out = ct_attr_u(op, F_exti_signedness) == BC_Signedness_signed ? a : bits_of(x[0], from);
        return true;
    case OP_trunci: *out = a; return true;
    case OP_select: *out = x[0] ? b : (uint64_t)x[2]; return true;
    default: return false;
    }
}

enum { MOST_OPERANDS = 3 };

bool cg_evaluate_with(const ct_op *op, const int64_t *operands, int64_t *out_value)
{
    int64_t x[MOST_OPERANDS] = {0};
    if (!op->operand_count || op->operand_count > MOST_OPERANDS || op->result_count != 1)
        return false;
    bc_kind from = bc_elem_kind(op->operands[0]->type), to = bc_elem_kind(op->results[0].type);
    if (!bc_kind_in(from, BC_SET_INT) || !bc_kind_in(to, BC_SET_INT))
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        x[i] = operands[i];
    uint64_t value;
    if (!evaluate(op, bc_kind_bits(from), bc_kind_bits(to), x, &value))
        return false;
    *out_value = wrapped(value, bc_kind_bits(to));
    return true;
}

/* Is the result the same for all x if both operands are x? */
static bool is_known_of_twins(const ct_op *op)
{
    return op->operand_count == 2 && op->operands[0] == op->operands[1]
           && (op->opcode == OP_subi || op->opcode == OP_xori || op->opcode == OP_cmpi);
}

bool cg_evaluate(const ct_op *op, int64_t *out_value)
{
    int64_t x[MOST_OPERANDS] = {0};
    if (is_known_of_twins(op))
        return cg_evaluate_with(op, x, out_value);
    for (uint32_t i = 0; i < op->operand_count && i < MOST_OPERANDS; i++) {
        if (!op->operands[i]->fact->constant)
            return false;
        x[i] = op->operands[i]->fact->value;
    }
    return cg_evaluate_with(op, x, out_value);
}
