/* Checks while a kernel runs. With checks an entry is compiled to code that does one op at a time in program order,
   with the instructions of the checks before the ops they look at; without, nothing of this exists in the code.

     check.c          findings, and the table of checks
     entry.c          the entry points
     tokens.c         the storage of tokens
     values.c         which op gets which test of its operands: division, shifts, promises, conversions, loops
     value_check.c    the instruction that does such a test
     assume.c         facts of assume
     access.c         which op gets which check of its accesses
     origin.c         which parameter an access goes through, and which load a store cannot come before
     memory.c         accesses: bounds, never-written memory, order of accesses
     clock.c          what happened before what
     shadow.c         who touched each element last
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

/* What the order of accesses depends on, of one op that touches memory. Events name it by its number. */
typedef struct vm_check_op {
    const bc_op *op;
    bool reads, writes;
    bool strong; /* not weak: never races with another strong one whose scope reaches it */
    bool acquires, releases;
    bool wide;      /* scope beyond the tile block */
    uint32_t param; /* of the entry, through which it finds memory; or VM_NO_PARAM */
} vm_check_op;

/* Appends the checks of op, before the instructions of op itself. */
void vm_emit_checks(vm_emit *e, const bc_op *op);
/* Whether the body of a reduce or scan has something to check, so that it runs one element at a time. */
bool vm_body_has_checks(const vm_emit *e, const bc_block *body);
void vm_emit_value_checks(vm_emit *e, const bc_op *op);
void vm_emit_memory_checks(vm_emit *e, const bc_op *op);
/* An op that touches no memory: its token comes after all tokens among its operands. */
void vm_emit_join(vm_emit *e, const bc_op *op);
/* After the instructions of op: gives the elements that a load leaves open other values, in runs that ask for it. */
void vm_emit_open_elements(vm_emit *e, const bc_op *op);
/* Tokens have storage when checks need the order: one pointer to a clock. */
bool vm_checks_tokens(const vm_emit *e);
/* Makes storage for a token and binds a field to it. */
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
    const bc_op *op, *other; /* other: NULL when only one takes part */
    char *message;
} vm_finding;

/* One tv_vm_run with checks: all its runs, of the first order and others. */
struct vm_check {
    tv_vm *vm;
    const vm_code *code;
    tv_allocator memory; /* counts, and fails beyond the memory limit */
    size_t held;
    vm_finding *findings;
    size_t finding_count, finding_capacity;
    unsigned errors;
    bool failed; /* out of memory */
    bool full;   /* as many findings as were asked for */
    /* of the run that is under way */
    vm_events events;
    vm_shadow shadow;
    vm_syncs syncs;
    bc_arena clocks; /* those that outlive their tile block */
    struct vm_edge
        *edges; /* with an observer: what strong accesses read from other blocks; in the arena of the clocks */
    size_t edge_count, edge_capacity;
    uint64_t changes; /* of memory: what waiting blocks wait for */
    bool junk;        /* elements that loads leave open have odd values, and only results count */
};

/* The last execution of an op in a tile block. */
typedef struct vm_last {
    uint32_t id; /* event, or 0 */
    const vm_clock *before, *after;
    uint64_t places; /* which element of its tile went to which address, as a sum */
} vm_last;

/* Of a tile block that has begun and not ended. */
struct vm_check_block {
    bc_arena clocks;     /* of its tokens */
    uint32_t *instances; /* by vm_check_op: how often it has run */
    vm_last *last;       /* by vm_check_op */
    uint32_t sequence;   /* events so far */
};

void vm_check_open(struct vm_check *check, tv_vm *vm, const vm_code *code);
void vm_check_close(struct vm_check *check);

/* Keeps a finding, unless there is one of the same rule about the same ops; the place in the grid is put before the
   text. other may be NULL. */
void vm_find(vm_frame *f, bc_rule rule, const bc_op *op, const bc_op *other, const char *format, ...) TV_PRINTF(5, 6);
/* The same without a tile block; op may be NULL, and is then not compared. */
void vm_find_in_results(struct vm_check *check, bc_rule rule, const bc_op *op, const char *format, ...) TV_PRINTF(4, 5);
/* Stops the run: the checks have no memory left. Always NULL. */
const vm_inst *vm_check_no_memory(vm_frame *f, const vm_inst *inst);

void vm_report_findings(const struct vm_check *check, tv_sink sink);

/* What is run, in every order. */
typedef struct vm_launch {
    const uint32_t *grid;
    const void *const *params;
} vm_launch;

/* One run in one order; its findings are added. A trap of the first run is reported, with what was found; when the
   grid runs again, it is a finding. */
tv_status vm_run_order(struct vm_check *check, const vm_launch *launch, uint64_t seed, bool again, tv_sink sink);
/* The first order, the same with other values in open elements, and other orders; as far as they are wanted. */
tv_status vm_check_results(struct vm_check *check, const vm_launch *launch, tv_sink sink);

/* Runs the whole grid with checks, and reports. As vm_run_grid, and TV_INVALID. */
tv_status vm_run_checked(tv_vm *vm, const vm_code *code, const uint32_t grid[3], const void *const *params,
                         tv_sink sink);

#endif
