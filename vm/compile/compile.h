/* What the parts of the compiler share among themselves, beyond what compile hooks see. */
#ifndef TILEVM_VM_COMPILE_COMPILE_H
#define TILEVM_VM_COMPILE_COMPILE_H

#include "vm/compile/emit.h"

typedef struct vm_segment_build {
    const bc_op **ops;
    size_t count, capacity;
    uint64_t flops, work;
    const vm_inst *loop;
} vm_segment_build;

typedef struct vm_compile {
    vm_segment_build *segments;
    size_t segment_count, segment_capacity;
    uint32_t *op_segments; /* by position, in the arena of the code */
    uint32_t inst_count;
    struct vm_check_op *check_ops;
    uint32_t check_op_count;
    size_t check_op_capacity;
} vm_compile;

/* Compiles one entry into *code, whose arena the caller then owns. With a trace hook every op stands on its own. On
   failure nothing is left to release. */
tv_status vm_compile_entry(const tv_vm *vm, const bc_function *f, tv_sink sink, vm_code *code);

/* Compiles code that runs `count` tile blocks of an entry at once, which follow each other along `axis`. Its function
   lies in `arena`, which stays the caller's. False: that cannot be done, or out of memory. */
bool vm_compile_batch(const tv_vm *vm, const vm_code *single, unsigned axis, uint32_t count, bc_arena *arena,
                      vm_code *code);

/* Reports a call that makes no sense, by rule X-RUN-01. Returns TV_USAGE. */
tv_status vm_wrong(const bc_module *m, tv_sink sink, const char *format, ...) TV_PRINTF(3, 4);

/* A new piece of code inside parent; its header is set when the instruction that enters it is appended. */
vm_ctx *vm_new_ctx(vm_emit *e, vm_ctx *parent, bool loop, bool branch);
/* Emits the ops of a block into ctx. The walk over ops lies above the hooks, which come back to it by this. */
static inline void vm_emit_block(vm_emit *e, vm_ctx *ctx, const bc_block *block)
{
    e->walk(e, ctx, block);
}

/* Ops from here on in ctx are counted in a new segment; begin also appends the instruction that counts. op: what runs
   the piece, named when the run stops there; NULL: the entry. */
uint32_t vm_new_segment(vm_emit *e, vm_ctx *ctx);
void vm_begin_segment(vm_emit *e, vm_ctx *ctx, const bc_op *op);

/* v is there: packed or laid out as said, in storage. */
void vm_set_stored(vm_emit *e, const bc_value *v, vm_storage storage, const vm_layout *layout, vm_inst *maker);

/* The work of one execution, VM_UNIT_ELEMENTS and VM_UNIT_FLOPS being one. */
uint64_t vm_work_of(const bc_op *op);

/* The innermost `for` that is being emitted; NULL: none. */
const vm_inst *vm_innermost_for(const vm_emit *e);

/* Appends the calls of the trace hook for the results of op. */
void vm_emit_trace(vm_emit *e, const bc_op *op);

#endif
