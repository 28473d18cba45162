/* Conversions between number kinds, one element at a time. Source: operation reference, section 5. */
#include "codegen/map.h"


static const char *const rounding_suffix[] = {
    [BC_RoundingMode_nearest_even] = "rn", [BC_RoundingMode_zero] = "rz", [BC_RoundingMode_negative_inf] = "rm",
    [BC_RoundingMode_positive_inf] = "rp", [BC_RoundingMode_nearest_away] = "rna", [BC_RoundingMode_nearest_int_to_zero] = "rzi",
};

cg_val cg_from_f32(cg_func *c, bc_kind kind, const char *rounding, cg_val x)
{
    cg_val narrow = cg_new(c, CG_B16);
    if (kind == BC_F16)
        cg_ins(c, "cvt.%s.f16.f32 %v, %v", rounding, narrow, x);
    else
        cg_ins(c, "cvt.%s.bf16.f32 %v, %v", rounding, narrow, x);
    return narrow;
}

static const char *float_type(bc_kind kind)
{
    return kind == BC_F64 ? "f64" : kind == BC_F16 ? "f16" : kind == BC_BF16 ? "bf16" : "f32";
}

static bool is_base_float(bc_kind kind)
{
    return bc_kind_in(kind, BC_SET_BASE_FLOAT);
}

/* ---- integers ---- */

static cg_val extend(cg_func *c, const bc_op *op, bc_kind from, bc_kind to, cg_val x)
{
    bool is_signed = bc_attr_u(op, F_exti_signedness) == BC_Signedness_signed;
    return to == BC_I64 ? cg_to_b64(c, from, is_signed, x) : cg_from_b32(c, to, cg_to_b32(c, from, is_signed, x));
}

static cg_val truncate(cg_func *c, bc_kind from, bc_kind to, cg_val x)
{
    cg_val word = x;
    if (from == BC_I64) {
        word = cg_new(c, CG_B32);
        cg_ins(c, "cvt.u32.u64 %v, %v", word, cg_reg(c, x));
    } else if (from == BC_I16) {
        word = cg_to_b32(c, from, false, x);
    }
    return cg_from_b32(c, to, word);
}

/* ---- integer and float ---- */

static cg_val integer_to_float(cg_func *c, const bc_op *op, bc_kind from, bc_kind to, cg_val x)
{
    bool is_signed = bc_attr_u(op, F_itof_signedness) == BC_Signedness_signed;
    cg_val wide = cg_reg(c, from == BC_I64 ? x : cg_to_b32(c, from, is_signed, x)), result = cg_new(c, cg_class_of(to));
    const char *sign = is_signed ? "s" : "u";
    if (to == BC_BF16 && from != BC_I64 && bc_kind_bits(from) <= 16) { /* exact in f32 */
        cg_val f = cg_new(c, CG_B32);
        cg_ins(c, "cvt.rn.f32.%s32 %v, %v", sign, f, wide);
        return cg_from_f32(c, to, "rn", f);
    }
    if (!is_base_float(to) || to == BC_BF16) {
        cg_unsupported(c, op, "'itof' to %s has no PTX yet", bc_kinds[to].text);
        return result;
    }
    cg_ins(c, "cvt.rn.%s.%s%u %v, %v", float_type(to), sign, from == BC_I64 ? 64u : 32u, result, wide);
    return result;
}

static cg_val float_to_integer(cg_func *c, const bc_op *op, bc_kind from, bc_kind to, cg_val x)
{
    if (!is_base_float(from)) {
        cg_unsupported(c, op, "'ftoi' from %s has no PTX yet", bc_kinds[from].text);
        return x;
    }
    bool is_signed = bc_attr_u(op, F_ftoi_signedness) == BC_Signedness_signed;
    cg_val f = cg_reg(c, from == BC_F64 || from == BC_F32 ? x : cg_to_f32(c, from, x)), result;
    const char *type = from == BC_F64 ? "f64" : "f32", *sign = is_signed ? "s" : "u";
    if (to == BC_I1) {
        result = cg_new(c, CG_PRED);
        cg_ins(c, "setp.neu.%s %v, %v, %v", type, result, f, cg_reg(c, cg_const((cg_class)f.cls, 0)));
        return result;
    }
    result = cg_new(c, to == BC_I64 ? CG_B64 : CG_B32);
    cg_ins(c, "cvt.rzi.%s%u.%s %v, %v", sign, to == BC_I64 ? 64u : 32u, type, result, f);
    return to == BC_I64 ? result : cg_from_b32(c, to, result);
}

/* ---- floats ---- */

static cg_val float_to_float(cg_func *c, const bc_op *op, bc_kind from, bc_kind to, cg_val x)
{
    const char *rounding = rounding_suffix[bc_attr_u(op, F_ftof_rounding_mode)];
    bool widening = bc_kind_bits(to) > bc_kind_bits(from) && is_base_float(to) && is_base_float(from);
    cg_val result = cg_new(c, cg_class_of(to));
    if (!is_base_float(from) || !is_base_float(to)) {
        cg_unsupported(c, op, "'ftof' from %s to %s has no PTX yet", bc_kinds[from].text, bc_kinds[to].text);
        return result;
    }
    if (widening && to == BC_F32)
        return cg_to_f32(c, from, x);
    if (widening) {
        cg_val f = from == BC_F32 ? cg_reg(c, x) : cg_to_f32(c, from, x);
        cg_ins(c, "cvt.f64.f32 %v, %v", result, f);
        return result;
    }
    if (from == BC_F64 && to == BC_F32) {
        cg_ins(c, "cvt.%s.f32.f64 %v, %v", rounding, result, cg_reg(c, x));
        return result;
    }
    if (from == BC_F64) {
        cg_unsupported(c, op, "'ftof' from f64 to %s has no PTX yet", bc_kinds[to].text);
        return result;
    }
    return cg_from_f32(c, to, rounding, from == BC_F32 ? cg_reg(c, x) : cg_to_f32(c, from, x));
}

cg_val cg_convert_element(cg_func *c, const bc_op *op, cg_val x)
{
    bc_kind from = bc_elem_kind(bc_operands(op)[0]->type), to = bc_elem_kind(cg_result(op, 0)->type);
    switch ((int)op->opcode) {
    case OP_exti:
        return extend(c, op, from, to, x);
    case OP_trunci:
        return truncate(c, from, to, x);
    case OP_itof:
        return integer_to_float(c, op, from, to, x);
    case OP_ftoi:
        return float_to_integer(c, op, from, to, x);
    case OP_ftof:
        return float_to_float(c, op, from, to, x);
    default: /* bitcast, casts of pointers: the bits stay, and the register class with them */
        return x;
    }
}
