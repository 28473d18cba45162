/* Tests operands, element by element before the op runs, for values with which the result of the op is undefined, and
   for facts that are false. The rules are those of the core reference: integer arithmetic, conversions, pointers,
   assume, for. */
#include <math.h>

#include "bytecode/number/number.h"
#include "vm/check/values.h"
#include "vm/compile/access.h"

/* ---- the tests ---- */

static int64_t as_signed(const vm_value_check *c, uint64_t x)
{
    return bc_int_sign_extend(x, c->width);
}
static uint64_t sign_of(const vm_value_check *c, uint64_t x)
{
    return x >> (c->width - 1) & 1;
}
static uint64_t smallest(const vm_value_check *c)
{
    return (uint64_t)1 << (c->width - 1);
}

static bool divides_by_zero(const vm_value_check *c, uint64_t a, uint64_t b)
{
    (void)c;
    (void)a;
    return b == 0;
}
static bool quotient_overflows(const vm_value_check *c, uint64_t a, uint64_t b)
{
    return a == smallest(c) && b == bc_int_mask(c->width);
}
static bool shifts_too_far(const vm_value_check *c, uint64_t a, uint64_t b)
{
    (void)a;
    return b >= c->width;
}

static bool add_wraps_signed(const vm_value_check *c, uint64_t a, uint64_t b)
{
    uint64_t r = a + b;
    return sign_of(c, ~(a ^ b) & (a ^ r));
}
static bool add_wraps_unsigned(const vm_value_check *c, uint64_t a, uint64_t b)
{
    return ((a + b) & bc_int_mask(c->width)) < a;
}
static bool sub_wraps_signed(const vm_value_check *c, uint64_t a, uint64_t b)
{
    uint64_t r = a - b;
    return sign_of(c, (a ^ b) & (a ^ r));
}
static bool sub_wraps_unsigned(const vm_value_check *c, uint64_t a, uint64_t b)
{
    (void)c;
    return a < b;
}
static bool mul_wraps_signed(const vm_value_check *c, uint64_t a, uint64_t b)
{
    int64_t x = as_signed(c, a), y = as_signed(c, b);
    uint64_t high, low = tv_multiply_wide((uint64_t)x, (uint64_t)y, &high);
    high -= (x < 0 ? (uint64_t)y : 0) + (y < 0 ? (uint64_t)x : 0);
    bool fits_64 = high == (low >> 63 ? UINT64_MAX : 0);
    return !fits_64 || as_signed(c, low) != (int64_t)low;
}
static bool mul_wraps_unsigned(const vm_value_check *c, uint64_t a, uint64_t b)
{
    uint64_t high, low = tv_multiply_wide(a, b, &high);
    return high || low > bc_int_mask(c->width);
}
static bool shift_wraps_signed(const vm_value_check *c, uint64_t a, uint64_t b)
{
    return b < c->width && as_signed(c, a << b) >> b != as_signed(c, a);
}
static bool shift_wraps_unsigned(const vm_value_check *c, uint64_t a, uint64_t b)
{
    return b < c->width && (a << b & bc_int_mask(c->width)) >> b != a;
}
static bool negation_wraps(const vm_value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    return a == smallest(c);
}
static bool cut_changes_signed(const vm_value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    return as_signed(c, a) != bc_int_sign_extend(a, bc_kind_bits(c->a_kind));
}
static bool cut_changes_unsigned(const vm_value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    return a > bc_int_mask(c->width);
}

/* Rounds towards zero; NaN never fits. The bounds are powers of two, which a double holds exactly. */
static bool float_does_not_fit(const vm_value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    double x = trunc(bc_float_value(c->a_kind, a)), end = ldexp(1, c->width - c->is_signed);
    return !(x >= (c->is_signed ? -end : 0) && x < end);
}

static bool is_negative(const vm_value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    return bc_float_value(c->a_kind, a) < 0;
}

static bool pointer_wraps(const vm_value_check *c, uint64_t a, uint64_t b)
{
    int64_t elements = bc_int_sign_extend(b, bc_kind_bits(c->b_kind));
    if (elements > INT64_MAX / c->scale || elements < -(INT64_MAX / c->scale))
        return true;
    uint64_t moved = a + (uint64_t)(elements * c->scale);
    return elements < 0 ? moved > a : moved < a;
}

/* ---- which op gets which test ---- */

static void emit_test(vm_emit *e, const bc_op *op, bool binary, vm_value_test *test, bc_rule rule, const char *phrase)
{
    vm_value_check *c = vm_new_check(e, op, binary, test, rule, phrase);
    vm_append(e, &c->head);
}

/* Division of i1 cannot overflow: -1 / -1 is 1. */
static void emit_division(vm_emit *e, const bc_op *op, bool is_signed)
{
    emit_test(e, op, true, divides_by_zero, BC_RULE_X_DIV_01, "divides by 0");
    if (is_signed && bc_elem_kind(bc_operands(op)[0]->type) != BC_I1)
        emit_test(e, op, true, quotient_overflows, BC_RULE_X_DIV_02, "overflows");
}

/* What the overflow attribute promises. signed_test or unsigned_test NULL: cannot break. */
static void emit_promise(vm_emit *e, const bc_op *op, int row, vm_value_test *signed_test, vm_value_test *unsigned_test)
{
    uint64_t promise = bc_attr_u(op, row);
    bool binary = op->operand_count > 1, both = promise == BC_IntegerOverflow_no_wrap;
    if (signed_test && (both || promise == BC_IntegerOverflow_no_signed_wrap)) {
        vm_value_check *c =
            vm_new_check(e, op, binary, signed_test, BC_RULE_X_OVF_01, "is no signed number of this width");
        c->width = (uint8_t)bc_kind_bits(bc_elem_kind(vm_result(op, 0)->type));
        vm_append(e, &c->head);
    }
    if (unsigned_test && (both || promise == BC_IntegerOverflow_no_unsigned_wrap)) {
        vm_value_check *c =
            vm_new_check(e, op, binary, unsigned_test, BC_RULE_X_OVF_02, "is no unsigned number of this width");
        c->width = (uint8_t)bc_kind_bits(bc_elem_kind(vm_result(op, 0)->type));
        vm_append(e, &c->head);
    }
}

/* Conversions to i1 always have a result; with the saturating flag, so do conversions to every type. */
static void emit_ftoi(vm_emit *e, const bc_op *op)
{
    bc_kind to = bc_elem_kind(vm_result(op, 0)->type);
    uint64_t saturating = bc_attr_u(op, F_ftoi_saturating);
    if (to == BC_I1 || (saturating != 0 && saturating != BC_ABSENT))
        return;
    vm_value_check *c = vm_new_check(e, op, false, float_does_not_fit, BC_RULE_X_CVT_01, "does not fit the result");
    c->width = (uint8_t)bc_kind_bits(to);
    c->is_signed = bc_attr_u(op, F_ftoi_signedness) == BC_Signedness_signed;
    vm_append(e, &c->head);
}

/* f8E5M3FNU has no sign. */
static void emit_ftof(vm_emit *e, const bc_op *op)
{
    if (bc_elem_kind(vm_result(op, 0)->type) != BC_FNV8E5M3FNU)
        return;
    vm_value_check *c = vm_new_check(e, op, false, is_negative, BC_RULE_X_CVT_02, "has no negative result");
    vm_append(e, &c->head);
}

/* f8E4M3FN has a sign, which scales must not have; other scales have none. */
static void emit_scales(vm_emit *e, const bc_op *op)
{
    const bc_value *scales[] = {bc_operand(op, F_mmaf_scaled_lhs_scale), bc_operand(op, F_mmaf_scaled_rhs_scale)};
    for (unsigned i = 0; i < 2; i++)
        if (bc_elem_kind(scales[i]->type) == BC_F8E4M3FN) {
            vm_value_check *c =
                vm_new_check_of(e, op, scales[i], NULL, is_negative, BC_RULE_X_MMS_01, "as a scale is negative");
            vm_append(e, &c->head);
        }
}

/* Pointers to f4 move by half bytes; half a byte more or less wraps nowhere. */
static void emit_offset(vm_emit *e, const bc_op *op)
{
    unsigned bytes = bc_kind_memory_bytes((bc_kind)bc_operands(op)[0]->type->elem->elem->kind);
    vm_value_check *c = vm_new_check(e, op, true, pointer_wraps, BC_RULE_X_PTR_01, "leaves the address space");
    c->scale = bytes ? bytes : 1;
    vm_append(e, &c->head);
}

/* ---- for ---- */

typedef struct for_check {
    vm_inst head;
    size_t lower, upper, step;
    uint8_t bytes, width;
    bool is_unsigned;
} for_check;

/* Flipping the sign bit maps signed order to unsigned order. */
static const vm_inst *for_check_run(vm_frame *f, const vm_inst *inst)
{
    const for_check *c = (const for_check *)inst;
    uint64_t turn = c->is_unsigned ? 0 : (uint64_t)1 << (c->width - 1), end = bc_int_mask(c->width);
    uint64_t lower = vm_pattern_at(f, c->lower, 0, c->bytes) ^ turn,
             upper = vm_pattern_at(f, c->upper, 0, c->bytes) ^ turn;
    uint64_t step = vm_pattern_at(f, c->step, 0, c->bytes);
    if (lower >= upper || step == 0 || (!c->is_unsigned && step >> (c->width - 1)))
        return inst->next; /* no iteration; or the loop itself traps */
    uint64_t last = lower + (upper - 1 - lower) / step * step;
    if (step > end - last)
        vm_find(f, BC_RULE_X_LOP_02, inst->op, NULL, "the last index plus the step, %llu, is more than i%u can hold",
                (unsigned long long)step, c->width);
    return inst->next;
}

static void emit_for(vm_emit *e, const bc_op *op)
{
    bc_value **operands = bc_operands(op);
    bc_kind kind = bc_elem_kind(operands[0]->type);
    uint64_t flag = bc_attr_u(op, F_for_unsigned_cmp);
    for (unsigned i = 0; i < 3; i++)
        vm_need_stored(e, operands[i]);
    for_check *c = vm_new_inst(e, op, for_check_run, for_check);
    c->bytes = (uint8_t)vm_elem_bytes(kind);
    c->width = (uint8_t)bc_kind_bits(kind);
    c->is_unsigned = flag != 0 && flag != BC_ABSENT;
    vm_read(e, &c->head, &c->lower, operands[0]);
    vm_read(e, &c->head, &c->upper, operands[1]);
    vm_read(e, &c->head, &c->step, operands[2]);
    vm_append(e, &c->head);
}

/* ---- extents of views ---- */

typedef struct extent_check {
    vm_inst head;
    size_t record;
    const bc_type *view;
} extent_check;

static const vm_inst *extent_run(vm_frame *f, const vm_inst *inst)
{
    const extent_check *c = (const extent_check *)inst;
    const vm_record *record = vm_at(f, c->record);
    for (uint32_t i = 0; i < inst->op->result_count; i++) {
        bc_kind kind = bc_elem_kind(vm_result(inst->op, i)->type);
        uint64_t size = (uint64_t)record->dims[vm_view_dim(c->view, i)], step = (uint64_t)vm_view_step(c->view, i);
        uint64_t extent = size / step + (size % step != 0);
        if (extent > bc_int_mask(bc_kind_bits(kind)))
            vm_find(f, BC_RULE_X_CVT_02, inst->op, NULL, "the extent of dimension %u is %llu, which does not fit %s", i,
                    (unsigned long long)extent, bc_kinds[kind].text);
    }
    return inst->next;
}

static void emit_extents(vm_emit *e, const bc_op *op)
{
    const bc_value *view = bc_operands(op)[0];
    extent_check *c = vm_new_inst(e, op, extent_run, extent_check);
    c->view = view->type;
    vm_read(e, &c->head, &c->record, view);
    vm_append(e, &c->head);
}

/* ---- all of them ---- */

static void emit_undefined(vm_emit *e, const bc_op *op)
{
    switch (op->opcode) {
    case OP_divi: emit_division(e, op, bc_attr_u(op, F_divi_signedness) == BC_Signedness_signed); break;
    case OP_remi: emit_division(e, op, bc_attr_u(op, F_remi_signedness) == BC_Signedness_signed); break;
    case OP_addi: emit_promise(e, op, F_addi_overflow, add_wraps_signed, add_wraps_unsigned); break;
    case OP_subi: emit_promise(e, op, F_subi_overflow, sub_wraps_signed, sub_wraps_unsigned); break;
    case OP_muli: emit_promise(e, op, F_muli_overflow, mul_wraps_signed, mul_wraps_unsigned); break;
    case OP_negi: emit_promise(e, op, F_negi_overflow, negation_wraps, NULL); break;
    case OP_shli:
        emit_test(e, op, true, shifts_too_far, BC_RULE_X_SHF_01, "shifts out every bit");
        emit_promise(e, op, F_shli_overflow, shift_wraps_signed, shift_wraps_unsigned);
        break;
    case OP_shri: emit_test(e, op, true, shifts_too_far, BC_RULE_X_SHF_01, "shifts out every bit"); break;
    case OP_trunci: emit_promise(e, op, F_trunci_overflow, cut_changes_signed, cut_changes_unsigned); break;
    case OP_ftoi: emit_ftoi(e, op); break;
    case OP_ftof: emit_ftof(e, op); break;
    case OP_get_tensor_shape:
    case OP_get_index_space_shape: emit_extents(e, op); break;
    case OP_mmaf_scaled: emit_scales(e, op); break;
    case OP_offset: emit_offset(e, op); break;
    case OP_for: emit_for(e, op); break;
    default: break;
    }
}

void vm_emit_value_checks(vm_emit *e, const bc_op *op)
{
    uint32_t wanted = e->vm->options.checks;
    if (op->opcode == OP_assume && (wanted & TV_CHECK_ASSUME))
        vm_emit_assume(e, op);
    if (wanted & TV_CHECK_VALUES)
        emit_undefined(e, op);
}

bool vm_body_has_checks(const vm_emit *e, const bc_block *body)
{
    if (!(e->vm->options.checks & TV_CHECK_VALUES))
        return false;
    for (const bc_op *op = body->first; op; op = bc_next_op(op, body))
        switch (op->opcode) {
        case OP_divi:
        case OP_remi:
        case OP_shli:
        case OP_shri:
        case OP_ftoi:
        case OP_ftof:
        case OP_offset: return true;
        case OP_addi:
        case OP_subi:
        case OP_muli:
        case OP_negi:
        case OP_trunci:
            /* their promise is the one attribute they have */
            if (bc_attrs(op)[0].u != BC_IntegerOverflow_none)
                return true;
            break;
        default: break;
        }
    return false;
}
