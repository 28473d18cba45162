/* A debugging session: one run of a kernel that stops, shows its values and goes back. docs/internals/debug.md has the
   design. One thread at a time; a session borrows its machine, which must not run anything else meanwhile. */
#ifndef TILEVM_VM_DEBUG_DEBUG_H
#define TILEVM_VM_DEBUG_DEBUG_H

#include "bytecode/base/text.h"
#include "bytecode/dtype.h"
#include "bytecode/module.h"

typedef struct vm_debug vm_debug;

typedef struct vm_debug_options {
    size_t snapshot_bytes;           /* most bytes of snapshots, besides the copy of memory at the start; 0: 256 MiB */
    uint64_t most_ops;               /* most ops of the run; 0: no limit */
    bool (*interrupted)(void *user); /* asked a few times per second while the kernel runs; NULL: never */
    void *user;
} vm_debug_options;

enum { VM_DEBUG_TEXT = 400 };

/* Why a call failed. */
typedef struct vm_debug_error {
    char text[VM_DEBUG_TEXT];
} vm_debug_error;

/* Takes a machine with its buffers, and stops before the first op. params as for tv_vm_run; borrowed. */
tv_status vm_debug_open(tv_vm *vm, const char *entry, const uint32_t grid[3], const void *const *params, size_t count,
                        const vm_debug_options *options, tv_sink sink, vm_debug **out);
void vm_debug_close(vm_debug *d);

/* ---- the program ---- */

const bc_function *vm_debug_function(const vm_debug *d);
/* The op at a position (pre-order from 0); NULL past the last. */
const bc_op *vm_debug_op(const vm_debug *d, uint32_t position);
uint32_t vm_debug_depth(const vm_debug *d, uint32_t position); /* number of regions around it */
/* The op whose region contains it; UINT32_MAX: none. */
uint32_t vm_debug_parent(const vm_debug *d, uint32_t position);
/* The op as the disassembler prints it, on one line. */
void vm_debug_print_op(const vm_debug *d, uint32_t position, bc_text *out);
/* Its place in the source. False: unknown. */
bool vm_debug_line(const vm_debug *d, uint32_t position, tv_str *out_file, uint32_t *out_line);
/* A value as an operand: "%acc". */
void vm_debug_print_value_name(const vm_debug *d, const bc_value *value, bc_text *out);
void vm_debug_grid(const vm_debug *d, uint32_t out[3]);

/* ---- where it is ---- */

typedef enum vm_debug_state { VM_DEBUG_STOPPED, VM_DEBUG_TRAPPED, VM_DEBUG_ENDED } vm_debug_state;

typedef struct vm_debug_place {
    vm_debug_state state;
    uint64_t time; /* ops begun, in all tile blocks */
    uint32_t block[3];
    uint32_t position; /* of the op that comes next; TRAPPED: that stopped the run */
    uint64_t rounds;   /* of the innermost `for` around it: its iteration, from 0 */
    bool in_for;
} vm_debug_place;

/* Of the tile block that runs, or that was chosen. ENDED: only time is set. */
void vm_debug_where(const vm_debug *d, vm_debug_place *out);

typedef struct vm_debug_block {
    uint32_t block[3];
    uint32_t position; /* of the op that comes next */
    bool runs, chosen;
} vm_debug_block;

/* Tile blocks under way, in the order of their turns. False: past the last. */
bool vm_debug_block_at(const vm_debug *d, size_t index, vm_debug_block *out);
/* How many tile blocks have ended, how many there are, and how many have begun and not ended. */
void vm_debug_block_counts(const vm_debug *d, uint64_t *ended, uint64_t *all, uint64_t *under_way);
/* "3", "3,0", "(3, 0, 0)", in the grid. */
bool vm_debug_parse_block(const vm_debug *d, tv_str text, uint32_t out[3], vm_debug_error *error);
/* From now on, until something runs, values are those of that block. False: it is not under way. */
bool vm_debug_choose(vm_debug *d, const uint32_t block[3]);

/* ---- running ---- */

typedef enum vm_debug_why {
    VM_DEBUG_REACHED, /* the goal of the call was reached */
    VM_DEBUG_BREAKPOINT,
    VM_DEBUG_WATCHPOINT,
    VM_DEBUG_CAUGHT, /* a NaN, an infinity, a finding */
    VM_DEBUG_TRAP,
    VM_DEBUG_END,   /* of the run */
    VM_DEBUG_BEGIN, /* of time, going back */
    VM_DEBUG_INTERRUPT
} vm_debug_why;

/* Why the run stopped. */
typedef struct vm_debug_event {
    vm_debug_why why;
    unsigned number; /* of the breakpoint, watchpoint or finding */
    bool after;      /* the stop is because of the op at `position`, which has just run */
    uint32_t position;
    char text[3 * VM_DEBUG_TEXT]; /* details; may be empty */
} vm_debug_event;

typedef enum vm_debug_step {
    VM_DEBUG_OP,        /* the next op of this tile block */
    VM_DEBUG_LINE,      /* the next line; without lines, the next op */
    VM_DEBUG_OVER,      /* the same, but enters no region */
    VM_DEBUG_ITERATION, /* of the innermost loop, or out of it */
    VM_DEBUG_OUT,       /* after the op whose region this is; at the top level, the end of the tile block */
    VM_DEBUG_BLOCK      /* another tile block */
} vm_debug_step;

void vm_debug_continue(vm_debug *d, bool back, vm_debug_event *out);
/* False: such a step is not possible here; nothing ran. */
bool vm_debug_step_to(vm_debug *d, vm_debug_step step, bool back, vm_debug_event *out, vm_debug_error *error);
/* Ignores breakpoints. A time past the end means the end. */
void vm_debug_goto(vm_debug *d, uint64_t time, vm_debug_event *out);
/* How snapshots stand. */
void vm_debug_snapshots(const vm_debug *d, size_t *count, size_t *bytes);

/* ---- stops ---- */

/* A place for breakpoints: "17", "mmaf", "file.py:12", ":12", "block 3,0,0". May be followed by " if CONDITION".
   Returns the number of the breakpoint, or 0. once: it is deleted at its first hit. */
unsigned vm_debug_break(vm_debug *d, tv_str text, bool once, vm_debug_error *error);
/* "a[3, 4]", "a[0:4]", "a", or "ADDRESS, BYTES". May be followed by " if CONDITION". */
unsigned vm_debug_watch(vm_debug *d, tv_str text, vm_debug_error *error);
/* "nan", "inf", or checks: "races", "bounds,uninit", "all". These run the kernel once with checks. */
unsigned vm_debug_catch(vm_debug *d, tv_str text, vm_debug_error *error);
bool vm_debug_delete(vm_debug *d, unsigned number);
bool vm_debug_enable(vm_debug *d, unsigned number, bool on);
/* The stop is passed over that many times. */
bool vm_debug_ignore(vm_debug *d, unsigned number, uint64_t times);

typedef enum vm_debug_kind { VM_DEBUG_IS_BREAK, VM_DEBUG_IS_WATCH, VM_DEBUG_IS_CATCH } vm_debug_kind;

typedef struct vm_debug_stop {
    vm_debug_kind kind;
    unsigned number;
    bool on, once;
    uint64_t hits, ignore;
    const char *text;  /* as it was given */
    uint32_t position; /* of a breakpoint: the first op */
    size_t ops;        /* of a breakpoint: how many */
} vm_debug_stop;

bool vm_debug_stop_at(const vm_debug *d, size_t index, vm_debug_stop *out);

/* ---- findings ---- */

typedef struct vm_debug_finding {
    const char *rule, *text;
    uint64_t time;
    uint32_t position, other; /* UINT32_MAX: none */
} vm_debug_finding;

/* Those of the checks that were run. */
bool vm_debug_finding_at(const vm_debug *d, size_t index, vm_debug_finding *out);

/* ---- values ---- */

enum { VM_DEBUG_MAX_RANK = 32 };

/* A number, a tile block, or elements that lie in a frame or in memory. */
typedef enum vm_debug_form { VM_DEBUG_NUMBER, VM_DEBUG_TUPLE, VM_DEBUG_DATA, VM_DEBUG_VIEW } vm_debug_form;

typedef struct vm_debug_value {
    vm_debug_form form;
    /* NUMBER */
    bool is_int;
    int64_t i;
    double d; /* also when is_int */
    /* TUPLE */
    int64_t tuple[3];
    /* DATA: rank 0 is one element. VIEW: the record of a view */
    bc_kind kind;
    tv_dtype dtype; /* pointers: TV_U64 */
    uint32_t rank;
    int64_t shape[VM_DEBUG_MAX_RANK], strides[VM_DEBUG_MAX_RANK];
    int64_t offset;
    uint64_t count;
    const unsigned char *base;
    const struct vm_layout *layout; /* in a frame; NULL: in memory */
    unsigned bits;                  /* of an element where it lies */
    const struct vm_array *array;   /* in memory: that it belongs to; NULL: a tile */
    const struct bc_type *type;     /* VIEW */
} vm_debug_value;

/* What an expression is now. Values borrow frames and memory: they hold until something runs. */
bool vm_debug_evaluate(vm_debug *d, tv_str text, vm_debug_value *out, vm_debug_error *error);
/* The value of an op or block that is in scope. False: it has not been computed yet, or is not in scope; error says
   which. */
bool vm_debug_value_of(const vm_debug *d, const bc_value *value, vm_debug_value *out, vm_debug_error *error);
/* The i-th value, in order of definition, that can be shown here; for listings. NULL past the last. */
const bc_value *vm_debug_local_at(const vm_debug *d, size_t index);
/* The i-th array of the kernel. */
bool vm_debug_array_at(const vm_debug *d, size_t index, vm_debug_value *out);
const char *vm_debug_array_name(const vm_debug_value *value);
/* Pattern of an element, by its place in row-major order. */
uint64_t vm_debug_element(const vm_debug_value *value, uint64_t place);
/* Bytes of an element as vm_debug_copy writes it; f4 and i4: 1. */
unsigned vm_debug_item(const vm_debug_value *value);
/* All elements, packed in row-major order: count * item bytes. */
void vm_debug_copy(const vm_debug_value *value, void *out);
/* "3", "0.5", "byte 16 of 'a'" */
void vm_debug_print_element(const vm_debug *d, const vm_debug_value *value, uint64_t bits, bc_text *out);
/* "from byte 0 of 'a', shape [64, 32], strides [32, 1]"; of a VIEW. */
void vm_debug_print_view(const vm_debug *d, const vm_debug_value *value, bc_text *out);
/* "f32[4, 8]", "i32" */
void vm_debug_print_type(const vm_debug_value *value, bc_text *out);

/* ---- history ---- */

typedef struct vm_debug_write {
    uint64_t time;
    uint32_t block[3], position;
    uint64_t address; /* of the element */
    uint64_t element; /* of the tile that was stored: place in row-major order */
} vm_debug_write;

/* The op that last wrote an element of an array, before the current time. False with an empty error: no op has. The
   session stays where it is. */
bool vm_debug_who(vm_debug *d, tv_str text, vm_debug_write *out, vm_debug_error *error);

#endif
