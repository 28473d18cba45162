/* See the header. */
#include "codegen/tile/build.h"

static ct_value *fail(ct_builder *b)
{
    b->failed = true;
    return bc_arena_fail(b->f->arena);
}

ct_value *ct_build_op(ct_builder *b, ct_op *op)
{
    if (!op)
        return fail(b);
    ct_insert_before(op, b->place);
    return &op->results[0];
}

ct_value *ct_build(ct_builder *b, bc_opcode opcode, const bc_type *type, ct_value *const *operands, uint32_t count)
{
    bool all = type && !b->failed;
    for (uint32_t i = 0; i < count; i++)
        all = all && operands[i];
    return all ? ct_build_op(b, ct_made_new(b->f, opcode, b->place, type, operands, count)) : fail(b);
}

ct_value *ct_build_own(ct_builder *b, ct_opcode opcode, const bc_type *type, ct_value *const *operands, uint32_t count)
{
    bool all = type && !b->failed;
    for (uint32_t i = 0; i < count; i++)
        all = all && operands[i];
    ct_op *op = all ? ct_op_new(b->f, opcode, b->place, count, 1) : NULL;
    if (!op)
        return fail(b);
    op->results[0].type = type;
    for (uint32_t i = 0; i < count; i++)
        ct_set_operand(op, i, operands[i]);
    return ct_build_op(b, op);
}

ct_value *ct_build_constant(ct_builder *b, const bc_type *type, int64_t value)
{
    return type && !b->failed ? ct_build_op(b, ct_constant_new(b->f, b->place, type, value)) : fail(b);
}

ct_value *ct_build_scalar(ct_builder *b, bc_kind kind, int64_t value)
{
    return ct_build_constant(b, ct_scalar_type(b->f, kind), value);
}

ct_value *ct_build_two(ct_builder *b, bc_opcode opcode, ct_value *x, ct_value *y)
{
    return x ? ct_build(b, opcode, x->type, (ct_value *const[]){x, y}, 2) : fail(b);
}

/* The number in as many low bits as the kind has, sign-extended. */
static int64_t wrapped(const bc_type *type, uint64_t number)
{
    unsigned unused = 64 - bc_kind_bits(bc_elem_kind(type));
    uint64_t high = number << unused;
    return high >> 63 ? -(int64_t)(~(uint64_t)0 >> unused & (~number + 1)) : (int64_t)(high >> unused);
}

ct_value *ct_build_add(ct_builder *b, ct_value *x, ct_value *y)
{
    int64_t i = 1, k = 1;
    bool first = ct_is_constant(x, &i), second = ct_is_constant(y, &k);
    if (first && second)
        return ct_build_constant(b, x->type, wrapped(x->type, (uint64_t)i + (uint64_t)k));
    return first && i == 0 ? y : second && k == 0 ? x : ct_build_two(b, OP_addi, x, y);
}

ct_value *ct_build_sub(ct_builder *b, ct_value *x, ct_value *y)
{
    int64_t i = 1, k = 1;
    bool first = ct_is_constant(x, &i), second = ct_is_constant(y, &k);
    if (first && second)
        return ct_build_constant(b, x->type, wrapped(x->type, (uint64_t)i - (uint64_t)k));
    return second && k == 0 ? x : ct_build_two(b, OP_subi, x, y);
}

ct_value *ct_build_mul(ct_builder *b, ct_value *x, ct_value *y)
{
    int64_t i = 0, k = 0;
    bool first = ct_is_constant(x, &i), second = ct_is_constant(y, &k);
    if (first && second)
        return ct_build_constant(b, x->type, wrapped(x->type, (uint64_t)i * (uint64_t)k));
    return first && i == 1 ? y : second && k == 1 ? x : ct_build_two(b, OP_muli, x, y);
}

ct_value *ct_build_quotient(ct_builder *b, ct_value *x, ct_value *y)
{
    ct_value *quotient = ct_build_two(b, OP_divi, x, y);
    if (quotient) {
        bc_attr_of(quotient->op->from, F_divi_signedness)->u = BC_Signedness_unsigned;
        bc_attr_of(quotient->op->from, F_divi_rounding)->u = BC_RoundingMode_zero;
    }
    return quotient;
}

ct_value *ct_build_div_unsigned(ct_builder *b, ct_value *x, int64_t by)
{
    int64_t value;
    if (x && ct_is_constant(x, &value) && value >= 0)
        return ct_build_constant(b, x->type, value / by);
    return x && by != 1 ? ct_build_quotient(b, x, ct_build_constant(b, x->type, by)) : x;
}

ct_value *ct_build_lesser(ct_builder *b, ct_value *x, ct_value *y)
{
    int64_t i, k;
    if (ct_is_constant(x, &i) && ct_is_constant(y, &k))
        return i < k ? x : y;
    ct_value *lesser = ct_build_two(b, OP_mini, x, y);
    if (lesser)
        bc_attr_of(lesser->op->from, F_mini_signedness)->u = BC_Signedness_signed;
    return lesser;
}

ct_value *ct_build_positive(ct_builder *b, ct_value *x)
{
    int64_t value;
    ct_value *none = x ? ct_build_constant(b, x->type, 0) : NULL;
    if (ct_is_constant(x, &value))
        return value > 0 ? x : none;
    ct_value *greater = ct_build_two(b, OP_maxi, x, none);
    if (greater)
        bc_attr_of(greater->op->from, F_maxi_signedness)->u = BC_Signedness_signed;
    return greater;
}

ct_value *ct_build_resize(ct_builder *b, ct_value *x, bc_kind kind, bool is_signed)
{
    if (!x)
        return fail(b);
    unsigned has = bc_kind_bits(bc_elem_kind(x->type)), wants = bc_kind_bits(kind);
    int64_t value;
    if (has == wants)
        return x;
    const bc_type *type = ct_shaped_type(b->f, x->type, kind);
    if (type && ct_is_constant(x, &value) && (is_signed || value >= 0))
        return ct_build_constant(b, type, wrapped(type, (uint64_t)value));
    ct_value *made = ct_build(b, has < wants ? OP_exti : OP_trunci, type, &x, 1);
    if (made && has < wants)
        bc_attr_of(made->op->from, F_exti_signedness)->u = is_signed ? BC_Signedness_signed : BC_Signedness_unsigned;
    return made;
}

ct_value *ct_build_spread(ct_builder *b, ct_value *scalar, const bc_type *shape)
{
    if (!scalar || !shape->rank)
        return scalar ? scalar : fail(b);
    bc_kind kind = bc_elem_kind(scalar->type);
    int64_t value;
    if (ct_is_constant(scalar, &value))
        return ct_build_constant(b, ct_shaped_type(b->f, shape, kind), value);
    ct_value *one = ct_build(b, OP_reshape, ct_ones_type(b->f, shape, kind), &scalar, 1);
    return ct_build(b, OP_broadcast, ct_shaped_type(b->f, shape, kind), &one, 1);
}

ct_value *ct_build_compare(ct_builder *b, bc_ComparisonPredicate predicate, ct_value *x, ct_value *y, bool is_signed)
{
    ct_value *holds = ct_build(b, OP_cmpi, ct_scalar_type(b->f, BC_I1), (ct_value *const[]){x, y}, 2);
    if (holds) {
        bc_attr_of(holds->op->from, F_cmpi_comparison_predicate)->u = predicate;
        bc_attr_of(holds->op->from, F_cmpi_signedness)->u = is_signed ? BC_Signedness_signed : BC_Signedness_unsigned;
    }
    return holds;
}

ct_value *ct_build_less(ct_builder *b, ct_value *low, ct_value *high, bool is_signed)
{
    return ct_build_compare(b, BC_ComparisonPredicate_less_than, low, high, is_signed);
}

ct_value *ct_build_if_less(ct_builder *b, ct_value *low, ct_value *high, bool is_signed, ct_value *x, ct_value *y)
{
    ct_value *less = ct_build_less(b, low, high, is_signed);
    return less && x ? ct_build(b, OP_select, x->type, (ct_value *const[]){less, x, y}, 3) : fail(b);
}

static ct_value *build_assume(ct_builder *b, ct_value *x, const bc_tagged *predicate)
{
    bc_tagged *promise = bc_new(b->f->arena, bc_tagged, 1);
    ct_value *r = promise && x ? ct_build(b, OP_assume, x->type, &x, 1) : fail(b);
    if (r) {
        *promise = *predicate;
        bc_attr_of(r->op->from, F_assume_predicate)->tagged = promise;
    }
    return r;
}

ct_value *ct_build_bounded(ct_builder *b, ct_value *x, int64_t low, int64_t high)
{
    const bc_tagged predicate = {.tag = BC_TAG_BOUNDED, .has_a = true, .has_b = true, .a = low, .b = high};
    return build_assume(b, x, &predicate);
}

ct_value *ct_build_multiple(ct_builder *b, ct_value *x, uint32_t bits)
{
    const bc_tagged predicate = {.tag = BC_TAG_DIV_BY, .u.bits = (uint64_t)1 << bits};
    return bits ? build_assume(b, x, &predicate) : x;
}
