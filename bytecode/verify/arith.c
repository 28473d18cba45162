/* Relations of arithmetic, comparisons and conversions. Element types are the table's business (V-INT-01, V-FLT-01,
   ...); here are equal types, rounding modes and widths. Source: core operation reference, sections 2 to 5. */
#include "bytecode/verify/verify.h"

#define MODE(name) (1u << BC_RoundingMode_##name)
#define IEEE_MODES (MODE(nearest_even) | MODE(zero) | MODE(negative_inf) | MODE(positive_inf))

/* ---- one type everywhere ---- */

#define UNARY(op_name, operand, rule)                                                  \
    void verify_##op_name(bc_verifier *v, const bc_op *op)                             \
    {                                                                                  \
        bc_need_same_type(v, op, F_##op_name##_##operand, F_##op_name##_result, rule); \
    }
#define BINARY(op_name, x, y, rule)                                                          \
    void verify_##op_name(bc_verifier *v, const bc_op *op)                                   \
    {                                                                                        \
        same_types(v, op, F_##op_name##_##x, F_##op_name##_##y, F_##op_name##_result, rule); \
    }

/* Both operands of the result's type. When they agree with each other, the result is what is wrong. */
static bool same_types(bc_verifier *v, const bc_op *op, int lhs, int rhs, int result, bc_rule rule)
{
    const bc_type *a = bc_type_of(op, lhs), *b = bc_type_of(op, rhs), *r = bc_type_of(op, result);
    if (TV_LIKELY(a == b && b == r))
        return true;
    if (a == b)
        return bc_need_same_type(v, op, result, lhs, rule);
    return bc_need_same_type(v, op, rhs, lhs, rule);
}

UNARY(absi, source, BC_RULE_V_INT_02)
BINARY(addi, lhs, rhs, BC_RULE_V_INT_02)
BINARY(subi, lhs, rhs, BC_RULE_V_INT_02)
BINARY(muli, lhs, rhs, BC_RULE_V_INT_02)
BINARY(mulhii, x, y, BC_RULE_V_INT_02)
BINARY(remi, lhs, rhs, BC_RULE_V_INT_02)
BINARY(maxi, lhs, rhs, BC_RULE_V_INT_02)
BINARY(mini, lhs, rhs, BC_RULE_V_INT_02)
BINARY(andi, lhs, rhs, BC_RULE_V_INT_02)
BINARY(ori, lhs, rhs, BC_RULE_V_INT_02)
BINARY(xori, lhs, rhs, BC_RULE_V_INT_02)
BINARY(shli, lhs, rhs, BC_RULE_V_INT_02)
BINARY(shri, lhs, rhs, BC_RULE_V_INT_02)

UNARY(absf, source, BC_RULE_V_FLT_02)
UNARY(negf, source, BC_RULE_V_FLT_02)
UNARY(ceil, source, BC_RULE_V_FLT_02)
UNARY(floor, source, BC_RULE_V_FLT_02)
UNARY(sin, source, BC_RULE_V_FLT_02)
UNARY(cos, source, BC_RULE_V_FLT_02)
UNARY(tan, source, BC_RULE_V_FLT_02)
UNARY(sinh, source, BC_RULE_V_FLT_02)
UNARY(cosh, source, BC_RULE_V_FLT_02)
UNARY(log, source, BC_RULE_V_FLT_02)
UNARY(log2, source, BC_RULE_V_FLT_02)
BINARY(remf, lhs, rhs, BC_RULE_V_FLT_02)
BINARY(fpowf, source, exponent, BC_RULE_V_FLT_02)
BINARY(atan2, x, y, BC_RULE_V_FLT_02)

/* ---- integers with more to say ---- */

void verify_divi(bc_verifier *v, const bc_op *op)
{
    same_types(v, op, F_divi_lhs, F_divi_rhs, F_divi_result, BC_RULE_V_INT_02);
    if (!bc_need_enum(v, op, F_divi_rounding, MODE(zero) | MODE(negative_inf) | MODE(positive_inf), BC_RULE_V_INT_03))
        return;
    if (bc_attr_u(op, F_divi_rounding) == BC_RoundingMode_negative_inf
        && bc_attr_u(op, F_divi_signedness) == BC_Signedness_unsigned)
        bc_wrong(v, op, F_divi_rounding, 0, BC_RULE_V_INT_04, "is negative_inf, which unsigned division does not have");
}

void verify_negi(bc_verifier *v, const bc_op *op)
{
    bc_need_same_type(v, op, F_negi_source, F_negi_result, BC_RULE_V_INT_02);
    bc_need_enum(v, op, F_negi_overflow,
                 1u << BC_IntegerOverflow_none | 1u << BC_IntegerOverflow_no_signed_wrap
                     | 1u << BC_IntegerOverflow_no_wrap,
                 BC_RULE_V_INT_05);
}

/* ---- floats with rounding and flushing ---- */

static bool is_f32(const bc_op *op)
{
    return bc_results(op)[0].type->elem->kind == BC_F32;
}

static void check_flush(bc_verifier *v, const bc_op *op, int flush)
{
    if (TV_UNLIKELY(bc_attr_u(op, flush) && !is_f32(op)))
        bc_wrong(v, op, flush, 0, BC_RULE_V_FLT_08, "needs f32 elements; these are %s",
                 bc_type_words(v, bc_results(op)[0].type->elem));
}

/* The mode is one of those allowed; those in `fast` only for f32. */
static void check_rounding(bc_verifier *v, const bc_op *op, int row, unsigned allowed, unsigned fast, bc_rule rule)
{
    if (!bc_need_enum(v, op, row, allowed, rule))
        return;
    uint64_t mode = bc_attr_u(op, row);
    if (TV_UNLIKELY(fast >> mode & 1 && !is_f32(op)))
        bc_wrong(v, op, row, 0, BC_RULE_V_FLT_07, "is %s, which needs f32 elements; these are %s",
                 bc_enum_text(BC_ENUM_RoundingMode, mode), bc_type_words(v, bc_results(op)[0].type->elem));
}

#define EXACT_BINARY(op_name)                                                                            \
    void verify_##op_name(bc_verifier *v, const bc_op *op)                                               \
    {                                                                                                    \
        same_types(v, op, F_##op_name##_lhs, F_##op_name##_rhs, F_##op_name##_result, BC_RULE_V_FLT_02); \
        check_rounding(v, op, F_##op_name##_rounding_mode, IEEE_MODES, 0, BC_RULE_V_FLT_03);             \
        check_flush(v, op, F_##op_name##_flush_to_zero);                                                 \
    }

EXACT_BINARY(addf)
EXACT_BINARY(subf)
EXACT_BINARY(mulf)

void verify_fma(bc_verifier *v, const bc_op *op)
{
    if (same_types(v, op, F_fma_lhs, F_fma_rhs, F_fma_result, BC_RULE_V_FLT_02))
        bc_need_same_type(v, op, F_fma_acc, F_fma_result, BC_RULE_V_FLT_02);
    check_rounding(v, op, F_fma_rounding_mode, IEEE_MODES, 0, BC_RULE_V_FLT_03);
    check_flush(v, op, F_fma_flush_to_zero);
}

void verify_divf(bc_verifier *v, const bc_op *op)
{
    same_types(v, op, F_divf_lhs, F_divf_rhs, F_divf_result, BC_RULE_V_FLT_02);
    check_rounding(v, op, F_divf_rounding_mode, IEEE_MODES | MODE(approx) | MODE(full), MODE(approx) | MODE(full),
                   BC_RULE_V_FLT_04);
    check_flush(v, op, F_divf_flush_to_zero);
}

void verify_sqrt(bc_verifier *v, const bc_op *op)
{
    bc_need_same_type(v, op, F_sqrt_source, F_sqrt_result, BC_RULE_V_FLT_02);
    check_rounding(v, op, F_sqrt_rounding_mode, IEEE_MODES | MODE(approx), MODE(approx), BC_RULE_V_FLT_05);
    check_flush(v, op, F_sqrt_flush_to_zero);
}

void verify_rsqrt(bc_verifier *v, const bc_op *op)
{
    bc_need_same_type(v, op, F_rsqrt_source, F_rsqrt_result, BC_RULE_V_FLT_02);
    check_flush(v, op, F_rsqrt_flush_to_zero);
}

void verify_exp(bc_verifier *v, const bc_op *op)
{
    bc_need_same_type(v, op, F_exp_source, F_exp_result, BC_RULE_V_FLT_02);
    check_rounding(v, op, F_exp_rounding_mode, MODE(full) | MODE(approx), MODE(approx), BC_RULE_V_FLT_06);
}

void verify_exp2(bc_verifier *v, const bc_op *op)
{
    bc_need_same_type(v, op, F_exp2_source, F_exp2_result, BC_RULE_V_FLT_02);
    check_flush(v, op, F_exp2_flush_to_zero);
}

void verify_tanh(bc_verifier *v, const bc_op *op)
{
    bc_need_same_type(v, op, F_tanh_source, F_tanh_result, BC_RULE_V_FLT_02);
    check_rounding(v, op, F_tanh_rounding_mode, MODE(full) | MODE(approx), MODE(approx), BC_RULE_V_FLT_06);
}

void verify_maxf(bc_verifier *v, const bc_op *op)
{
    same_types(v, op, F_maxf_lhs, F_maxf_rhs, F_maxf_result, BC_RULE_V_FLT_02);
    check_flush(v, op, F_maxf_flush_to_zero);
}

void verify_minf(bc_verifier *v, const bc_op *op)
{
    same_types(v, op, F_minf_lhs, F_minf_rhs, F_minf_result, BC_RULE_V_FLT_02);
    check_flush(v, op, F_minf_flush_to_zero);
}

void verify_fpowi(bc_verifier *v, const bc_op *op)
{
    if (bc_need_same_type(v, op, F_fpowi_source, F_fpowi_result, BC_RULE_V_FLT_02))
        bc_need_same_shape(v, op, F_fpowi_exponent, F_fpowi_source, BC_RULE_V_FLT_02);
}

/* ---- comparisons, select ---- */

void verify_cmpi(bc_verifier *v, const bc_op *op)
{
    if (bc_need_same_type(v, op, F_cmpi_rhs, F_cmpi_lhs, BC_RULE_V_CMP_02))
        bc_need_same_shape(v, op, F_cmpi_result, F_cmpi_lhs, BC_RULE_V_CMP_03);
}

void verify_cmpf(bc_verifier *v, const bc_op *op)
{
    if (bc_need_same_type(v, op, F_cmpf_rhs, F_cmpf_lhs, BC_RULE_V_CMP_02))
        bc_need_same_shape(v, op, F_cmpf_result, F_cmpf_lhs, BC_RULE_V_CMP_03);
}

void verify_select(bc_verifier *v, const bc_op *op)
{
    if (!same_types(v, op, F_select_val_if_true, F_select_val_if_false, F_select_result, BC_RULE_V_SEL_02))
        return;
    bc_need_same_shape(v, op, F_select_cond, F_select_result, BC_RULE_V_SEL_03);
    if (bc_type_of(op, F_select_result)->elem->kind == BC_F4E2M1FN)
        bc_wrong(v, op, F_select_result, 0, BC_RULE_V_SEL_04, "is %s; f4E2M1FN cannot be selected",
                 bc_type_words(v, bc_type_of(op, F_select_result)));
}

/* ---- conversions ---- */

static unsigned elem_bits(const bc_op *op, int row)
{
    return bc_kind_bits((bc_kind)bc_type_of(op, row)->elem->kind);
}

void verify_exti(bc_verifier *v, const bc_op *op)
{
    if (!bc_need_same_shape(v, op, F_exti_from, F_exti_to, BC_RULE_V_CVT_03))
        return;
    if (elem_bits(op, F_exti_to) <= elem_bits(op, F_exti_from))
        bc_wrong(v, op, F_exti_to, 0, BC_RULE_V_CVT_01, "is %s, no wider than the operand %s",
                 bc_type_words(v, bc_type_of(op, F_exti_to)), bc_type_words(v, bc_type_of(op, F_exti_from)));
}

void verify_trunci(bc_verifier *v, const bc_op *op)
{
    if (!bc_need_same_shape(v, op, F_trunci_from, F_trunci_to, BC_RULE_V_CVT_03))
        return;
    if (elem_bits(op, F_trunci_to) >= elem_bits(op, F_trunci_from))
        bc_wrong(v, op, F_trunci_to, 0, BC_RULE_V_CVT_02, "is %s, no narrower than the operand %s",
                 bc_type_words(v, bc_type_of(op, F_trunci_to)), bc_type_words(v, bc_type_of(op, F_trunci_from)));
}

void verify_itof(bc_verifier *v, const bc_op *op)
{
    bc_need_same_shape(v, op, F_itof_from, F_itof_to, BC_RULE_V_CVT_07);
    bc_need_enum(v, op, F_itof_rounding_mode, MODE(nearest_even), BC_RULE_V_CVT_06);
    if (bc_type_of(op, F_itof_to)->elem->kind == BC_F8E8M0FNU)
        bc_wrong(v, op, F_itof_to, 0, BC_RULE_V_CVT_05, "is %s; f8E8M0FNU holds no zero and no negative number",
                 bc_type_words(v, bc_type_of(op, F_itof_to)));
}

void verify_ftoi(bc_verifier *v, const bc_op *op)
{
    bc_need_same_shape(v, op, F_ftoi_from, F_ftoi_to, BC_RULE_V_CVT_10);
    bc_need_enum(v, op, F_ftoi_rounding_mode, MODE(nearest_int_to_zero), BC_RULE_V_CVT_09);
}

/* Precision and range of a float format: bits, and exponents of its smallest and largest normal numbers. */
static const struct {
    int8_t sign, mantissa;
    int16_t lowest, highest;
} formats[BC_KIND_COUNT] = {
    [BC_F64] = {1, 52, -1022, 1023},    [BC_F32] = {1, 23, -126, 127},      [BC_TF32] = {1, 10, -126, 127},
    [BC_F16] = {1, 10, -14, 15},        [BC_BF16] = {1, 7, -126, 127},      [BC_F8E5M2] = {1, 2, -14, 15},
    [BC_F8E4M3FN] = {1, 3, -6, 8},      [BC_F8E8M0FNU] = {0, 0, -127, 127}, [BC_F4E2M1FN] = {1, 1, 0, 2},
    [BC_FNV8E5M3FNU] = {0, 3, -14, 16},
};

/* Does every finite value of `from` exist in `to`, as a normal number if it is one in `from`? */
static bool widens(bc_kind from, bc_kind to)
{
    return formats[to].sign >= formats[from].sign && formats[to].mantissa >= formats[from].mantissa
           && formats[to].lowest <= formats[from].lowest && formats[to].highest >= formats[from].highest;
}

/* Rounding modes of a conversion, in the order in which the rules of the format decide. */
static unsigned conversion_modes(bc_kind from, bc_kind to)
{
    if (to == BC_F8E8M0FNU)
        return MODE(zero) | MODE(positive_inf);
    if (bc_kind_bits(to) <= 8)
        return MODE(nearest_even);
    if (widens(from, to))
        return IEEE_MODES | MODE(nearest_away);
    if (from == BC_F64 && to == BC_F32)
        return IEEE_MODES;
    if (from == BC_F32 && to == BC_TF32)
        return MODE(nearest_even) | MODE(zero) | MODE(nearest_away);
    return MODE(nearest_even) | MODE(zero);
}

void verify_ftof(bc_verifier *v, const bc_op *op)
{
    const bc_type *from = bc_type_of(op, F_ftof_from), *to = bc_type_of(op, F_ftof_to);
    if (!bc_need_same_shape(v, op, F_ftof_from, F_ftof_to, BC_RULE_V_CVT_13))
        return;
    if (from == to)
        bc_wrong(v, op, F_ftof_to, 0, BC_RULE_V_CVT_12, "is %s like the operand", bc_type_words(v, to));
    else
        bc_need_enum(v, op, F_ftof_rounding_mode, conversion_modes((bc_kind)from->elem->kind, (bc_kind)to->elem->kind),
                     BC_RULE_V_CVT_14);
}

void verify_bitcast(bc_verifier *v, const bc_op *op)
{
    if (!bc_need_same_shape(v, op, F_bitcast_source, F_bitcast_result, BC_RULE_V_BIT_03))
        return;
    unsigned from = elem_bits(op, F_bitcast_source), to = elem_bits(op, F_bitcast_result);
    if (from != to)
        bc_wrong(v, op, F_bitcast_result, 0, BC_RULE_V_BIT_02, "has elements of %u bits (%s), the operand of %u (%s)",
                 to, bc_type_words(v, bc_type_of(op, F_bitcast_result)), from,
                 bc_type_words(v, bc_type_of(op, F_bitcast_source)));
}

/* Bits of an element as pack and unpack lay them out. */
static unsigned packed_bits(bc_kind kind)
{
    return kind == BC_TF32 ? 32 : bc_kind_bits(kind);
}

/* pack: numbers to bytes; unpack: bytes to numbers. Same rules both ways. */
static void check_pack(bc_verifier *v, const bc_op *op, int source, int result)
{
    int rows[2] = {source, result};
    int64_t bits[2];
    for (unsigned i = 0; i < 2; i++) {
        const bc_type *t = bc_type_of(op, rows[i]);
        if (t->rank != 1) {
            bc_wrong(v, op, rows[i], 0, BC_RULE_V_PCK_01, "is %s; it must have one dimension", bc_type_words(v, t));
            return;
        }
        bits[i] = t->shape[0] * packed_bits((bc_kind)t->elem->kind);
    }
    if (packed_bits(bc_elem_kind(bc_type_of(op, source))) == packed_bits(bc_elem_kind(bc_type_of(op, result))))
        bc_wrong(v, op, result, 0, BC_RULE_V_PCK_03, "is %s, whose elements are as wide as those of the operand %s",
                 bc_type_words(v, bc_type_of(op, result)), bc_type_words(v, bc_type_of(op, source)));
    else if (bits[0] % 8 || bits[1] % 8)
        bc_wrong(v, op, rows[bits[0] % 8 == 0], 0, BC_RULE_V_PCK_04, "is %s: %lld bits, which are no whole bytes",
                 bc_type_words(v, bc_type_of(op, rows[bits[0] % 8 == 0])), (long long)bits[bits[0] % 8 == 0]);
    else if (bits[0] != bits[1])
        bc_wrong(v, op, result, 0, BC_RULE_V_PCK_05, "is %s of %lld bits, the operand %s of %lld",
                 bc_type_words(v, bc_type_of(op, result)), (long long)bits[1], bc_type_words(v, bc_type_of(op, source)),
                 (long long)bits[0]);
}

void verify_pack(bc_verifier *v, const bc_op *op)
{
    check_pack(v, op, F_pack_source, F_pack_result);
}

void verify_unpack(bc_verifier *v, const bc_op *op)
{
    check_pack(v, op, F_unpack_source, F_unpack_result);
}
