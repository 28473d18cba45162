/* What is known of a function before any instruction is made: how often and how late values are used. */
#ifndef TILEVM_VM_PLAN_H
#define TILEVM_VM_PLAN_H

#include "vm/emit.h"

/* What the compiler wants to know of an op, apart from its hook. */
typedef enum vm_op_class {
    VM_CLASS_OTHER,
    VM_CLASS_MAP,     /* element by element, through vm_emit_map */
    VM_CLASS_RESHAPE, /* the same bits in the same row-major order: reshape, assume, casts */
    VM_CLASS_LAYOUT,  /* other views of the same elements: broadcast, permute */
    VM_CLASS_WRITES,  /* may change memory, or make a change visible */
    VM_CLASS_READS,   /* only reads memory */
    VM_CLASS_FIXED    /* runs where it stands, though it touches no memory: asserts, prints, traps */
} vm_op_class;

vm_op_class vm_class_of(bc_opcode opcode);

/* Whether an op may be moved to where its operands are ready. */
bool vm_is_pure(const bc_op *op);
/* Whether it may be left out when nobody uses its results. */
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
