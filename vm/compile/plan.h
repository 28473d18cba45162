/* What is known of a function before any instruction is made: how often and how late values are used. */
#ifndef TILEVM_VM_COMPILE_PLAN_H
#define TILEVM_VM_COMPILE_PLAN_H

#include "vm/compile/emit.h"

/* Ops whose result has the operand's bits in the same row-major order: it may lie where the operand does. */
#define VM_OPS_IN_PLACE (BC_OPS(CAST) | BC_OPS(SAME) | BC_OPS(RESHAPE))

/* Whether an op may be moved to where its operands are ready. */
bool vm_is_pure(const bc_op *op);
/* May it be removed if its results are unused? */
bool vm_is_removable(const bc_op *op);

typedef struct vm_plan {
    const bc_op **ops;    /* in pre-order */
    uint32_t *end;        /* position after the op and all in it */
    uint32_t *next_write; /* position of the next op of the same block that writes, or has one that does */
    uint32_t count;
} vm_plan;

/* Fills in e->plan and uses, last_use and rows_ok of every value. False: out of memory. */
bool vm_make_plan(vm_emit *e);

/* Whether only scalar element-wise work is done in the body of a reduce or scan, so that it can run on strips. */
bool vm_body_is_lanes(const bc_block *body);

#endif
