/* Operands for which an op's result is undefined, and facts that are false: looked at element by element before the op
   runs. The rules are those of the core reference: integer arithmetic, conversions, pointers, assume, for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "vm/check/check.h"
#include "vm/compile/access.h"

typedef struct value_check value_check;

/* Whether the op goes wrong for the element with these patterns. */
typedef bool value_test(const value_check *c, uint64_t a, uint64_t b);

/* One question about all elements of an op. */
struct value_check {
    vm_inst head;
    value_test *test;
    bc_rule rule;
    const char *phrase; /* "divides by 0" */
    size_t a, b;        /* the operands; b only where has_b */
    size_t n;
    const bc_type *type; /* of the tile */
    bc_kind a_kind, b_kind;
    uint8_t a_bytes, b_bytes;
    uint8_t width; /* bits that the test is about */
    bool has_b, is_signed;
    int64_t low, high; /* bounded; div_by: low is the divisor */
    int64_t scale;     /* offset: bytes of an element */
};

/* ---- the tests ---- */

static int64_t as_signed(const value_check *c, uint64_t x)
{
    return bc_int_sign_extend(x, c->width);
}
static uint64_t sign_of(const value_check *c, uint64_t x)
{
    return x >> (c->width - 1) & 1;
}
static uint64_t smallest(const value_check *c)
{
    return (uint64_t)1 << (c->width - 1);
}

static bool divides_by_zero(const value_check *c, uint64_t a, uint64_t b)
{
    (void)c;
    (void)a;
    return b == 0;
}
static bool quotient_overflows(const value_check *c, uint64_t a, uint64_t b)
{
    return a == smallest(c) && b == bc_int_mask(c->width);
}
static bool shifts_too_far(const value_check *c, uint64_t a, uint64_t b)
{
    (void)a;
    return b >= c->width;
}

static bool add_wraps_signed(const value_check *c, uint64_t a, uint64_t b)
{
    uint64_t r = a + b;
    return sign_of(c, ~(a ^ b) & (a ^ r));
}
static bool add_wraps_unsigned(const value_check *c, uint64_t a, uint64_t b)
{
    return ((a + b) & bc_int_mask(c->width)) < a;
}
static bool sub_wraps_signed(const value_check *c, uint64_t a, uint64_t b)
{
    uint64_t r = a - b;
    return sign_of(c, (a ^ b) & (a ^ r));
}
static bool sub_wraps_unsigned(const value_check *c, uint64_t a, uint64_t b)
{
    (void)c;
    return a < b;
}
static bool mul_wraps_signed(const value_check *c, uint64_t a, uint64_t b)
{
    int64_t x = as_signed(c, a), y = as_signed(c, b);
    uint64_t high, low = tv_multiply_wide((uint64_t)x, (uint64_t)y, &high);
    high -= (x < 0 ? (uint64_t)y : 0) + (y < 0 ? (uint64_t)x : 0);
    bool fits_64 = high == (low >> 63 ? UINT64_MAX : 0);
    return !fits_64 || as_signed(c, low) != (int64_t)low;
}
static bool mul_wraps_unsigned(const value_check *c, uint64_t a, uint64_t b)
{
    uint64_t high, low = tv_multiply_wide(a, b, &high);
    return high || low > bc_int_mask(c->width);
}
static bool shift_wraps_signed(const value_check *c, uint64_t a, uint64_t b)
{
    return b < c->width && as_signed(c, a << b) >> b != as_signed(c, a);
}
static bool shift_wraps_unsigned(const value_check *c, uint64_t a, uint64_t b)
{
    return b < c->width && (a << b & bc_int_mask(c->width)) >> b != a;
}
static bool negation_wraps(const value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    return a == smallest(c);
}
static bool cut_changes_signed(const value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    return as_signed(c, a) != bc_int_sign_extend(a, bc_kind_bits(c->a_kind));
}
static bool cut_changes_unsigned(const value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    return a > bc_int_mask(c->width);
}

/* Towards zero; NaN fits nowhere. Bounds that a double cannot hold are powers of two, which compare right. */
static bool float_does_not_fit(const value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    double x = trunc(bc_float_value(c->a_kind, a)), end = ldexp(1, c->width - c->is_signed);
    return !(x >= (c->is_signed ? -end : 0) && x < end);
}

static bool is_negative(const value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    return bc_float_value(c->a_kind, a) < 0;
}

static bool pointer_wraps(const value_check *c, uint64_t a, uint64_t b)
{
    int64_t elements = bc_int_sign_extend(b, bc_kind_bits(c->b_kind));
    if (elements > INT64_MAX / c->scale || elements < -(INT64_MAX / c->scale))
        return true;
    uint64_t moved = a + (uint64_t)(elements * c->scale);
    return elements < 0 ? moved > a : moved < a;
}

static bool is_no_multiple(const value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    return (a & ((uint64_t)c->low - 1)) != 0;
}
static bool is_out_of_bounds(const value_check *c, uint64_t a, uint64_t b)
{
    int64_t x = as_signed(c, a);
    (void)b;
    return x < c->low || x > c->high;
}

/* ---- running ---- */

static uint64_t get(const vm_frame *f, size_t at, size_t i, unsigned bytes)
{
    uint64_t x = 0;
    memcpy(&x, f->base + at + i * bytes, bytes);
    return x;
}

static uint64_t number_of(bc_kind kind, uint64_t cell)
{
    return kind == BC_TF32 ? bc_tf32_from_cell((uint32_t)cell) : cell;
}

static void print_where(bc_text *out, const bc_type *tile, size_t element)
{
    if (!tile->rank)
        return;
    vm_print_element(out, tile, element);
    bc_text_puts(out, ": ");
}

static void find_wrong(vm_frame *f, const value_check *c, size_t first, size_t wrong)
{
    bc_text text;
    bc_text_init(&text, &f->run->vm->allocator);
    print_where(&text, c->type, first);
    bc_text_printf(&text, "%s of ", bc_info(c->head.op)->name);
    vm_print_scalar(&text, f->run, c->a_kind, number_of(c->a_kind, get(f, c->a, first, c->a_bytes)));
    if (c->has_b) {
        bc_text_puts(&text, " and ");
        vm_print_scalar(&text, f->run, c->b_kind, get(f, c->b, first, c->b_bytes));
    }
    bc_text_printf(&text, " %s", c->phrase);
    if (wrong > 1)
        bc_text_printf(&text, ", for %zu of %zu elements", wrong, c->n);
    vm_find(f, c->rule, c->head.op, NULL, "%s", bc_text_words(&text));
    bc_text_release(&text);
}

static const vm_inst *value_run(vm_frame *f, const vm_inst *inst)
{
    const value_check *c = (const value_check *)inst;
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < c->n; i++) {
        uint64_t a = number_of(c->a_kind, get(f, c->a, i, c->a_bytes));
        uint64_t b = c->has_b ? get(f, c->b, i, c->b_bytes) : 0;
        if (!c->test(c, a, b))
            continue;
        first = wrong++ ? first : i;
    }
    if (wrong)
        find_wrong(f, c, first, wrong);
    return inst->next;
}

/* ---- which op gets which test ---- */

/* About the elements of a, and of b unless it is NULL. */
static value_check *new_check_of(vm_emit *e, const bc_op *op, const bc_value *a, const bc_value *b, value_test *test,
                                 bc_rule rule, const char *phrase)
{
    vm_need_packed(e, a);
    if (b)
        vm_need_packed(e, b);
    value_check *c = vm_new_inst(e, op, value_run, value_check);
    c->test = test;
    c->rule = rule;
    c->phrase = phrase;
    c->type = a->type;
    c->n = vm_count(a);
    c->a_kind = bc_elem_kind(a->type);
    c->a_bytes = (uint8_t)vm_elem_bytes(c->a_kind);
    c->width = (uint8_t)(c->a_kind == BC_PTR ? 64 : bc_kind_bits(c->a_kind));
    vm_read_packed(e, &c->head, &c->a, a);
    c->has_b = b != NULL;
    if (b) {
        c->b_kind = bc_elem_kind(b->type);
        c->b_bytes = (uint8_t)vm_elem_bytes(c->b_kind);
        vm_read_packed(e, &c->head, &c->b, b);
    }
    return c;
}

/* About the first two operands, or with binary false the first alone. */
static value_check *new_check(vm_emit *e, const bc_op *op, bool binary, value_test *test, bc_rule rule,
                              const char *phrase)
{
    bc_value **operands = bc_operands(op);
    return new_check_of(e, op, operands[0], binary ? operands[1] : NULL, test, rule, phrase);
}

static void emit_test(vm_emit *e, const bc_op *op, bool binary, value_test *test, bc_rule rule, const char *phrase)
{
    value_check *c = new_check(e, op, binary, test, rule, phrase);
    vm_append(e, &c->head);
}

/* i1 has no overflow: -1 / -1 is 1. */
static void emit_division(vm_emit *e, const bc_op *op, bool is_signed)
{
    emit_test(e, op, true, divides_by_zero, BC_RULE_X_DIV_01, "divides by 0");
    if (is_signed && bc_elem_kind(bc_operands(op)[0]->type) != BC_I1)
        emit_test(e, op, true, quotient_overflows, BC_RULE_X_DIV_02, "overflows");
}

/* What the overflow attribute promises. signed_test or unsigned_test NULL: cannot break. */
static void emit_promise(vm_emit *e, const bc_op *op, int row, value_test *signed_test, value_test *unsigned_test)
{
    uint64_t promise = bc_attr_u(op, row);
    bool binary = op->operand_count > 1, both = promise == BC_IntegerOverflow_no_wrap;
    if (signed_test && (both || promise == BC_IntegerOverflow_no_signed_wrap)) {
        value_check *c = new_check(e, op, binary, signed_test, BC_RULE_X_OVF_01, "is no signed number of this width");
        c->width = (uint8_t)bc_kind_bits(bc_elem_kind(vm_result(op, 0)->type));
        vm_append(e, &c->head);
    }
    if (unsigned_test && (both || promise == BC_IntegerOverflow_no_unsigned_wrap)) {
        value_check *c =
            new_check(e, op, binary, unsigned_test, BC_RULE_X_OVF_02, "is no unsigned number of this width");
        c->width = (uint8_t)bc_kind_bits(bc_elem_kind(vm_result(op, 0)->type));
        vm_append(e, &c->head);
    }
}

/* To i1 everything has a result, and with the saturating flag to every type. */
static void emit_ftoi(vm_emit *e, const bc_op *op)
{
    bc_kind to = bc_elem_kind(vm_result(op, 0)->type);
    uint64_t saturating = bc_attr_u(op, F_ftoi_saturating);
    if (to == BC_I1 || (saturating != 0 && saturating != BC_ABSENT))
        return;
    value_check *c = new_check(e, op, false, float_does_not_fit, BC_RULE_X_CVT_01, "does not fit the result");
    c->width = (uint8_t)bc_kind_bits(to);
    c->is_signed = bc_attr_u(op, F_ftoi_signedness) == BC_Signedness_signed;
    vm_append(e, &c->head);
}

/* f8E5M3FNU has no sign. */
static void emit_ftof(vm_emit *e, const bc_op *op)
{
    if (bc_elem_kind(vm_result(op, 0)->type) != BC_FNV8E5M3FNU)
        return;
    value_check *c = new_check(e, op, false, is_negative, BC_RULE_X_CVT_02, "has no negative result");
    vm_append(e, &c->head);
}

/* f8E4M3FN has a sign, which scales must not have; other scales have none. */
static void emit_scales(vm_emit *e, const bc_op *op)
{
    const bc_value *scales[] = {bc_operand(op, F_mmaf_scaled_lhs_scale), bc_operand(op, F_mmaf_scaled_rhs_scale)};
    for (unsigned i = 0; i < 2; i++)
        if (bc_elem_kind(scales[i]->type) == BC_F8E4M3FN) {
            value_check *c =
                new_check_of(e, op, scales[i], NULL, is_negative, BC_RULE_X_MMS_01, "as a scale is negative");
            vm_append(e, &c->head);
        }
}

/* Pointers to f4 move by half bytes; half a byte more or less wraps nowhere. */
static void emit_offset(vm_emit *e, const bc_op *op)
{
    unsigned bytes = bc_kind_memory_bytes((bc_kind)bc_operands(op)[0]->type->elem->elem->kind);
    value_check *c = new_check(e, op, true, pointer_wraps, BC_RULE_X_PTR_01, "leaves the address space");
    c->scale = bytes ? bytes : 1;
    vm_append(e, &c->head);
}

/* ---- assume ---- */

/* Facts about blocks of elements: same_elements, and div_by with every. */
typedef struct block_check {
    vm_inst head;
    size_t at, n;
    const bc_type *type;
    bc_kind kind;
    uint8_t bytes;
    const int64_t *sizes; /* same_elements: of a block, by dimension; 0 as 1 */
    uint64_t divisor;     /* div_by */
    size_t every, below;  /* elements of a run; elements between neighbours along the dimension */
    size_t length;        /* of the dimension */
    uint64_t grows;       /* by this from one element of a run to the next */
} block_check;

/* Place of the first element of the block that element i is in. */
static size_t block_start(const block_check *c, size_t i)
{
    size_t start = 0, below = 1;
    for (uint32_t d = c->type->rank; d-- > 0;) {
        size_t extent = (size_t)c->type->shape[d], size = c->sizes[d] > 0 ? (size_t)c->sizes[d] : 1;
        start += i / below % extent / size * size * below;
        below *= extent;
    }
    return start;
}

static const vm_inst *same_run(vm_frame *f, const vm_inst *inst)
{
    const block_check *c = (const block_check *)inst;
    for (size_t i = 0; i < c->n; i++) {
        size_t start = block_start(c, i);
        uint64_t got = get(f, c->at, i, c->bytes), want = get(f, c->at, start, c->bytes);
        if (got == want)
            continue;
        bc_text text;
        bc_text_init(&text, &f->run->vm->allocator);
        print_where(&text, c->type, i);
        vm_print_scalar(&text, f->run, c->kind, got);
        bc_text_puts(&text, " is not the same as the first of its block, ");
        vm_print_scalar(&text, f->run, c->kind, want);
        vm_find(f, BC_RULE_X_ASM_02, inst->op, NULL, "%s", bc_text_words(&text));
        bc_text_release(&text);
        break;
    }
    return inst->next;
}

static const vm_inst *runs_run(vm_frame *f, const vm_inst *inst)
{
    const block_check *c = (const block_check *)inst;
    uint64_t mask = bc_int_mask(c->kind == BC_PTR ? 64 : bc_kind_bits(c->kind));
    for (size_t i = 0; i < c->n; i++) {
        size_t along = i / c->below % c->length, in_run = along % c->every;
        uint64_t x = get(f, c->at, i, c->bytes), first = get(f, c->at, i - in_run * c->below, c->bytes);
        bool wrong = in_run ? x != ((first + in_run * c->grows) & mask) : (x & (c->divisor - 1)) != 0;
        if (!wrong)
            continue;
        bc_text text;
        bc_text_init(&text, &f->run->vm->allocator);
        print_where(&text, c->type, i);
        vm_print_scalar(&text, f->run, c->kind, x);
        if (in_run)
            bc_text_printf(&text, " does not follow on the element before it in its run of %zu", c->every);
        else
            bc_text_printf(&text, " is not a multiple of %llu", (unsigned long long)c->divisor);
        vm_find(f, BC_RULE_X_ASM_01, inst->op, NULL, "%s", bc_text_words(&text));
        bc_text_release(&text);
        break;
    }
    return inst->next;
}

static block_check *new_block_check(vm_emit *e, const bc_op *op, vm_handler *run)
{
    const bc_value *v = bc_operands(op)[0];
    vm_need_packed(e, v);
    block_check *c = vm_new_inst(e, op, run, block_check);
    c->type = v->type;
    c->n = vm_count(v);
    c->kind = bc_elem_kind(v->type);
    c->bytes = (uint8_t)vm_elem_bytes(c->kind);
    vm_read_packed(e, &c->head, &c->at, v);
    return c;
}

/* div_by of a tensor_view is about its base address. */
typedef struct base_check {
    vm_inst head;
    size_t record;
    uint64_t divisor;
} base_check;

static const vm_inst *base_run(vm_frame *f, const vm_inst *inst)
{
    const base_check *c = (const base_check *)inst;
    const vm_record *record = vm_at(f, c->record);
    if (record->base & (c->divisor - 1))
        vm_find(f, BC_RULE_X_ASM_01, inst->op, NULL, "the view begins at 0x%llx, which is not a multiple of %llu",
                (unsigned long long)record->base, (unsigned long long)c->divisor);
    return inst->next;
}

/* A phrase with numbers in it, in the code's memory. */
static const char *phrase(vm_emit *e, const char *format, ...) TV_PRINTF(2, 3);

static const char *phrase(vm_emit *e, const char *format, ...)
{
    enum { SIZE = 96 };
    char *out = vm_code_bytes(e, SIZE);
    va_list args;
    va_start(args, format);
    vsnprintf(out, SIZE, format, args);
    va_end(args);
    return out;
}

static void emit_div_by(vm_emit *e, const bc_op *op, const bc_tagged *fact)
{
    const bc_value *v = bc_operands(op)[0];
    if (!bc_is_tile(v->type)) {
        base_check *c = vm_new_inst(e, op, base_run, base_check);
        c->divisor = fact->u.bits;
        vm_read(e, &c->head, &c->record, v);
        vm_append(e, &c->head);
    } else if (!fact->has_a) {
        const char *text = phrase(e, "is false: no multiple of %llu", (unsigned long long)fact->u.bits);
        value_check *c = new_check(e, op, false, is_no_multiple, BC_RULE_X_ASM_01, text);
        c->low = (int64_t)fact->u.bits;
        vm_append(e, &c->head);
    } else if (fact->a > 0) { /* runs of 0 elements say nothing */
        block_check *c = new_block_check(e, op, runs_run);
        uint32_t along = (uint32_t)fact->b;
        c->divisor = fact->u.bits;
        c->every = (size_t)fact->a;
        c->length = (size_t)v->type->shape[along];
        c->below = 1;
        for (uint32_t d = along + 1; d < v->type->rank; d++)
            c->below *= (size_t)v->type->shape[d];
        c->grows = c->kind == BC_PTR ? bc_kind_memory_bytes((bc_kind)v->type->elem->elem->kind) : 1;
        vm_append(e, &c->head);
    }
}

static void emit_assume(vm_emit *e, const bc_op *op)
{
    const bc_tagged *fact = bc_attr_of(op, F_assume_predicate)->tagged;
    if (fact->tag == BC_TAG_DIV_BY) {
        emit_div_by(e, op, fact);
    } else if (fact->tag == BC_TAG_SAME_ELEMENTS) {
        block_check *c = new_block_check(e, op, same_run);
        c->sizes = fact->u.ints.ptr;
        vm_append(e, &c->head);
    } else if (fact->tag == BC_TAG_BOUNDED) {
        int64_t low = fact->has_a ? fact->a : INT64_MIN, high = fact->has_b ? fact->b : INT64_MAX;
        const char *text = fact->has_a && fact->has_b
                               ? phrase(e, "is false: not from %lld to %lld", (long long)low, (long long)high)
                               : phrase(e, fact->has_a ? "is false: below %lld" : "is false: above %lld",
                                        (long long)(fact->has_a ? low : high));
        value_check *c = new_check(e, op, false, is_out_of_bounds, BC_RULE_X_ASM_03, text);
        c->low = low;
        c->high = high;
        vm_append(e, &c->head);
    }
}

/* ---- for ---- */

typedef struct for_check {
    vm_inst head;
    size_t lower, upper, step;
    uint8_t bytes, width;
    bool is_unsigned;
} for_check;

/* Signed order becomes that of unsigned numbers by turning the sign. */
static const vm_inst *for_check_run(vm_frame *f, const vm_inst *inst)
{
    const for_check *c = (const for_check *)inst;
    uint64_t turn = c->is_unsigned ? 0 : (uint64_t)1 << (c->width - 1), end = bc_int_mask(c->width);
    uint64_t lower = get(f, c->lower, 0, c->bytes) ^ turn, upper = get(f, c->upper, 0, c->bytes) ^ turn;
    uint64_t step = get(f, c->step, 0, c->bytes);
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
        emit_assume(e, op);
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
