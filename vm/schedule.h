/* One run: a grid of tile blocks on a number of threads. */
#ifndef TILEVM_VM_SCHEDULE_H
#define TILEVM_VM_SCHEDULE_H

#include <pthread.h>
#include <stdatomic.h>

#include "vm/code.h"

/* Why a run stopped early. */
typedef struct vm_stop {
    bool set;
    bc_rule rule;
    uint64_t block_index;
    uint32_t block[3];
    const bc_op *op;
    char message[512];
} vm_stop;

struct tv_vm {
    const bc_module *module;
    tv_vm_options options;
    tv_allocator allocator;
    const vm_kernels *kernels;
    vm_regions regions;          /* buffers and globals */
    struct vm_global *globals;
    struct vm_entry *entries;    /* compiled */
    size_t global_count, entry_count;
    size_t memory_limit;
    tv_vm_stats stats;
    uint64_t op_counts[OP_LIMIT];
    double op_seconds[OP_LIMIT];
};

struct vm_run {
    tv_vm *vm;
    const vm_code *code;
    uint32_t grid[3];
    uint64_t blocks;
    const void *const *params;
    pthread_mutex_t lock;               /* for stop, output, allocas, progress */
    vm_stop stop;
    vm_regions allocas;                 /* of all blocks */
    size_t alloca_bytes, alloca_limit;
    _Atomic uint64_t next_block, blocks_done, ops;
    _Atomic bool stopping;
    double next_progress;
};

/* Runs the whole grid and reports a trap. Fills in vm->stats. */
tv_status vm_run_grid(tv_vm *vm, const vm_code *code, const uint32_t grid[3], const void *const *params,
                      tv_sink sink);

/* Runs instructions until one ends the sequence. */
void vm_execute(vm_frame *f, const vm_inst *inst);

/* The buffer, global or alloca storage with that range, or NULL. */
const vm_region *vm_run_find(vm_frame *f, uint64_t address, uint64_t size);

/* Traps with X-MEM-01, saying where the address lies. */
void vm_trap_outside(vm_frame *f, const vm_inst *inst, uint64_t address, size_t bytes, bool write, size_t element);

/* Storage for alloca; NULL when it cannot be had. Released by vm_release_allocas down to (not including) `until`. */
void *vm_make_alloca(vm_frame *f, size_t bytes, size_t align);
void vm_release_allocas(vm_frame *f, const vm_held *until);

/* Address of a global's storage; 0 when it has none. */
uint64_t vm_global_address(const tv_vm *vm, const bc_string *name);

double vm_seconds(void);

#endif
