/* One run: a grid of tile blocks on a number of threads. */
#ifndef TILEVM_VM_RUN_SCHEDULE_H
#define TILEVM_VM_RUN_SCHEDULE_H

#include <pthread.h>
#include <stdatomic.h>

#include "vm/run/array.h"
#include "vm/run/code.h"

/* Why a run stopped early. */
typedef struct vm_stop {
    bool set;
    bc_rule rule;
    uint64_t block_index;
    uint32_t block[3];
    const bc_op *op;
    char message[512];
} vm_stop;

/* A global's storage; its region stands in vm->regions. */
typedef struct vm_global {
    const bc_global *global;
    void *memory; /* as the allocator gave it */
    size_t held;
    unsigned char *start;
    size_t bytes;
} vm_global;

struct tv_vm {
    const bc_module *module;
    tv_vm_options options;
    tv_allocator given;     /* the caller's */
    tv_allocator allocator; /* the same, but sets starved when an allocation fails */
    atomic_bool starved;
    const vm_kernels *kernels;
    vm_regions regions; /* buffers and globals */
    vm_arrays arrays;   /* described by the caller */
    vm_global *globals;
    struct vm_entry *entries; /* compiled */
    size_t global_count, entry_count;
    size_t memory_limit;
    tv_vm_stats stats;
    bool probed; /* entries compiled from now on have probes */
    uint64_t op_counts[OP_LIMIT];
    double op_seconds[OP_LIMIT];
    struct vm_precision *precision;     /* with options.precision, of the last run */
    const vm_code *last;                /* of the last run; NULL before the first */
    const struct vm_observer *observer; /* NULL: nobody watches */
    struct vm_positions *positions;     /* of ops, while a run is watched */
    double observed_from;               /* vm_seconds when it began */
    const vm_frame *reporting;          /* while the progress callback is called: by whom, and at what op */
    const bc_op *reporting_op;
};

struct vm_run {
    tv_vm *vm;
    const vm_code *code;
    const vm_code *batch; /* code that runs batches of blocks; NULL: blocks run one by one */
    uint32_t grid[3];
    uint64_t blocks;
    const void *const *params;
    pthread_mutex_t lock; /* for stop, output, allocas, progress */
    vm_stop stop;
    vm_regions allocas; /* of all blocks */
    size_t alloca_bytes, alloca_limit;
    _Atomic uint64_t next_unit; /* unit: a batch, what is left of a row of blocks behind its batches, or a block */
    _Atomic uint64_t blocks_done;
    _Atomic uint64_t ops;        /* ops executed, as far as workers have reported */
    _Atomic uint64_t steps_left; /* where they are limited */
    _Atomic bool stopping;       /* no further op begins */
    _Atomic bool interrupted;    /* long ops end early, too: the caller wants to stop */
    double next_progress;
    struct vm_probes *probes; /* of code that has them */
    struct vm_check *check;   /* with checks; `forget` reports memory that is reused */
    void (*forget)(struct vm_check *check, uint64_t start, size_t bytes);
    uint64_t order_seed;
    bool again; /* a repeated run in another order: its output and figures are dropped */
};

/* A frame and the state of the tile block in it. */
typedef struct vm_worker {
    vm_frame frame;
    vm_frame batch; /* for batches, when the run has them */
    pthread_t thread;
    unsigned char *memory, *batch_memory;
    size_t memory_bytes, batch_bytes;
    uint64_t *counts_before; /* of the segments of a batch, when it began */
    unsigned refused;        /* batches that ran block by block */
    uint32_t batches;        /* the others */
    uint64_t chunk;
    bool started;
    unsigned char apart[128]; /* no two workers write to one cache line */
} vm_worker;

/* Bytes of a frame with what belongs to it. */
size_t vm_worker_bytes(const vm_code *code, bool profile);
/* False: out of memory. */
bool vm_worker_open(vm_worker *worker, vm_run *run);
/* Adds the worker's figures to those of the run, and frees it. */
void vm_worker_close(vm_worker *worker, vm_run *run);
/* Sets the frame up for the ticket-th block in the order of the run. */
void vm_set_block(vm_frame *f, uint64_t ticket);
/* Calls the progress callback if it is due. op: the worker's current op; NULL: between blocks. */
void vm_report_progress(vm_frame *f, const bc_op *op);
/* Reports why the run stopped, if it did; TV_TRAP then. */
tv_status vm_report_stop(const vm_run *run, tv_sink sink);
/* Reports that frames do not fit. */
tv_status vm_no_frame(const vm_run *run, size_t bytes, tv_sink sink);

/* Runs the whole grid and reports a trap. Fills in vm->stats. batch: code for batches of blocks; may be NULL. */
tv_status vm_run_grid(tv_vm *vm, const vm_code *code, const vm_code *batch, const uint32_t grid[3],
                      const void *const *params, tv_sink sink);

/* Subtracts the ops of a segment from the remaining steps. False: too few are left, and the block has trapped. */
bool vm_pay(vm_frame *f, uint32_t segment);

/* Runs instructions until one ends the sequence. */
void vm_execute(vm_frame *f, const vm_inst *inst);

/* The buffer, global or alloca storage with that range, or NULL. */
const vm_region *vm_run_find(vm_frame *f, uint64_t address, uint64_t size);

/* "element [3, 17]"; "the element" of a tile of rank 0. */
void vm_print_element(bc_text *out, const bc_type *tile, size_t element);
/* "element [2, 5] of 'a', f32[8, 8]"; false: no element of the array has a byte at address. */
bool vm_print_element_of(bc_text *out, const vm_array *array, uint64_t address);
/* The same for whatever lies at the address, or as much as is known. */
void vm_print_place(bc_text *out, const vm_run *run, uint64_t address);
/* An element's pattern: 5, 0.5, nan, and a pointer as a place. run is for pointers only. */
void vm_print_scalar(bc_text *out, const vm_run *run, bc_kind kind, uint64_t bits);
/* Traps with X-MEM-01, saying where the address lies. */
void vm_trap_outside(vm_frame *f, const vm_inst *inst, uint64_t address, size_t bytes, bool write, size_t element);

/* Traps with X-MEM-03. */
void vm_trap_misaligned(vm_frame *f, const vm_inst *inst, uint64_t address, size_t bytes, size_t element);

/* Allocates storage for the alloca `maker`, and releases what it allocated before; NULL: out of memory. Released by
   vm_release_allocas down to (not including) `until`. */
void *vm_make_alloca(vm_frame *f, const vm_inst *maker, size_t bytes, size_t align);
void vm_release_allocas(vm_frame *f, const vm_held *until);

/* Address of a global's storage; 0 when it has none. */
uint64_t vm_global_address(const tv_vm *vm, const bc_string *name);

double vm_seconds(void);

#endif
