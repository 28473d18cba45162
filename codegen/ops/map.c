/* Element-wise ops: which template an op takes, and how narrow elements reach it. */
#include "codegen/ops/map.h"

#include <string.h>

#include "bytecode/number/number.h"
#include "codegen/facts/facts.h"
#include "codegen/math/math.h"
#include "codegen/ptx/access.h"
#include "codegen/ptx/ptx.h"
#include "codegen/values/strips.h"
#include "codegen/values/values.h"

/* ---- templates ---- */

typedef enum map_type {
    TYPE_NONE,
    TYPE_I32,
    TYPE_I64,
    TYPE_F32,
    TYPE_F64,
    TYPE_F16,
    TYPE_BF16,
    TYPE_F16X2,
    TYPE_BF16X2,
    TYPE_F32X2
} map_type;

typedef struct map_row {
    const char *name, *text;
    map_type type;
    uint32_t features; /* a target without them does not have the row */
} map_row;

static const map_row rows[] = {
#define MAP(op, type, text) {#op, text, TYPE_##type, 0},
#define MAP_IF(op, type, features, text) {#op, text, TYPE_##type, features},
#include "codegen/ops/maps.def"
};

/* The template of the op, `ending` ("", "_floor") and type; NULL: the target has none. */
static const char *find_template(const cg_func *c, const char *name, const char *ending, map_type type)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type && strncmp(rows[i].name, name, len) == 0 && strcmp(rows[i].name + len, ending) == 0)
            return (rows[i].features & ~c->target->features) ? NULL : rows[i].text;
    return NULL;
}

static map_type type_of(bc_kind kind)
{
    switch (kind) {
    case BC_I1:
    case BC_I8:
    case BC_I16:
    case BC_I32: return TYPE_I32;
    case BC_I64: return TYPE_I64;
    case BC_F32: return TYPE_F32;
    case BC_F64: return TYPE_F64;
    case BC_F16: return TYPE_F16;
    case BC_BF16: return TYPE_BF16;
    default: return TYPE_NONE;
    }
}

/* ---- maps ---- */

typedef struct modifiers {
    const char *items[16];
} modifiers;

static const char *rounding_text(uint64_t mode)
{
    static const char *const texts[] = {
        [BC_RoundingMode_nearest_even] = "rn",         [BC_RoundingMode_zero] = "rz",
        [BC_RoundingMode_negative_inf] = "rm",         [BC_RoundingMode_positive_inf] = "rp",
        [BC_RoundingMode_approx] = "approx",           [BC_RoundingMode_full] = "full",
        [BC_RoundingMode_nearest_int_to_zero] = "rzi", [BC_RoundingMode_nearest_away] = "rna",
    };
    return texts[mode];
}

/* An attribute of the op by the name of its row; `absent` when it has none. */
static uint64_t attribute(const ct_op *op, const char *name, uint64_t absent)
{
    const bc_op_info *info = bc_info(op->from);
    const bc_row *attrs = bc_attr_rows(info);
    for (unsigned i = 0; i < info->attr_rows; i++)
        if (strcmp(attrs[i].name, name) == 0)
            return bc_attrs(op->from)[i].u;
    return absent;
}

static modifiers modifiers_of(const ct_op *op)
{
    static const char *const widths[] = {[1] = "1", [8] = "8", [16] = "16"};
    uint32_t bits = bc_kind_bits(bc_elem_kind(cg_result(op, 0)->type));
    uint64_t rounding = attribute(op, "rounding_mode", BC_RoundingMode_nearest_even);
    return (modifiers){{
        "r",
        rounding_text(rounding),
        "f",
        attribute(op, "flush_to_zero", 0) ? ".ftz" : "",
        "n",
        attribute(op, "propagate_nan", 0) ? ".NaN" : "",
        "s",
        attribute(op, "signedness", 0) == BC_Signedness_signed ? "s" : "u",
        "b",
        bits <= 16 && widths[bits] ? widths[bits] : "",
        NULL,
    }};
}

/* Does the target lack the forms of min and max with NaN for the type? */
static bool lacks_nan(const cg_func *c, map_type type)
{
    return type == TYPE_F64 || (type == TYPE_F32 && !(c->target->features & CG_HAS_MIN_MAX));
}

/* Which of an op's templates; "" is the ordinary one. */
static const char *ending_of(const cg_func *c, const ct_op *op, map_type type)
{
    uint64_t rounding = attribute(op, "rounding_mode", BC_RoundingMode_nearest_even);
    bool nearest = rounding == BC_RoundingMode_nearest_even;
    switch ((int)op->opcode) {
    case OP_divi: {
        bool is_signed = attribute(op, "signedness", 0) == BC_Signedness_signed;
        rounding = ct_attr_u(op, F_divi_rounding);
        return rounding == BC_RoundingMode_negative_inf   ? "_floor"
               : rounding != BC_RoundingMode_positive_inf ? ""
               : is_signed                                ? "_ceil"
                                                          : "_ceilu";
    }
    case OP_maxf:
    case OP_minf: return lacks_nan(c, type) && attribute(op, "propagate_nan", 0) ? "_nan" : "";
    case OP_mulhii: return bc_kind_bits(bc_elem_kind(cg_result(op, 0)->type)) < 32 ? "_narrow" : "";
    case OP_addf:
    case OP_subf:
    case OP_mulf: return (type == TYPE_F16 || type == TYPE_BF16) && nearest ? "_rn" : "";
    case OP_fma: /* a sum of bf16 in f32 is not exact, and rounding twice to nearest would be wrong */
        return !nearest                                                              ? ""
               : type == TYPE_F16 || type == TYPE_BF16                               ? "_rn"
               : type == TYPE_F32 && bc_elem_kind(cg_result(op, 0)->type) == BC_BF16 ? "_odd"
                                                                                     : "";
    case OP_exp:
    case OP_tanh: return rounding == BC_RoundingMode_approx ? "_approx" : "";
    default: return "";
    }
}

static bool is_signed_op(const ct_op *op)
{
    return op->opcode == OP_absi || attribute(op, "signedness", 0) == BC_Signedness_signed;
}

/* A product of two numbers of 64 bits that both fit in 32, and quotients and remainders of those that are not negative,
   as 32-bit ones. False: it is none. */
static bool narrow_map(cg_func *c, const ct_op *op, const modifiers *m, const cg_val *operands, cg_val result)
{
    bool divides = op->opcode == OP_divi || op->opcode == OP_remi;
    if ((op->opcode != OP_muli && !divides) || !cg_is_narrow(op->operands[0]) || !cg_is_narrow(op->operands[1])
        || (divides && (cg_range_of(op->operands[0]).low < 0 || cg_range_of(op->operands[1]).low < 0)))
        return false;
    cg_val half[2], quotient;
    for (int i = 0; i < 2; i++)
        half[i] = cg_low_half(c, operands[i]);
    if (!divides) {
        cg_ins(c, "mul.wide.s32 %v, %r, %r", result, half[0], half[1]);
        return true;
    }
    quotient = cg_new(c, CG_B32);
    cg_template(c, find_template(c, ct_op_name(op), ending_of(c, op, TYPE_I32), TYPE_I32), quotient, half, m->items);
    cg_ins(c, "cvt.u64.u32 %v, %v", result, quotient);
    return true;
}

static cg_val integer_map(cg_func *c, const ct_op *op, bc_kind kind, const char *text, const modifiers *m,
                          const cg_val *operands)
{
    cg_val wide[4], result = cg_new(c, kind == BC_I64 ? CG_B64 : CG_B32);
    for (uint32_t i = 0; i < op->operand_count && i < 4; i++) {
        bool amount = i == 1 && (op->opcode == OP_shli || op->opcode == OP_shri);
        wide[i] = kind == BC_I64 ? operands[i] : cg_to_b32(c, kind, !amount && is_signed_op(op), operands[i]);
    }
    bool divides = op->opcode == OP_divi || op->opcode == OP_remi;
    if (divides && cg_divide_by_constant(c, op, is_signed_op(op), wide, result))
        return kind == BC_I64 ? result : cg_from_b32(c, kind, result);
    if (kind != BC_I64 || !narrow_map(c, op, m, wide, result))
        cg_template(c, text, result, wide, m->items);
    return kind == BC_I64 ? result : cg_from_b32(c, kind, result);
}

static const char *predicate_text(uint64_t predicate)
{
    static const char *const texts[] = {
        [BC_ComparisonPredicate_equal] = "eq",        [BC_ComparisonPredicate_not_equal] = "ne",
        [BC_ComparisonPredicate_less_than] = "lt",    [BC_ComparisonPredicate_less_than_or_equal] = "le",
        [BC_ComparisonPredicate_greater_than] = "gt", [BC_ComparisonPredicate_greater_than_or_equal] = "ge",
    };
    return texts[predicate];
}

/* Numbers of 64 bits that are numbers of 32 bits, extended by their sign, are compared as those, in either reading: the
   extension keeps both orders. */
static cg_val compare_integers(cg_func *c, const ct_op *op, bc_kind kind, const cg_val *operands)
{
    bool is_signed = is_signed_op(op),
         narrow = kind == BC_I64 && cg_is_narrow(op->operands[0]) && cg_is_narrow(op->operands[1]);
    cg_val result = cg_new(c, CG_PRED), x[2];
    for (int i = 0; i < 2; i++) {
        x[i] = narrow           ? cg_low_half(c, operands[i])
               : kind == BC_I64 ? operands[i]
                                : cg_to_b32(c, kind, is_signed, operands[i]);
        x[i] = cg_reg(c, x[i]);
    }
    cg_ins(c, "setp.%s.%s%u %v, %v, %v", predicate_text(attribute(op, "comparison_predicate", 0)),
           is_signed ? "s" : "u", kind == BC_I64 && !narrow ? 64u : 32u, result, x[0], x[1]);
    return result;
}

static cg_val compare(cg_func *c, const ct_op *op, const cg_val *operands)
{
    bc_kind kind = bc_elem_kind(ct_operands(op)[0]->type);
    if (op->opcode == OP_cmpi)
        return compare_integers(c, op, kind, operands);
    cg_val result = cg_new(c, CG_PRED), x[2];
    const char *predicate = predicate_text(attribute(op, "comparison_predicate", 0));
    bool own = kind != BC_BF16 || c->target->features & CG_HAS_BF16_ARITH; /* an instruction of its own */
    for (int i = 0; i < 2; i++)
        x[i] = cg_reg(c, own ? operands[i] : cg_to_f32(c, kind, operands[i]));
    bool unordered = attribute(op, "comparison_ordering", 0) == BC_ComparisonOrdering_unordered;
    cg_ins(c, "setp.%s%s.%s %v, %v, %v", predicate, unordered ? "u" : "", own ? bc_kinds[kind].text : "f32", result,
           x[0], x[1]);
    return result;
}

static cg_val pointer_offset(cg_func *c, const ct_op *op, const cg_val *operands)
{
    const bc_type *pointer = cg_result(op, 0)->type->elem;
    bc_kind pointee = (bc_kind)pointer->elem->kind, kind = bc_elem_kind(ct_operands(op)[1]->type);
    uint32_t size = bc_kind_memory_bytes(pointee);
    cg_val result = cg_new(c, CG_B64);
    if (size && !operands[1].known && (kind != BC_I64 || cg_is_narrow(op->operands[1]))) {
        cg_val index = kind == BC_I64 ? cg_low_half(c, operands[1]) : cg_to_b32(c, kind, true, operands[1]);
        cg_ins(c, "mad.wide.s32 %v, %v, %u, %r", result, index, size, operands[0]);
        return result;
    }
    cg_val index = cg_to_b64(c, kind, true, operands[1]), bytes = index;
    if (index.known) {
        bytes = cg_const(CG_B64, size ? index.bits * size : (uint64_t)((int64_t)index.bits >> 1));
    } else if (size != 1) {
        bytes = cg_new(c, CG_B64);
        if (size && c->groups) /* producers: ptxas makes wide multiplications of the other form, which cost them more */
            cg_ins(c, "shl.b64 %v, %v, %u", bytes, index, tv_trailing_zeros(size));
        else if (size)
            cg_ins(c, "mul.lo.s64 %v, %v, %u", bytes, index, size);
        else
            cg_ins(c, "shr.s64 %v, %v, 1", bytes, index);
    }
    cg_ins(c, "add.s64 %v, %r, %v", result, operands[0], bytes);
    return result;
}

/* Turns a constant power of two into its reciprocal, if that is normal, too: x / 2^k and x 2^-k are rounded from the
   same number. */
static bool invert_power_of_two(map_type type, cg_val *x)
{
    unsigned fraction = type == TYPE_F64 ? 52 : 23;
    uint64_t twice_bias = type == TYPE_F64 ? 2046 : 254, exponent = x->bits >> fraction & (twice_bias + 1);
    bool fits = x->known && !(x->bits & (((uint64_t)1 << fraction) - 1)) && exponent && exponent < twice_bias;
    if (fits)
        x->bits += (twice_bias - 2 * exponent) << fraction; /* modulo 2^64 */
    return fits;
}

/* The template of a division: of one by a number by the instruction for reciprocals, which rounds the same number or,
   where approximate, gives less of an error; by a power of two by its reciprocal. */
static const char *simpler_division(const cg_func *c, const ct_op *op, map_type type, cg_val *x, const char *ordinary,
                                    modifiers *m)
{
    const uint64_t one = type == TYPE_F64 ? UINT64_C(0x3FF0000000000000) : 0x3F800000;
    bool is_approximate = attribute(op, "rounding_mode", 0) > BC_RoundingMode_positive_inf;
    if (invert_power_of_two(type, &x[1])) {
        m->items[1] = is_approximate ? "rn" : m->items[1]; /* it is exact then */
        return find_template(c, "divf", "_power", type);
    }
    if (!x[0].known || x[0].bits != one)
        return ordinary;
    m->items[1] = is_approximate ? "approx" : m->items[1];
    return find_template(c, "divf", "_one", type);
}

/* By a template, or a function of codegen/math/math.def; false: by neither. Integers among the operands come in 32
 * bits. */
static bool float_map(cg_func *c, const ct_op *op, map_type type, const modifiers *m, const cg_val *operands,
                      cg_val *out_result)
{
    const char *name = ct_op_name(op), *ending = ending_of(c, op, type), *text = find_template(c, name, ending, type);
    modifiers modified = *m;
    cg_val x[4];
    for (uint32_t i = 0; i < op->operand_count && i < 4; i++) {
        bc_kind kind = bc_elem_kind(ct_operands(op)[i]->type);
        x[i] = type_of(kind) == TYPE_I32 ? cg_to_b32(c, kind, true, operands[i]) : operands[i];
    }
    if (op->opcode == OP_divf && (type == TYPE_F32 || type == TYPE_F64))
        text = simpler_division(c, op, type, x, text, &modified);
    if (!text)
        return (type == TYPE_F32 || type == TYPE_F64)
               && cg_math_element(c, name, ending, type == TYPE_F64, x, out_result);
    *out_result = cg_new(c, type == TYPE_F64 ? CG_B64 : type == TYPE_F32 ? CG_B32 : CG_B16);
    cg_template(c, text, *out_result, x, modified.items);
    return true;
}

static cg_val choose(cg_func *c, const ct_op *op, const cg_val *operands)
{
    (void)op;
    return cg_select(c, operands[0], operands[1], operands[2]);
}

static cg_val convert(cg_func *c, const ct_op *op, const cg_val *operands)
{
    return cg_convert_element(c, op, operands[0]);
}

/* NULL: by a template or a function of codegen/math/math.def. */
static cg_val (*const elements[OP_LIMIT])(cg_func *, const ct_op *, const cg_val *) = {
#define ELEMENT(op, function) [OP_##op] = function,
#include "codegen/ops/maps.def"
};

/* An element-wise op without code does not compile, because made_<op> is no type then. */
#define MAP(op, type, text) typedef char made_##op;
#define ELEMENT(op, function) typedef char made_##op;
#include "codegen/ops/maps.def"
#define FUNCTION(op, f32, f64, operands, form) typedef char made_##op;
#include "codegen/math/math.def"
#define HOOK(op) typedef char made_##op;
#include "codegen/ops/hooks.def"
typedef char made_constant, made_iota, made_reshape, made_broadcast, made_permute; /* codegen/ops/lazy.c */
enum {
#define OP(name, ...) SIZE_OF_##name = sizeof(made_##name),
#include "bytecode/ops.def"
};

/* One element. */
static cg_val map_element(cg_func *c, const ct_op *op, const cg_val *operands)
{
    bc_kind kind = bc_elem_kind(cg_result(op, 0)->type);
    if (elements[op->opcode])
        return elements[op->opcode](c, op, operands);
    map_type type = type_of(kind);
    const char *name = ct_op_name(op);
    modifiers m = modifiers_of(op);
    cg_val result;
    if (kind == BC_I1 && cg_is_bitwise(op->opcode)) {
        result = cg_new(c, CG_PRED);
        cg_ins(c, "%s.pred %v, %r, %r",
               op->opcode == OP_andi  ? "and"
               : op->opcode == OP_ori ? "or"
                                      : "xor",
               result, operands[0], operands[1]);
        return result;
    }
    if (type == TYPE_I32 || type == TYPE_I64) {
        const char *text = find_template(c, name, ending_of(c, op, type), type);
        if (text)
            return integer_map(c, op, kind, text, &m, operands);
    } else if (float_map(c, op, type, &m, operands, &result)) {
        return result;
    } else if (type == TYPE_F16 || type == TYPE_BF16) { /* as f32, then rounded */
        cg_val wide[4];
        for (uint32_t i = 0; i < op->operand_count && i < 4; i++)
            wide[i] = bc_elem_kind(ct_operands(op)[i]->type) == kind ? cg_widened(c, kind, operands[i]) : operands[i];
        uint64_t rounding = attribute(op, "rounding_mode", BC_RoundingMode_nearest_even);
        if (float_map(c, op, TYPE_F32, &m, wide, &result))
            return cg_from_f32(c, kind, rounding_text(rounding <= BC_RoundingMode_positive_inf ? rounding : 0), result);
    }
    cg_unsupported(c, op, "'%s' on %s has no PTX yet", name, bc_kinds[kind].text);
    return cg_const(cg_class_of(kind), 0);
}

/* Two elements as one register: 16-bit floats in 32 bits, f32 in 64. */
static cg_val join_pair(cg_func *c, const cg_val *x)
{
    if (x[0].cls == CG_B16)
        return cg_join(c, x, 2, 16);
    cg_val wide = cg_new(c, CG_B64);
    cg_ins(c, "mov.b64 %v, {%r, %r}", wide, x[0], x[1]);
    return wide;
}

static void split_pair(cg_func *c, bc_kind kind, cg_val wide, cg_val *out)
{
    if (kind != BC_F32) {
        cg_split(c, kind, wide, 2, 16, out);
        return;
    }
    out[0] = cg_new(c, CG_B32);
    out[1] = cg_new(c, CG_B32);
    cg_ins(c, "mov.b64 {%v, %v}, %v", out[0], out[1], wide);
}

/* Two elements by one instruction; false: there is none. x[i]: the two of operand i. */
static bool map_pair(cg_func *c, const ct_op *op, const cg_val *const *x, cg_val *out)
{
    bc_kind kind = bc_elem_kind(cg_result(op, 0)->type);
    map_type one = type_of(kind), two = one == TYPE_F16 ? TYPE_F16X2 : one == TYPE_BF16 ? TYPE_BF16X2 : TYPE_F32X2;
    if (op->opcode == OP_ftof || op->opcode == OP_itof)
        return cg_convert_pair(c, op, x[0], out);
    if (one != TYPE_F16 && one != TYPE_BF16 && one != TYPE_F32)
        return false;
    const char *text = find_template(c, ct_op_name(op), ending_of(c, op, one), two);
    if (!text)
        return false;
    cg_val words[4], result = cg_new(c, one == TYPE_F32 ? CG_B64 : CG_B32);
    for (uint32_t i = 0; i < op->operand_count; i++)
        words[i] = join_pair(c, x[i]);
    modifiers m = modifiers_of(op);
    cg_template(c, text, result, words, m.items);
    split_pair(c, kind, result, out);
    return true;
}

/* An integer that the facts know. */
static cg_val constant_element(bc_kind kind, int64_t value)
{
    uint32_t bits = bc_kind_bits(kind);
    return cg_const(cg_class_of(kind), (uint64_t)value & (bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX));
}

/* Is it a division of f32, or of what is computed as such, to the nearest? */
static bool divides_to_nearest(const ct_op *op, bc_kind kind)
{
    return op->opcode == OP_divf && (kind == BC_F32 || kind == BC_F16 || kind == BC_BF16)
           && attribute(op, "rounding_mode", BC_RoundingMode_nearest_even) == BC_RoundingMode_nearest_even
           && !attribute(op, "flush_to_zero", 0);
}

/* Was the float converted from f16, or from an integer? Then it is zero or no smaller than 2^-24. */
static bool is_moderate(const ct_value *v)
{
    const ct_op *op = v->op;
    return op && (op->opcode == OP_itof || (op->opcode == OP_ftof && bc_elem_kind(ct_operands(op)[0]->type) == BC_F16));
}

/* All elements of a thread side by side; false: one by one. */
static bool map_together(cg_func *c, const ct_op *op, bc_kind kind, const cg_val *const *operands, uint32_t count,
                         uint32_t idle, cg_val *out)
{
    if (divides_to_nearest(op, kind)) {
        const cg_division d = {.kind = kind,
                               .moderate = is_moderate(ct_operands(op)[0]),
                               .dividends = operands[0],
                               .divisors = operands[1]};
        return cg_divide_together(c, &d, count, idle, out);
    }
    return cg_function_together(c, ct_op_name(op), kind, operands[0], count, idle, out);
}

/* The integers from which the sum's or difference's first operand was converted, in the same layout. NULL: it was not,
   or they are not there. */
static const cg_val *summed_integers(cg_func *c, const ct_op *op, const cg_layout *l)
{
    const ct_op *conversion = op->operand_count ? ct_operands(op)[0]->op : NULL;
    if ((op->opcode != OP_addf && op->opcode != OP_subf) || !conversion || conversion->opcode != OP_itof
        || attribute(op, "rounding_mode", BC_RoundingMode_nearest_even) != BC_RoundingMode_nearest_even
        || cg_strip_varies(c, l))
        return NULL;
    const cg_variant *found = cg_find_copy(cg_value_of(c, ct_operands(conversion)[0]), l);
    return found ? found->regs : NULL;
}

/* The sums of two integers as floats and a number, which both are added to. */
static bool sum_of_integers(cg_func *c, const ct_op *op, const cg_val *integers, const cg_val *number, cg_val *out)
{
    if (!number[0].known || !number[1].known || number[0].bits != number[1].bits)
        return false;
    double x = bc_float_value(bc_elem_kind(cg_result(op, 0)->type), number[0].bits);
    return cg_convert_pair_to_sum(c, ct_operands(op)[0]->op, op->opcode == OP_subf ? -x : x, integers, out);
}

/* The elements from register r on that go together: four bytes, two neighbours, or one. integers: what those of a sum
   were converted from, or NULL. Gives their number. */
static uint32_t map_next(cg_func *c, const ct_op *op, const cg_val *const *operands, const cg_val *integers, uint32_t r,
                         uint32_t together, cg_val *out)
{
    const cg_val *x[4];
    cg_val one[4];
    for (uint32_t i = 0; i < op->operand_count && i < 4; i++) {
        x[i] = operands[i] + r;
        one[i] = operands[i][r];
    }
    if (r % 4 == 0 && together >= 4 && cg_map_bytes(c, op, x, out + r))
        return 4;
    bool pair = r % 2 == 0 && together >= 2;
    if (pair && ((integers && sum_of_integers(c, op, integers + r, x[1], out + r)) || map_pair(c, op, x, out + r)))
        return 2;
    out[r] = map_element(c, op, one);
    return 1;
}

cg_val *cg_map_regs(cg_func *c, const ct_op *op, const cg_layout *l)
{
    const cg_val *operands[4] = {0};
    const cg_fact *fact = cg_result(op, 0)->fact;
    bc_kind kind = bc_elem_kind(cg_result(op, 0)->type);
    cg_val *out = cg_vals(c, cg_layout_regs(l));
    if (fact->constant && bc_kind_in(kind, BC_SET_INT)) {
        cg_val value = constant_element(kind, fact->value);
        for (uint32_t r = 0; out && r < cg_layout_regs(l); r++)
            out[r] = value;
        return out;
    }
    for (uint32_t i = 0; i < op->operand_count && i < 4; i++) {
        operands[i] = cg_get(c, ct_operands(op)[i], l);
        if (!operands[i])
            return NULL;
    }
    const cg_val *integers = summed_integers(c, op, l);
    uint32_t idle = cg_idle_bits(c, op, l, operands), most = l->reg_bits > 1 ? 4 : l->reg_bits + 1,
             together = idle & 1   ? 1
                        : idle & 2 ? 2
                                   : most;
    if (out
        && (cg_compare_together(c, op, l, operands, idle, out)
            || map_together(c, op, kind, operands, cg_layout_regs(l), idle, out)))
        return out;
    for (uint32_t r = 0, count; out && r < cg_layout_regs(l) && !c->failed; r += count) {
        count = r & idle ? 1 : map_next(c, op, operands, integers, r, together, out);
        if (r & idle)
            out[r] = out[r & ~idle];
    }
    return out;
}
