/* Checks of facts that assume states: about blocks of elements, the base of a view, and single elements. */
#include <stdio.h>
#include <string.h>

#include "bytecode/number/number.h"
#include "vm/check/values.h"
#include "vm/run/view.h"

static bool is_no_multiple(const vm_value_check *c, uint64_t a, uint64_t b)
{
    (void)b;
    return (a & ((uint64_t)c->low - 1)) != 0;
}
static bool is_out_of_bounds(const vm_value_check *c, uint64_t a, uint64_t b)
{
    int64_t x = bc_int_sign_extend(a, c->width);
    (void)b;
    return x < c->low || x > c->high;
}

/* ---- assume ---- */

/* Facts about blocks of elements: same_elements, and div_by with every. */
typedef struct block_check {
    vm_inst head;
    size_t at, n;
    const bc_type *type;
    bc_kind kind;
    uint8_t bytes;
    const int64_t *sizes; /* same_elements: of a block, by dimension; 0 counts as 1 */
    uint64_t divisor;     /* div_by */
    size_t every, below;  /* elements per run; distance of neighbours along the dimension */
    size_t length;        /* of the dimension */
    uint64_t grows;       /* increment from one element of a run to the next */
} block_check;

/* The index of the first element of the block that contains element i. */
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
        uint64_t got = vm_pattern_at(f, c->at, i, c->bytes), want = vm_pattern_at(f, c->at, start, c->bytes);
        if (got == want)
            continue;
        bc_text text;
        bc_text_init(&text, &f->run->vm->allocator);
        vm_print_where(&text, c->type, i);
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
        uint64_t x = vm_pattern_at(f, c->at, i, c->bytes),
                 first = vm_pattern_at(f, c->at, i - in_run * c->below, c->bytes);
        bool wrong = in_run ? x != ((first + in_run * c->grows) & mask) : (x & (c->divisor - 1)) != 0;
        if (!wrong)
            continue;
        bc_text text;
        bc_text_init(&text, &f->run->vm->allocator);
        vm_print_where(&text, c->type, i);
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

/* div_by of a tensor_view refers to its base address. */
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

/* A phrase with numbers, in the memory of the code. */
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
        vm_value_check *c = vm_new_check(e, op, false, is_no_multiple, BC_RULE_X_ASM_01, text);
        c->low = (int64_t)fact->u.bits;
        vm_append(e, &c->head);
    } else if (fact->a > 0) { /* runs of 0 elements state nothing */
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

void vm_emit_assume(vm_emit *e, const bc_op *op)
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
        vm_value_check *c = vm_new_check(e, op, false, is_out_of_bounds, BC_RULE_X_ASM_03, text);
        c->low = low;
        c->high = high;
        vm_append(e, &c->head);
    }
}
