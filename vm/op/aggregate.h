/* What the two ways of running reduce and scan share: aggregate.c, and aggregate_exact.c beside exact elements. */
#ifndef TILEVM_VM_OP_AGGREGATE_H
#define TILEVM_VM_OP_AGGREGATE_H

#include "vm/compile/control.h"
#include "vm/compile/group.h"

enum { VM_MAX_PAIRS = VM_MAX_NODES / 4 };

/* Of exact elements, per pair where they are floats. */
typedef struct vm_aggregate_exact {
    bool has;
    size_t in, out, temp, args[2], yield;
} vm_aggregate_exact;

typedef struct vm_aggregate {
    vm_inst head;
    uint32_t pairs;
    size_t outer, length, inner; /* [outer][length][inner] elements */
    size_t *in, *out, *temp;     /* per pair */
    uint8_t *bytes;
    bool reverse;
    /* on strips */
    vm_strips strips;
    uint16_t *nodes;
    vm_kernel *kernel; /* the whole body, if it is one; swapped: of the second argument and the first */
    bool swapped;
    /* one at a time */
    const vm_inst *body;
    size_t *args, *yields; /* 2 per pair; 1 per pair */
    vm_aggregate_exact *exact;
} vm_aggregate;

/* Sees that the operands have exact elements; gives what runs the op. */
vm_handler *vm_aggregate_need_exact(vm_emit *e, const bc_op *op, bool is_scan);
/* Storage for the exact elements of the arguments of a body, and, returned, of what it yields. */
vm_storage *vm_aggregate_exact_body(vm_emit *e, const bc_block *body, uint32_t pairs, vm_ctx *home);
void vm_aggregate_bind_body(vm_emit *e, vm_aggregate *inst, const bc_block *body, const vm_storage *yields);
/* Binds the operands and results; gives scratch storage per pair, for vm_aggregate_hold_exact, by which they stay as
   they are between runs of the body. */
void vm_aggregate_bind_exact(vm_emit *e, const bc_op *op, vm_aggregate *inst, vm_storage *out_temps);
void vm_aggregate_hold_exact(vm_emit *e, const bc_op *op, const vm_aggregate *inst, vm_ctx *body,
                             const vm_storage *temps);

#endif
