/* Element-wise arithmetic: integers, floats, functions, comparisons, select. What an op does is in
   vm/kernels/kernels.inc; here each op chooses its kernel. */
#include "vm/compile/map.h"

static bc_kind kind_of(const bc_op *op)
{
    return bc_elem_kind(bc_operands(op)[0]->type);
}

static bool is_signed(const bc_op *op, int row)
{
    return bc_attr_u(op, row) == BC_Signedness_signed;
}

static bc_RoundingMode rounding(const bc_op *op, int row)
{
    return (bc_RoundingMode)bc_attr_u(op, row);
}

static bool flag(const bc_op *op, int row)
{
    uint64_t u = bc_attr_u(op, row);
    return u != 0 && u != BC_ABSENT;
}

/* ---- integers ---- */

static void emit_int(vm_emit *e, const bc_op *op, vm_kernel_id i8)
{
    vm_map map = vm_map_int(e, i8, kind_of(op), op->operand_count);
    vm_emit_map(e, op, &map);
}

/* i1 has its own idea of an op: modulo 2, where signed 1 is -1. */
static void emit_int_or_i1(vm_emit *e, const bc_op *op, vm_kernel_id i8, vm_kernel_id i1)
{
    emit_int(e, op, kind_of(op) == BC_I1 ? i1 : i8);
}

void vm_addi(vm_emit *e, const bc_op *op)
{
    emit_int_or_i1(e, op, VM_K_add_i8, VM_K_xor_i8);
}
void vm_subi(vm_emit *e, const bc_op *op)
{
    emit_int_or_i1(e, op, VM_K_sub_i8, VM_K_xor_i8);
}
void vm_muli(vm_emit *e, const bc_op *op)
{
    emit_int_or_i1(e, op, VM_K_mul_i8, VM_K_and_i8);
}
void vm_mulhii(vm_emit *e, const bc_op *op)
{
    emit_int_or_i1(e, op, VM_K_mulhi_u_i8, VM_K_zero_i1);
}
void vm_andi(vm_emit *e, const bc_op *op)
{
    emit_int(e, op, VM_K_and_i8);
}
void vm_ori(vm_emit *e, const bc_op *op)
{
    emit_int(e, op, VM_K_or_i8);
}
void vm_xori(vm_emit *e, const bc_op *op)
{
    emit_int(e, op, VM_K_xor_i8);
}
void vm_negi(vm_emit *e, const bc_op *op)
{
    emit_int_or_i1(e, op, VM_K_neg_i8, VM_K_copy_i8);
}
void vm_absi(vm_emit *e, const bc_op *op)
{
    emit_int_or_i1(e, op, VM_K_abs_i8, VM_K_copy_i8);
}
void vm_shli(vm_emit *e, const bc_op *op)
{
    emit_int_or_i1(e, op, VM_K_shl_i8, VM_K_andn_i8);
}
void vm_shri(vm_emit *e, const bc_op *op)
{
    bool s = is_signed(op, F_shri_signedness);
    if (kind_of(op) == BC_I1)
        emit_int(e, op, s ? VM_K_first_i8 : VM_K_andn_i8);
    else
        emit_int(e, op, s ? VM_K_shr_s_i8 : VM_K_shr_u_i8);
}
void vm_maxi(vm_emit *e, const bc_op *op)
{
    bool s = is_signed(op, F_maxi_signedness);
    emit_int_or_i1(e, op, s ? VM_K_max_s_i8 : VM_K_max_u_i8, s ? VM_K_and_i8 : VM_K_or_i8);
}
void vm_mini(vm_emit *e, const bc_op *op)
{
    bool s = is_signed(op, F_mini_signedness);
    emit_int_or_i1(e, op, s ? VM_K_min_s_i8 : VM_K_min_u_i8, s ? VM_K_or_i8 : VM_K_and_i8);
}
void vm_divi(vm_emit *e, const bc_op *op)
{
    bool s = is_signed(op, F_divi_signedness);
    vm_kernel_id id = s ? VM_K_div_s_i8 : VM_K_div_u_i8;
    if (rounding(op, F_divi_rounding) == BC_RoundingMode_negative_inf)
        id = s ? VM_K_div_floor_s_i8 : VM_K_div_u_i8;
    if (rounding(op, F_divi_rounding) == BC_RoundingMode_positive_inf)
        id = s ? VM_K_div_ceil_s_i8 : VM_K_div_ceil_u_i8;
    emit_int_or_i1(e, op, id, VM_K_div_i1);
}
void vm_remi(vm_emit *e, const bc_op *op)
{
    emit_int_or_i1(e, op, is_signed(op, F_remi_signedness) ? VM_K_rem_s_i8 : VM_K_rem_u_i8, VM_K_rem_i1);
}

/* Greater is less with the operands swapped. */
static void emit_compare(vm_emit *e, const bc_op *op, vm_map map, bool swap)
{
    bc_value **operands = bc_operands(op), *swapped[2] = {operands[1], operands[0]};
    vm_emit_map_of(e, op, vm_result(op, 0), &map, swap ? swapped : operands);
}

void vm_cmpi(vm_emit *e, const bc_op *op)
{
    bc_kind kind = kind_of(op);
    bool s = is_signed(op, F_cmpi_signedness), swap = false;
    vm_kernel_id id = VM_K_eq_i8;
    switch ((bc_ComparisonPredicate)bc_attr_u(op, F_cmpi_comparison_predicate)) {
    case BC_ComparisonPredicate_equal: break;
    case BC_ComparisonPredicate_not_equal: id = VM_K_ne_i8; break;
    case BC_ComparisonPredicate_greater_than:
        swap = true;
        id = s ? VM_K_lt_s_i8 : VM_K_lt_u_i8;
        break;
    case BC_ComparisonPredicate_less_than: id = s ? VM_K_lt_s_i8 : VM_K_lt_u_i8; break;
    case BC_ComparisonPredicate_greater_than_or_equal:
        swap = true;
        id = s ? VM_K_le_s_i8 : VM_K_le_u_i8;
        break;
    case BC_ComparisonPredicate_less_than_or_equal: id = s ? VM_K_le_s_i8 : VM_K_le_u_i8; break;
    }
    if (kind == BC_I1 && s && id != VM_K_eq_i8 && id != VM_K_ne_i8) { /* -1 is below 0 */
        swap = !swap;
        id = id == VM_K_lt_s_i8 ? VM_K_lt_u_i8 : VM_K_le_u_i8;
    }
    vm_map map = vm_map_int(e, id, kind, 2);
    map.out_bytes = 1;
    emit_compare(e, op, map, swap);
}

/* ---- floats ---- */

static void emit_float(vm_emit *e, const bc_op *op, vm_kernel_id f32, bool flush)
{
    vm_map map = vm_map_float(e, f32, VM_K_NONE, kind_of(op), op->operand_count, BC_RoundingMode_nearest_even, flush);
    vm_emit_map(e, op, &map);
}

/* odd: the kernel for bf16, whose subnormals and fused results would show a second rounding. */
static void emit_rounded(vm_emit *e, const bc_op *op, vm_kernel_id f32, vm_kernel_id odd, int mode_row, int flush_row)
{
    vm_map map = vm_map_float(e, f32, odd, kind_of(op), op->operand_count, rounding(op, mode_row), flag(op, flush_row));
    vm_emit_map(e, op, &map);
}

void vm_addf(vm_emit *e, const bc_op *op)
{
    emit_rounded(e, op, VM_K_addf_f32, VM_K_NONE, F_addf_rounding_mode, F_addf_flush_to_zero);
}
void vm_subf(vm_emit *e, const bc_op *op)
{
    emit_rounded(e, op, VM_K_subf_f32, VM_K_NONE, F_subf_rounding_mode, F_subf_flush_to_zero);
}
void vm_mulf(vm_emit *e, const bc_op *op)
{
    emit_rounded(e, op, VM_K_mulf_f32, kind_of(op) == BC_BF16 ? VM_K_mulf_odd : VM_K_NONE, F_mulf_rounding_mode,
                 F_mulf_flush_to_zero);
}
void vm_divf(vm_emit *e, const bc_op *op)
{
    emit_rounded(e, op, VM_K_divf_f32, kind_of(op) == BC_BF16 ? VM_K_divf_odd : VM_K_NONE, F_divf_rounding_mode,
                 F_divf_flush_to_zero);
}
void vm_fma(vm_emit *e, const bc_op *op)
{
    emit_rounded(e, op, VM_K_fma_f32, VM_K_fma_odd, F_fma_rounding_mode, F_fma_flush_to_zero);
}
void vm_sqrt(vm_emit *e, const bc_op *op)
{
    emit_rounded(e, op, VM_K_sqrt_f32, VM_K_NONE, F_sqrt_rounding_mode, F_sqrt_flush_to_zero);
}
void vm_rsqrt(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_rsqrt_f32, flag(op, F_rsqrt_flush_to_zero));
}
void vm_remf(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_remf_f32, false);
}
void vm_ceil(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_ceil_f32, false);
}
void vm_floor(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_floor_f32, false);
}
void vm_maxf(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, flag(op, F_maxf_propagate_nan) ? VM_K_maxf_nan_f32 : VM_K_maxf_f32,
               flag(op, F_maxf_flush_to_zero));
}
void vm_minf(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, flag(op, F_minf_propagate_nan) ? VM_K_minf_nan_f32 : VM_K_minf_f32,
               flag(op, F_minf_flush_to_zero));
}

static void emit_sign(vm_emit *e, const bc_op *op, vm_kernel_id f32, vm_kernel_id f16)
{
    bc_kind kind = kind_of(op);
    unsigned bytes = vm_elem_bytes(kind);
    vm_kernel_id id = vm_is_wide_float(kind) ? vm_kernel_of_float(f32, kind == BC_F64) : f16;
    vm_map map = vm_map_plain(e, id, 1, bytes, bytes);
    vm_emit_map(e, op, &map);
}
void vm_absf(vm_emit *e, const bc_op *op)
{
    emit_sign(e, op, VM_K_absf_f32, VM_K_abs_f16);
}
void vm_negf(vm_emit *e, const bc_op *op)
{
    emit_sign(e, op, VM_K_negf_f32, VM_K_neg_f16);
}

void vm_cmpf(vm_emit *e, const bc_op *op)
{
    bool ordered = bc_attr_u(op, F_cmpf_comparison_ordering) == BC_ComparisonOrdering_ordered, swap = false;
    vm_kernel_id id = ordered ? VM_K_oeq_f32 : VM_K_ueq_f32;
    switch ((bc_ComparisonPredicate)bc_attr_u(op, F_cmpf_comparison_predicate)) {
    case BC_ComparisonPredicate_equal: break;
    case BC_ComparisonPredicate_not_equal: id = ordered ? VM_K_one_f32 : VM_K_une_f32; break;
    case BC_ComparisonPredicate_greater_than:
        swap = true;
        id = ordered ? VM_K_olt_f32 : VM_K_ult_f32;
        break;
    case BC_ComparisonPredicate_less_than: id = ordered ? VM_K_olt_f32 : VM_K_ult_f32; break;
    case BC_ComparisonPredicate_greater_than_or_equal:
        swap = true;
        id = ordered ? VM_K_ole_f32 : VM_K_ule_f32;
        break;
    case BC_ComparisonPredicate_less_than_or_equal: id = ordered ? VM_K_ole_f32 : VM_K_ule_f32; break;
    }
    emit_compare(e, op, vm_map_compare(e, id, kind_of(op)), swap);
}

/* ---- functions ---- */

void vm_sin(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_sin_f32, false);
}
void vm_cos(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_cos_f32, false);
}
void vm_tan(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_tan_f32, false);
}
void vm_sinh(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_sinh_f32, false);
}
void vm_cosh(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_cosh_f32, false);
}
void vm_tanh(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_tanh_f32, false);
}
void vm_exp(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_exp_f32, false);
}
void vm_exp2(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_exp2_f32, flag(op, F_exp2_flush_to_zero));
}
void vm_log(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_log_f32, false);
}
void vm_log2(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_log2_f32, false);
}
void vm_atan2(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_atan2_f32, false);
}
void vm_fpowf(vm_emit *e, const bc_op *op)
{
    emit_float(e, op, VM_K_powf_f32, false);
}

/* The exponent is a signed integer; kernels take i32. */
void vm_fpowi(vm_emit *e, const bc_op *op)
{
    bc_kind kind = kind_of(op), exponent = bc_elem_kind(bc_operands(op)[1]->type);
    vm_map map = vm_map_float(e, VM_K_powi_f32, VM_K_NONE, kind, 2, BC_RoundingMode_nearest_even, false);
    if (!map.custom)
        map.core = map.kernel;
    map.in_bytes[1] = (uint8_t)vm_elem_bytes(exponent);
    map.widen[1] = exponent == BC_I1 ? e->code->kernels->map[VM_K_sext_i1_i32] : vm_widen_int(e, exponent, 4, true);
    vm_map_make_wide(&map);
    vm_emit_map(e, op, &map);
}

/* ---- select ---- */

void vm_select(vm_emit *e, const bc_op *op)
{
    unsigned bytes = vm_elem_bytes(bc_elem_kind(vm_result(op, 0)->type));
    vm_map map = vm_map_plain(e, vm_kernel_of_int(VM_K_select_i8, bytes), 3, bytes, bytes);
    map.in_bytes[0] = 1;
    vm_emit_map(e, op, &map);
}
