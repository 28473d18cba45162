/* What the files of the debugger share.

     session.c    opening, closing
     program.c    ops, lines and values of the program
     where.c      where the run is
     machine.c    running: probes, turns, traps
     arena.c      storage from alloca that is the same every time
     pages.c      versions of memory
     snapshot.c   snapshots
     time.c       going to a time
     stops.c      breakpoints, watchpoints, catches
     place.c      the places of breakpoints
     after.c      what is looked at when an op has run
     step.c       continue, steps, forwards and back
     findings.c   the run with checks
     value.c      values in frames and arrays
     expr.c       expressions: parsing
     eval.c       expressions: values
     history.c    who wrote an element */
#ifndef TILEVM_VM_DEBUG_STATE_H
#define TILEVM_VM_DEBUG_STATE_H

#include "bytecode/print/print.h"
#include "vm/check/probe.h"
#include "vm/debug/debug.h"
#include "vm/run/turns.h"

/* ---- memory ---- */

enum { DBG_PAGE = 4096 };

/* Contents of a page since a snapshot. */
typedef struct dbg_version {
    struct dbg_version *older;
    uint32_t since; /* number of the snapshot */
    unsigned char bytes[DBG_PAGE];
} dbg_version;

/* A range of memory that the kernel may write. */
typedef struct dbg_range {
    unsigned char *start;
    size_t bytes;
    unsigned char *first;   /* as it was at the start; NULL: zeros */
    dbg_version **versions; /* by page, the newest; NULL: as at the start */
} dbg_range;

typedef struct dbg_pages {
    dbg_range *ranges;
    size_t count;
    size_t held; /* bytes of versions */
} dbg_pages;

bool dbg_pages_open(vm_debug *d);
void dbg_pages_close(vm_debug *d);
/* Adds versions of the pages that changed. False: out of memory, or they would take more than `most` bytes; versions
   that were already added do no harm. */
bool dbg_pages_save(vm_debug *d, uint32_t snapshot, size_t most);
void dbg_pages_restore(vm_debug *d, uint32_t snapshot);
/* Drops the snapshot; page versions that only it has go to `next`. */
void dbg_pages_drop(vm_debug *d, uint32_t snapshot, uint32_t next);

/* ---- snapshots ---- */

typedef struct dbg_saved {
    vm_frame frame;
    const vm_inst *next;
    unsigned char *bytes;
} dbg_saved;

typedef struct dbg_snapshot {
    uint32_t number; /* ascending with time */
    uint64_t time, next_block, ended;
    bool running; /* the first of `saved` is the block whose turn it is */
    uint32_t turn_end;
    dbg_saved *saved;
    size_t count, bytes;
    vm_regions allocas; /* their items lie in the arena */
    size_t alloca_bytes;
} dbg_snapshot;

/* ---- expressions ---- */

typedef struct dbg_expr dbg_expr;

/* ---- stops ---- */

typedef struct dbg_watch_range {
    uint64_t address;
    size_t bytes;
    unsigned char *before; /* contents when the op began */
    const vm_array *array; /* NULL: a plain range */
} dbg_watch_range;

typedef struct dbg_stop {
    vm_debug_kind kind;
    unsigned number;
    bool on, once;
    uint64_t hits, ignore;
    char *text;
    dbg_expr *condition; /* NULL: none */
    bc_arena arena;      /* of the condition, positions, ranges */
    uint32_t *positions;
    size_t position_count;
    bool has_block;
    uint32_t block[3]; /* breakpoints "block X,Y,Z" */
    dbg_watch_range range;
    bool nan, inf;   /* catches */
    uint32_t checks; /* tv_check */
} dbg_stop;

enum { DBG_BREAK = 1, DBG_WRITES = 2, DBG_FLOATS = 4 }; /* why an op is marked */

/* ---- lines ---- */

typedef struct dbg_line {
    tv_str file;
    uint32_t line; /* 0: unknown */
    bool starts;   /* the first op of the line in its block of ops */
} dbg_line;

/* ---- the session ---- */

struct vm_debug {
    tv_vm *vm;
    vm_debug_options options;
    bc_arena arena; /* tables of the program */
    vm_code code;
    const bc_function *function;
    bc_op_printer *printer;
    const bc_op **ops; /* by position */
    uint32_t op_count;
    uint32_t *ends;    /* position after the op and everything inside it */
    uint32_t *parents; /* position of the enclosing op; UINT32_MAX: none */
    uint32_t *depths;
    dbg_line *lines;
    const bc_value **values; /* by id */
    uint32_t *homes;         /* by id of the value: position of its op; UINT32_MAX: argument of the entry */
    /* running */
    const void *const *params;
    vm_probes probes;
    vm_run run;
    vm_turns turns;
    vm_started *current; /* the block whose turn it is; NULL: none */
    vm_started *chosen;  /* by the user; NULL: current */
    bool lock_made;
    bool ended, trapped, starved;
    uint64_t frontier; /* the latest time so far */
    uint64_t next_look;
    double snapshot_at, snapshot_gap;
    uint32_t chunk; /* ops between two looks at the clock */
    double looked;
    dbg_pages pages;
    dbg_snapshot **snapshots;
    size_t snapshot_count, snapshot_capacity;
    uint32_t next_snapshot;
    size_t snapshot_bytes;     /* of frames */
    struct dbg_arena *allocas; /* NULL: the kernel has none */
    tv_allocator normal;
    /* stops */
    dbg_stop **stops;
    size_t stop_count, stop_capacity;
    unsigned next_number;
    uint8_t *marks; /* by position */
    uint8_t *cold;  /* no marks */
    /* findings */
    vm_debug_finding *findings;
    size_t finding_count;
    uint32_t checked; /* checks whose findings are known */
    bc_arena finding_arena;
};

#define DBG_NONE UINT32_MAX

/* ---- machine.c ---- */

typedef enum dbg_outcome {
    DBG_AT_TIME, /* before the op that comes at the time asked for */
    DBG_AT_MARK, /* before a marked op, earlier than that */
    DBG_ENDED,
    DBG_TRAPPED,
    DBG_INTERRUPTED
} dbg_outcome;

bool dbg_machine_open(vm_debug *d, const uint32_t grid[3]);
void dbg_machine_close(vm_debug *d);
/* Runs until that time, or to a marked op. marks: by position. */
dbg_outcome dbg_run(vm_debug *d, uint64_t until, const uint8_t *marks);
/* Begins the next op. False: the turn of the block was over; another block is now current, before its next op. */
bool dbg_pass(vm_debug *d);
/* The probe of the op that is next. */
const vm_probe *dbg_probe(const vm_debug *d);
uint32_t dbg_position(const vm_debug *d);
/* The block whose values are shown; NULL if the run has ended. */
const vm_started *dbg_shown(const vm_debug *d);
/* The probe at which a block is, or which it reaches first; NULL: it ends without reaching one. */
const vm_probe *dbg_probe_of(const vm_started *s);

/* ---- arena.c ---- */

struct dbg_arena *dbg_arena_new(const tv_allocator *a);
void dbg_arena_free(struct dbg_arena *arena, const tv_allocator *a);
tv_allocator dbg_arena_allocator(struct dbg_arena *arena);
unsigned char *dbg_arena_bytes(struct dbg_arena *arena, size_t *out_size);
size_t dbg_arena_used(const struct dbg_arena *arena);
/* arena: alloca takes memory from the arena; else from the machine's own allocator. */
void dbg_swap_allocator(vm_debug *d, bool arena);

/* ---- snapshot.c ---- */

/* Takes a snapshot if it is time for one; the run is before an op. */
void dbg_snapshot_when_due(vm_debug *d);
bool dbg_snapshot_take(vm_debug *d);
void dbg_snapshots_close(vm_debug *d);
/* The newest at or before the time. */
size_t dbg_snapshot_before(const vm_debug *d, uint64_t time);
void dbg_restore(vm_debug *d, size_t index);

/* ---- time.c ---- */

/* Goes to the time, or to an earlier one at which the run ends, traps or is interrupted. */
dbg_outcome dbg_goto(vm_debug *d, uint64_t time);

/* ---- stops.c, after.c ---- */

void dbg_stops_close(vm_debug *d);
void dbg_mark_all(vm_debug *d);
/* Whether a breakpoint or a finding stops the run before the op that is next. */
bool dbg_stops_here(vm_debug *d, vm_debug_event *out);
/* The time of the next finding that stops the run, from a time on; UINT64_MAX. */
uint64_t dbg_next_finding(const vm_debug *d, uint64_t from);
/* Should the stop be taken? Counts hits, and evaluates the ignore count and the condition. */
bool dbg_takes(vm_debug *d, dbg_stop *stop);
void dbg_drop_stop(vm_debug *d, size_t index);
/* Before a marked op: saves what it may change. After it: says whether something stops the run. */
void dbg_before_op(vm_debug *d, uint8_t marks);
bool dbg_after_op(vm_debug *d, const vm_started *s, uint32_t position, uint8_t marks, vm_debug_event *out);
/* A new, empty stop; NULL: out of memory. */
dbg_stop *dbg_new_stop(vm_debug *d, vm_debug_kind kind, tv_str text, vm_debug_error *error);
/* "PLACE if CONDITION": splits off the condition and parses it. */
bool dbg_take_condition(vm_debug *d, dbg_stop *stop, tv_str *text, uint32_t position, vm_debug_error *error);

/* ---- place.c ---- */

/* Positions of the ops that a place means, in the arena of the stop. */
bool dbg_find_place(vm_debug *d, tv_str text, dbg_stop *stop, vm_debug_error *error);

/* ---- findings.c ---- */

bool dbg_find_all(vm_debug *d, uint32_t checks, vm_debug_error *error);

/* ---- value.c ---- */

/* Where the value lies, whether it is in scope or not. */
bool dbg_locate(const vm_debug *d, const vm_started *s, const bc_value *value, vm_debug_value *out);
/* Is the value available before the op at that position? If not, error says why. */
bool dbg_in_scope(const vm_debug *d, const bc_value *value, uint32_t position, vm_debug_error *error);
void dbg_array_value(const vm_array *array, vm_debug_value *out);
const vm_array *dbg_find_array(const vm_debug *d, tv_str name);
/* The value of that name that is in scope at the position, else any; NULL. */
const bc_value *dbg_find_value(const vm_debug *d, tv_str name, uint32_t position);
double dbg_number(const vm_debug_value *value, uint64_t bits);
uint64_t dbg_address(const vm_debug_value *value, uint64_t place);
void dbg_counts(const vm_debug_value *value, uint64_t *nan, uint64_t *inf);
bool dbg_has(const vm_debug_value *value, bool nan);

/* ---- expr.c, eval.c ---- */

/* position: where names are looked up. NULL with error set. */
dbg_expr *dbg_parse(vm_debug *d, bc_arena *arena, tv_str text, uint32_t position, vm_debug_error *error);
bool dbg_evaluate(vm_debug *d, const dbg_expr *expr, vm_debug_value *out, vm_debug_error *error);
/* Whether the condition holds; false also if it has no value. */
bool dbg_holds(vm_debug *d, const dbg_expr *expr);
/* Names in it that are not in scope at the position. */
bool dbg_check_scope(const vm_debug *d, const dbg_expr *expr, uint32_t position, vm_debug_error *error);

/* ---- program.c ---- */

/* False: out of memory. */
bool dbg_make_tables(vm_debug *d);

/* Sets the text; always false. */
bool dbg_fail(vm_debug_error *error, const char *format, ...) TV_PRINTF(2, 3);

#endif
