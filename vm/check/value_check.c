/* The instruction that tests every element of an op's operands before the op runs, and reports those that fail. */
#include "bytecode/number/number.h"
#include "vm/check/values.h"
#include "vm/compile/access.h"

static uint64_t number_of(bc_kind kind, uint64_t cell)
{
    return kind == BC_TF32 ? bc_tf32_from_cell((uint32_t)cell) : cell;
}

void vm_print_where(bc_text *out, const bc_type *tile, size_t element)
{
    if (!tile->rank)
        return;
    vm_print_element(out, tile, element);
    bc_text_puts(out, ": ");
}

static void find_wrong(vm_frame *f, const vm_value_check *c, size_t first, size_t wrong)
{
    bc_text text;
    bc_text_init(&text, &f->run->vm->allocator);
    vm_print_where(&text, c->type, first);
    bc_text_printf(&text, "%s of ", bc_info(c->head.op)->name);
    vm_print_scalar(&text, f->run, c->a_kind, number_of(c->a_kind, vm_pattern_at(f, c->a, first, c->a_bytes)));
    if (c->has_b) {
        bc_text_puts(&text, " and ");
        vm_print_scalar(&text, f->run, c->b_kind, vm_pattern_at(f, c->b, first, c->b_bytes));
    }
    bc_text_printf(&text, " %s", c->phrase);
    if (wrong > 1)
        bc_text_printf(&text, ", for %zu of %zu elements", wrong, c->n);
    vm_find(f, c->rule, c->head.op, NULL, "%s", bc_text_words(&text));
    bc_text_release(&text);
}

static const vm_inst *value_run(vm_frame *f, const vm_inst *inst)
{
    const vm_value_check *c = (const vm_value_check *)inst;
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < c->n; i++) {
        uint64_t a = number_of(c->a_kind, vm_pattern_at(f, c->a, i, c->a_bytes));
        uint64_t b = c->has_b ? vm_pattern_at(f, c->b, i, c->b_bytes) : 0;
        if (!c->test(c, a, b))
            continue;
        first = wrong++ ? first : i;
    }
    if (wrong)
        find_wrong(f, c, first, wrong);
    return inst->next;
}

vm_value_check *vm_new_check_of(vm_emit *e, const bc_op *op, const bc_value *a, const bc_value *b, vm_value_test *test,
                                bc_rule rule, const char *phrase)
{
    vm_need_packed(e, a);
    if (b)
        vm_need_packed(e, b);
    vm_value_check *c = vm_new_inst(e, op, value_run, vm_value_check);
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

vm_value_check *vm_new_check(vm_emit *e, const bc_op *op, bool binary, vm_value_test *test, bc_rule rule,
                             const char *phrase)
{
    bc_value **operands = bc_operands(op);
    return vm_new_check_of(e, op, operands[0], binary ? operands[1] : NULL, test, rule, phrase);
}
