/* Checks while a kernel runs. For checks, an entry is compiled to code that executes one op at a time in program order,
   with the instructions of the checks in front of the ops that they examine. Code without checks has none of them.

       check.c          findings, and the table of checks
       entry.c          the entry points
       tokens.c         the storage of tokens
       values.c         selects the tests of operands: division, shifts, promises, conversions, loops
       value_check.c    the instruction that does such a test
       assume.c         facts of assume
       access.c         selects the checks of accesses
       origin.c         the parameter of an access, and the loads that a store cannot precede
       memory.c         accesses: bounds, unwritten memory, order of accesses
       clock.c          the order of events
       shadow.c         the last accesses to each element
       observe.c        what an observer is told
       run.c            tile blocks in turns, deadlocks
       order.c          results of other orders

   All of it runs on one thread. */
#ifndef TILEVM_VM_CHECK_CHECK_H
#define TILEVM_VM_CHECK_CHECK_H

#include <string.h>

#include "vm/check/clock.h"
#include "vm/check/shadow.h"
#include "vm/compile/emit.h"
#include "vm/run/schedule.h"

/* ---- compiling ---- */

#define VM_NO_PARAM UINT32_MAX

/* The properties of an op that determine the order of its accesses. Events refer to it by number. */
typedef struct vm_check_op {
    const bc_op *op;
    bool reads, writes;
    bool strong; /* not weak: never races with another strong one if the scope of each includes the other */
    bool acquires, releases;
    bool wide;      /* scope beyond the tile block */
    uint32_t param; /* of the entry, from which its address comes; or VM_NO_PARAM */
} vm_check_op;

/* Appends the checks of op, before the instructions of op itself. */
void vm_emit_checks(vm_emit *e, const bc_op *op);
/* Does the body of a reduce or scan need checks? Then it must run one element at a time. */
bool vm_body_has_checks(const vm_emit *e, const bc_block *body);
void vm_emit_value_checks(vm_emit *e, const bc_op *op);
void vm_emit_memory_checks(vm_emit *e, const bc_op *op);
/* For an op that accesses no memory: its token follows all tokens among its operands. */
void vm_emit_join(vm_emit *e, const bc_op *op);
/* After the instructions of op: gives undefined elements of a load other values, in runs that request this. */
void vm_emit_open_elements(vm_emit *e, const bc_op *op);
/* Tokens have storage when checks need the order: one pointer to a clock. */
bool vm_checks_tokens(const vm_emit *e);
/* Allocates storage for a token and binds a field to it. */
void vm_write_token(vm_emit *e, vm_inst *inst, size_t *field, const bc_value *result);

/* ---- running ---- */

static inline const vm_clock *vm_token_at(const vm_frame *f, size_t at)
{
    const vm_clock *clock;
    memcpy(&clock, f->base + at, sizeof clock);
    return clock;
}

typedef struct vm_finding {
    bc_rule rule;
    const bc_op *op, *other; /* other: NULL if only one op is involved */
    char *message;
    uint64_t count; /* with probes: ops begun */
} vm_finding;

/* One tv_vm_run with checks, including the runs in other orders. */
struct vm_check {
    tv_vm *vm;
    const vm_code *code;
    tv_allocator memory; /* counts, and fails beyond the memory limit */
    size_t held;
    vm_finding *findings;
    size_t finding_count, finding_capacity;
    unsigned errors;
    bool failed;              /* out of memory */
    bool full;                /* as many findings as requested */
    struct vm_probes *probes; /* for a debugger: counts ops; NULL: none */
    /* state of the current run */
    vm_events events;
    vm_shadow shadow;
    vm_syncs syncs;
    bc_arena clocks; /* that outlive their tile block */
    struct vm_edge
        *edges; /* with an observer: what strong accesses read from other blocks; in the arena of the clocks */
    size_t edge_count, edge_capacity;
    uint64_t changes; /* number of changes to memory, for which blocks may wait */
    bool junk;        /* undefined elements get unusual values, and only results count */
};

/* The last execution of an op in a tile block. */
typedef struct vm_last {
    uint32_t id; /* event, or 0 */
    const vm_clock *before, *after;
    uint64_t places; /* sum of hashes of (element of its tile, address) */
} vm_last;

/* The state of a tile block that has begun and not ended. */
struct vm_check_block {
    bc_arena clocks;     /* for its tokens */
    uint32_t *instances; /* by vm_check_op: number of executions */
    vm_last *last;       /* by vm_check_op */
    uint32_t sequence;   /* events so far */
};

void vm_check_open(struct vm_check *check, tv_vm *vm, const vm_code *code);
void vm_check_close(struct vm_check *check);

/* Records a finding, unless there is one with the same rule about the same ops. The text is preceded by the tile
   block. other may be NULL. */
void vm_find(vm_frame *f, bc_rule rule, const bc_op *op, const bc_op *other, const char *format, ...) TV_PRINTF(5, 6);
/* The same without a tile block. op may be NULL; then the finding is always recorded. */
void vm_find_in_results(struct vm_check *check, bc_rule rule, const bc_op *op, const char *format, ...) TV_PRINTF(4, 5);
/* Stops the run: the checks have no memory left. Always NULL. */
const vm_inst *vm_check_no_memory(vm_frame *f, const vm_inst *inst);

void vm_report_findings(const struct vm_check *check, tv_sink sink);

/* The arguments of all runs. */
typedef struct vm_launch {
    const uint32_t *grid;
    const void *const *params;
} vm_launch;

/* Runs the grid once in one order, and adds its findings. A trap of the first run is reported, with the findings so
   far; a trap of a later run is a finding. */
tv_status vm_run_order(struct vm_check *check, const vm_launch *launch, uint64_t seed, bool again, tv_sink sink);
/* Runs the first order, the same with other values in undefined elements, and other orders, as requested. */
tv_status vm_check_results(struct vm_check *check, const vm_launch *launch, tv_sink sink);

/* Runs the whole grid with checks, and reports the findings. Returns the same as vm_run_grid, or TV_INVALID. */
tv_status vm_run_checked(tv_vm *vm, const vm_code *code, const uint32_t grid[3], const void *const *params,
                         tv_sink sink);

#endif
