/* The results of each element-wise op without rounding. */
#ifndef TILEVM_VM_PRECISION_FUNCTIONS_H
#define TILEVM_VM_PRECISION_FUNCTIONS_H

#include "bytecode/module.h"
#include "vm/precision/wide.h"

enum { VM_EXACT_OPERANDS = 3 };

/* x: the operands. */
typedef vm_wide vm_exact_fn(const bc_op *op, const vm_wide *x);

/* How a difference in the last digits of an operand affects the result of an op. */
typedef enum vm_effect {
    VM_SMOOTH, /* a difference of about that size */
    VM_SUM,    /* the same, and the difference of nearly equal operands has lost digits */
    VM_STEP    /* none, or a whole step: the op makes a decision */
} vm_effect;

typedef struct vm_exact_op {
    vm_exact_fn *fn; /* NULL: it has none */
    uint8_t operands, effect;
    bool has_result; /* the result is a float; else the op only decides */
} vm_exact_op;

vm_exact_op vm_exact_op_of(const bc_op *op);

#endif
