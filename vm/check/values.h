/* What the checks of operands share: a test of every element of an op. */
#ifndef TILEVM_VM_CHECK_VALUES_H
#define TILEVM_VM_CHECK_VALUES_H

#include "vm/check/check.h"

typedef struct vm_value_check vm_value_check;

/* Whether the op goes wrong for the element with these patterns. */
typedef bool vm_value_test(const vm_value_check *c, uint64_t a, uint64_t b);

/* One question about all elements of an op. */
struct vm_value_check {
    vm_inst head;
    vm_value_test *test;
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

static inline uint64_t vm_pattern_at(const vm_frame *f, size_t at, size_t i, unsigned bytes)
{
    uint64_t x = 0;
    memcpy(&x, f->base + at + i * bytes, bytes);
    return x;
}

/* About the elements of a, and of b unless it is NULL. phrase lives as long as the code. Not appended yet. */
vm_value_check *vm_new_check_of(vm_emit *e, const bc_op *op, const bc_value *a, const bc_value *b, vm_value_test *test,
                                bc_rule rule, const char *phrase);
/* About the first two operands, or with binary false the first alone. Not appended yet. */
vm_value_check *vm_new_check(vm_emit *e, const bc_op *op, bool binary, vm_value_test *test, bc_rule rule,
                             const char *phrase);
/* Where an element is, in front of what is wrong with it. */
void vm_print_where(bc_text *text, const bc_type *type, size_t element);

void vm_emit_assume(vm_emit *e, const bc_op *op);

#endif
