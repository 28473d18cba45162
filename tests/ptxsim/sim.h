/* What the parts of the simulator share: the parsed module, the state of warps and blocks, and the ways to read and
   write registers and memory.

   A warp runs in lock step. Its lanes stand in groups, each with a program counter; a branch that lanes take
   differently splits a group, and groups that meet at one instruction join again. The group with the lowest counter
   runs first.

   Registers are rows of 32 lanes, zero-extended to 64 bits (.b128: two rows); predicates are masks. */
#ifndef TILEVM_TESTS_PTXSIM_SIM_H
#define TILEVM_TESTS_PTXSIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytecode/base/arena.h"
#include "bytecode/base/text.h"
#include "bytecode/number/number.h"
#include "tests/ptxsim/ptxsim.h"

enum {
    PS_LANES = 32,
    PS_MAX_WARPS = 32,   /* of a block */
    PS_MAX_CLUSTER = 16, /* blocks */
    PS_BARRIERS = 16,
    PS_MAX_OPERANDS = 12,
    PS_MAX_MODIFIERS = 20,
    PS_MAX_RESIDENT = 64, /* clusters that run side by side when one waits for long */
    PS_POISON = 0xA5      /* bytes that nobody has written */
};
#define PS_ALL UINT32_MAX

/* ---- types ---- */

typedef enum ps_type {
#define TYPE(name, text, bits, class, count, kind) PS_##name,
#include "tests/ptxsim/types.def"
    PS_TYPE_COUNT,
    PS_NO_TYPE = PS_TYPE_COUNT
} ps_type;

typedef enum ps_class { PS_CLASS_PRED, PS_CLASS_BITS, PS_CLASS_UINT, PS_CLASS_SINT, PS_CLASS_FLOAT } ps_class;

typedef struct ps_type_info {
    const char *text;
    uint16_t bits;         /* of a register */
    uint8_t class_, count; /* ps_class; elements in a register */
    uint8_t kind;          /* bc_kind of an element; BC_KIND_COUNT: none */
} ps_type_info;

extern const ps_type_info ps_types[PS_TYPE_COUNT];

/* Bits of an element. */
static inline unsigned ps_element_bits(ps_type type)
{
    return ps_types[type].bits / ps_types[type].count;
}

/* ---- memory ---- */

typedef enum ps_space {
    PS_GENERIC,
    PS_GLOBAL,
    PS_SHARED,
    PS_SHARED_CLUSTER,
    PS_LOCAL,
    PS_CONST,
    PS_PARAM,
    PS_PARAM_FUNC
} ps_space;

/* Windows of the generic address space. Addresses of .global and .const are generic ones. */
#define PS_SHARED_WINDOW UINT64_C(0x010000000000)
#define PS_LOCAL_WINDOW UINT64_C(0x020000000000)
#define PS_PARAM_WINDOW UINT64_C(0x030000000000)
#define PS_WINDOW_BYTES UINT64_C(0x000100000000)
#define PS_VARIABLES UINT64_C(0x040000000000) /* .global and .const variables, then buffers */
#define PS_BUFFERS UINT64_C(0x7f0000000000)
enum {
    PS_SHARED_START = 1024, /* address of the first byte of shared memory of a block */
    PS_RANK_SHIFT = 24,     /* shared::cluster: the block's rank above this bit, as devices have it */
    PS_LOCAL_START = 64
};

typedef struct ps_var {
    const char *name;
    ps_space space;
    ps_type type;     /* of an element */
    uint64_t address; /* within its space */
    uint64_t size;    /* bytes */
    uint32_t align;
    bool is_extern;
} ps_var;

typedef struct ps_buffer {
    uint64_t address, size;
    uint8_t *bytes;
    const char *name;
    bool read_only, is_variable;
    bool is_heap; /* made by malloc of the kernel: bytes are ours */
} ps_buffer;

/* Who touched a granule of memory last. A time is a count of its warp's releases, a thread is warp * 32 + lane. */
typedef struct ps_shadow {
    uint32_t write_time, read_time;
    uint16_t writer, reader;
    uint32_t readers;  /* index of a row of times by warp, when several warps have read; 0: none */
    uint32_t write_pc; /* the instruction of the last write */
    uint8_t state;     /* PS_WRITTEN, ... */
} ps_shadow;
enum {
    PS_WRITTEN = 1,
    PS_READ = 2,
    PS_PENDING = 4,     /* an asynchronous operation will write it */
    PS_STRONG = 8,      /* the last write was atomic, or of another order than weak */
    PS_WEAK_READ = 16,  /* so was not every read since */
    PS_ASYNC_PROXY = 32 /* the last write was a bulk copy's */
};

/* ---- instructions ---- */

typedef struct ps_warp ps_warp;
typedef struct ps_block ps_block;
typedef struct ps_insn ps_insn;

typedef enum ps_operand_kind {
    PS_NONE,
    PS_REG,
    PS_PREDICATE,
    PS_IMMEDIATE,
    PS_SREG,
    PS_ADDRESS,
    PS_VECTOR,
    PS_SINK,
    PS_LABEL,
    PS_FUNCTION,
    PS_VARIABLE
} ps_operand_kind;

typedef struct ps_operand {
    uint8_t kind;            /* ps_operand_kind */
    uint8_t type;            /* REG: ps_type it was declared with */
    bool negated;            /* PREDICATE: !p */
    bool is_float;           /* IMMEDIATE: decimal; value holds a double */
    bool exact_float;        /* IMMEDIATE: 0f..., 0d... */
    uint32_t slot;           /* REG, PREDICATE, SREG, FUNCTION */
    uint64_t value;          /* IMMEDIATE; ADDRESS: offset; VARIABLE: address */
    const uint64_t *row;     /* IMMEDIATE, VARIABLE: 32 times value */
    const ps_var *var;       /* VARIABLE, ADDRESS with one as a base */
    struct ps_operand *sub;  /* VECTOR: elements; ADDRESS: the base register or NULL */
    uint32_t count;          /* VECTOR */
    struct ps_operand *pair; /* q of p|q, coordinates of a tensor address; NULL: none */
    const char *name;        /* LABEL, and for messages */
} ps_operand;

/* Register i of a vector, or the one register. */
static inline const ps_operand *ps_part(const ps_operand *o, unsigned i)
{
    return o->kind == PS_VECTOR ? &o->sub[i] : o;
}

typedef enum ps_flow {
    PS_NEXT,   /* go on with the next instruction */
    PS_JUMPED, /* the group was changed */
    PS_WAIT    /* not possible yet: run something else, then try again */
} ps_flow;

typedef ps_flow ps_exec(ps_warp *w, const ps_insn *in, uint32_t active);
/* One lane, one element: v holds the sources, zero-extended from the element's bits. */
typedef uint64_t ps_lane(const ps_insn *in, const uint64_t *v);

typedef enum ps_order { PS_WEAK, PS_RELAXED, PS_ACQUIRE, PS_RELEASE, PS_ACQ_REL, PS_VOLATILE } ps_order;
typedef enum ps_compare {
    PS_EQ,
    PS_NE,
    PS_LT,
    PS_LE,
    PS_GT,
    PS_GE,
    PS_NUM,
    PS_NAN /* then the forms that are true for NaN */,
    PS_EQU,
    PS_NEU,
    PS_LTU,
    PS_LEU,
    PS_GTU,
    PS_GEU
} ps_compare;

struct ps_insn {
    ps_exec *exec;
    ps_lane *lane;
    ps_operand *operands;
    uint8_t count;          /* operands */
    uint8_t first_source;   /* operands before it are results */
    uint8_t type, from;     /* ps_type of the result, and the one the operation computes in */
    uint8_t source_type[4]; /* of each source, for executors of lanes */
    uint8_t packed;         /* elements that executors of lanes take one by one */
    uint8_t bits;           /* of an element of `from` */
    uint8_t kind;           /* bc_kind of an element of `from` */
    bool is_signed;
    uint8_t rounding; /* bc_RoundingMode */
    bool ftz, sat, relu, nan, approx, xorsign, satfinite, to_integer, high, wide, low;
    uint8_t compare, combine; /* ps_compare; 0, 'a'nd, 'o'r, 'x'or */
    uint8_t space, order, vector;
    bool beyond_block; /* its scope is larger than the thread block */
    uint8_t mode;      /* what the decoder and the executor of one opcode agree on */
    uint8_t table;     /* lop3 */
    bool aligned;      /* .aligned: all lanes of the warp must be there */
    bool guard_negated;
    int32_t guard;   /* predicate; -1: none */
    uint32_t target; /* of a branch: instruction; of a call: function */
    uint32_t line;
    const char *comment, *opcode;
    ps_lane *inner;           /* of the operation with both operands in one type */
    const struct ps_mma *mma; /* mma.h */
    const char *unwritten;    /* wgmma: a register of A that the loop around it does not write; NULL: none */
    uint32_t *targets;        /* brx */
    uint32_t target_count;
};

typedef struct ps_function {
    const char *name;
    bool is_entry, is_defined;
    ps_operand *results, *params; /* registers or variables (PARAM_FUNC) */
    uint32_t result_count, param_count;
    uint32_t entry; /* first instruction */
    uint32_t index; /* slot of its return addresses */
    uint32_t reqntid[3], maxntid[3], cluster[3];
    bool counts_clusters;  /* .blocksareclusters: the grid of a launch does */
    uint64_t param_bytes;  /* of an entry */
    uint64_t shared_bytes; /* of an entry: static, with what the module declares */
    uint32_t end;          /* behind its last instruction */
    ptxsim_entry info;
} ps_function;

typedef struct ps_module {
    bc_arena arena;
    ps_insn *code;
    size_t code_count, code_size;
    ps_function **functions;
    size_t function_count, function_size;
    ptxsim_entry *entries;
    size_t entry_count;
    uint32_t rows, predicates;                  /* registers of all functions together */
    uint64_t local_bytes;                       /* per lane, with the parameters of functions */
    uint64_t shared_bytes;                      /* static: declared outside entries */
    uint64_t shared_end;                        /* most that an entry has, with that */
    uint32_t dynamic_align;                     /* of .extern .shared */
    unsigned granule_log2, global_granule_log2; /* smallest access to shared, to global memory */
    ps_buffer *variables;
    size_t variable_count, variable_size;
    uint64_t variable_end;
    unsigned sm; /* .target sm_NN */
    bool has_tensor_memory;
    bool is_dialect; /* .language N, as NVIDIA's tile compiler writes: its assembler adds waits and fences of tcgen05 */
    bool is_triton;  /* ptxsim_as_triton */
} ps_module;

/* Parses text into m (whose arena is ready). False after an error, "line N: ...". */
bool ps_parse(ps_module *m, const char *text, size_t size, char *error, size_t error_size);

/* decode.c: what the opcode and its modifiers mean. On failure writes a message. */
bool ps_decode(ps_module *m, ps_insn *in, const char *opcode, char *error, size_t error_size);

/* ---- running ---- */

enum { PS_RUN, PS_AT_BARRIER, PS_AT_SYNC };

typedef struct ps_group {
    uint32_t mask, pc;
    uint8_t state;
    uint8_t barrier;
    bool released; /* the barrier has completed */
} ps_group;

/* A copy to shared memory that has not happened yet. */
typedef struct ps_copy {
    const ps_insn *in;
    uint64_t from;            /* generic address; 0: zeros */
    uint32_t to, bytes, read; /* shared offset; bytes written, bytes of them read */
    uint16_t thread;
    uint32_t group;
    uint32_t arrival, arrival_time; /* the first arrival at an mbarrier behind it, and the warp's time then; 0: none */
    uint8_t was[16];                /* what it would have read when it began */
} ps_copy;

/* A tensor map in global memory: how often it was published, or how often that was when a warp acquired it. */
typedef struct ps_publication {
    uint64_t address;
    uint32_t times;
    uint32_t when; /* the warp's time when it acquired it */
} ps_publication;

struct ps_warp {
    ptxsim *sim;
    ps_block *block;
    uint32_t index;       /* in the block */
    uint32_t clock_index; /* in the cluster */
    uint32_t live;        /* lanes that have not exited */
    uint32_t started;
    ps_group groups[PS_LANES + 1]; /* one may be empty while a branch splits it */
    uint32_t group_count, current;
    uint64_t (*rows)[PS_LANES];
    uint32_t *row_known; /* lanes that have been written, by row */
    uint32_t *predicates, *predicate_known;
    uint32_t (*return_pc)[PS_LANES]; /* by function */
    uint32_t carry;
    uint8_t *local;             /* local_bytes per lane */
    uint32_t *times;            /* of each warp of the cluster, as far as known here; own: now */
    uint32_t *proxied;          /* times at the last fence.proxy.async */
    uint32_t *row_epoch, epoch; /* of the last write of a row; wgmma.fence begins a new one */
    uint32_t *fenced, *seen;    /* times at the last fence; read by relaxed loads, joined at the next fence */
    bool has_seen;
    ps_copy *copies;
    size_t copy_count, copy_size;
    uint32_t copy_group[PS_LANES]; /* groups committed: cp.async, cp.async.bulk */
    uint32_t bulk_group[PS_LANES];
    uint32_t arrivals;        /* cp.async.mbarrier.arrive so far */
    struct ps_wgmma *wgmma;   /* wgmma.c */
    struct ps_tcgen *tcgen;   /* tmem.h */
    uint32_t *fence_seen;     /* the last parts of times at the last tcgen05.fence::after_thread_sync */
    ps_publication *acquired; /* tensor maps (tensor.c) */
    size_t acquired_count, acquired_size;
    uint32_t cluster_phase; /* of barrier.cluster: the last this warp has arrived for */
    bool yielded;           /* has found that it must wait */
    bool forced;            /* lanes that were waited for will not come */
    bool moved;             /* the current group has its new program counter already */
    uint32_t since_switch;
};

typedef struct ps_barrier {
    uint32_t expected, arrived; /* threads; expected 0: idle */
    uint32_t line;
    uint32_t *times;
    uint32_t any, all; /* bar.red so far */
    uint32_t popc;
    uint32_t result[3]; /* of the last phase: popc, and, or */
} ps_barrier;

typedef struct ps_mbarrier {
    uint32_t address; /* shared offset */
    bool live;
    uint64_t phase;
    int64_t expected, pending, tx;
    uint32_t maker, made; /* the warp that has initialised it, and when */
    uint32_t *times;      /* of those who have arrived in this phase, then what waiting gives */
    uint32_t *done_times;
    uint32_t *seen;  /* when warps have seen that the last phase is over, or 0 */
    bool from_other; /* another block has arrived, with .release.cluster; */
    bool was_other;  /* and in the last phase */
} ps_mbarrier;

typedef struct ps_cluster ps_cluster;

/* Granules of global memory that were touched, by address (pages.c). */
enum { PS_PAGE_LOG2 = 10, PS_PAGE_GRANULES = 1 << PS_PAGE_LOG2 };
typedef struct ps_pages {
    struct ps_page *list; /* a hash table */
    size_t count, size;
    size_t bytes; /* of what is kept of a granule */
} ps_pages;

/* The granules of the page with that number, zeros at first. */
void *ps_page_of(ps_pages *pages, uint64_t number);
/* Forgets all; keeps the memory. */
void ps_pages_clear(ps_pages *pages);
void ps_pages_release(ps_pages *pages);

struct ps_block {
    ptxsim *sim;
    ps_cluster *cluster;
    uint32_t id[3], rank, linear;
    uint32_t thread_count, warp_count, live_warps;
    ps_warp *warps;
    uint8_t *shared;
    uint64_t shared_bytes;
    ps_shadow *shadow;
    ps_barrier barriers[PS_BARRIERS];
    ps_mbarrier *mbarriers;
    size_t mbarrier_count, mbarrier_size;
    struct ps_tmem *tmem; /* tmem.h; NULL: not used yet */
};

struct ps_cluster {
    uint32_t size;
    ps_block *blocks;
    uint32_t warp_count;  /* of all blocks */
    uint32_t clock_count; /* entries of a vector of times: one per warp, four with tensor memory: besides, those of its
                             fences and commits (tmem.h), and what proxy fences have covered */
    uint32_t *readers;    /* rows of times */
    size_t reader_count, reader_size;
    ps_barrier barrier;   /* barrier.cluster */
    uint32_t *published;  /* times that releases outside barriers have made known */
    ps_pages pages;       /* shadow of global memory: ps_shadow (shadow.c) */
    uint32_t number;      /* of the grid's clusters */
    uint32_t *grid_times; /* what it knows of each cluster; what it has seen; what it knew at its last fence (grid.c) */
    bool grid_has_seen;
    uint32_t live_warps;
    uint64_t yields, progress;     /* scheduling: yields since progress was made */
    struct ps_transfer *transfers; /* bulk copies on their way (bulk.c) */
    size_t transfer_count, transfer_size;
    struct ps_arrival
        *arrivals; /* of copies at mbarriers that have not happened, in the order of their issue (async.c) */
    size_t arrival_count, arrival_size;
};

struct ptxsim {
    uint32_t multiprocessors; /* %nsmid */
    ps_module module;
    ps_buffer *buffers; /* by address; the module's variables first */
    size_t buffer_count, buffer_size, last_buffer;
    ps_publication *published; /* tensor maps (tensor.c) */
    size_t published_count, published_size;
    uint64_t next_address, heap_bytes;
    ptxsim_report *reports;
    size_t report_count, report_size, report_limit;
    bc_text report_text, output;
    bc_arena run_arena; /* of the reports' texts */
    uint64_t random;
    uint64_t steps, step_limit;
    ptxsim_use *uses;  /* of each instruction; NULL: the launch does not count (uses.c) */
    uint64_t progress; /* of what others may wait for: releases, stores, exits */
    bool stopped;
    const ptxsim_launch *launch;
    const ps_function *entry;
    uint64_t grid_clusters; /* whose accesses are compared with each other; 0: none are (grid.c) */
    uint32_t *grid_published;
    ps_pages grid_pages;
    uint8_t *params;
    uint32_t grid[3], block[3], cluster[3];
};

/* ---- services (run.c, registers.c, memory.c) ---- */

uint64_t ps_random(ptxsim *sim);

/* Reports for the thread of a warp (lane -1: its first live lane) at in (NULL: nowhere). */
void ps_report(ps_warp *w, const ps_insn *in, int lane, ptxsim_check check, const char *format, ...) TV_PRINTF(5, 6);

/* Counts, if the launch does: a step of a warp, also if its guard does not hold; a product, which is then not made
   (true); bytes of a bulk copy. */
void ps_uses_start(ptxsim *sim);
void ps_use_step(ps_warp *w, const ps_insn *in, uint32_t active);
bool ps_use_product(ps_warp *w, const ps_insn *in, unsigned m, unsigned n, unsigned k, bool a_in_shared);
void ps_use_bytes(ps_warp *w, const ps_insn *in, uint32_t bytes);

/* The row of a source; values that are not in a register are made in scratch. Reports what is uninitialised. */
const uint64_t *ps_source(ps_warp *w, const ps_insn *in, const ps_operand *o, uint32_t active, uint64_t *scratch);
/* Upper half of a .b128. */
const uint64_t *ps_source_high(ps_warp *w, const ps_operand *o, uint64_t *scratch);
/* Lanes where a predicate holds. */
uint32_t ps_predicate(ps_warp *w, const ps_insn *in, const ps_operand *o, uint32_t active);
/* Writes values, extended as `type` says, where active. */
void ps_result(ps_warp *w, const ps_operand *o, ps_type type, uint32_t active, const uint64_t *values);
void ps_result_high(ps_warp *w, const ps_operand *o, uint32_t active, const uint64_t *values);
void ps_result_mask(ps_warp *w, const ps_operand *o, uint32_t active, uint32_t mask);
/* The special register of all lanes. */
void ps_special(ps_warp *w, uint32_t slot, uint64_t *out);
/* The slot of a name like %tid.x, or -1. */
int ps_special_find(const char *name);

/* The address in each lane. */
void ps_addresses(ps_warp *w, const ps_insn *in, const ps_operand *o, uint32_t active, uint64_t *out);

enum {
    PS_LOADS = 1,
    PS_STORES = 2,
    PS_ATOMIC = 4,    /* no race with others of its kind */
    PS_UNCHECKED = 8, /* no check of order, nothing noted */
    PS_SAME = 16      /* stores what is there already */
};

/* The heap of kernels: zero when there is no memory left (8 MiB as on a GPU). The contents are poison. */
uint64_t ps_heap_new(ptxsim *sim, uint64_t size);
bool ps_heap_delete(ptxsim *sim, uint64_t address);

/* The buffer that starts last at or below an address; NULL: none does. */
const ps_buffer *ps_buffer_below(ptxsim *sim, uint64_t address);

/* The bytes behind an address of a space, or NULL after a report. Access is PS_LOADS, PS_STORES or both; alignment is
   that of size (capped at 16) unless given. */
uint8_t *ps_place(ps_warp *w, const ps_insn *in, unsigned lane, ps_space space, uint64_t address, uint32_t size,
                  uint32_t align, unsigned access);
/* Offset of a shared address in its block, which is out_block; false: not shared memory of the cluster. */
bool ps_shared_offset(ps_warp *w, ps_space space, uint64_t address, ps_block **out_block, uint32_t *out_offset);

/* shadow.c: notes an access of a thread to shared memory, and reports what it is not ordered after. */
void ps_shadow_touch(ps_warp *w, const ps_insn *in, unsigned lane, ps_block *block, uint32_t offset, uint32_t size,
                     unsigned access);
/* The bytes will be written by an asynchronous operation of this thread / have been, at that time of the warp. */
void ps_shadow_begin(ps_warp *w, const ps_insn *in, unsigned lane, ps_block *block, uint32_t offset, uint32_t size);
void ps_shadow_end(ps_warp *w, const ps_insn *in, unsigned lane, ps_block *block, uint32_t offset, uint32_t size,
                   uint32_t time);
/* The same for global memory. Two writes of one block that come from one op (that is, under one comment) are not
   reported: its source may mean the same element twice. */
void ps_shadow_global(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint32_t size, unsigned access);
/* "shared byte 1024", "byte 16 of buffer 'x'": what an address means. */
void ps_name_place(const ps_warp *w, uint64_t address, bool global, char *out, size_t size);

/* grid.c: accesses of different clusters, where the launch asks for it. */
void ps_grid_start(ptxsim *sim, uint64_t clusters);
void ps_grid_end(ptxsim *sim);
void ps_grid_enter(ps_cluster *c, uint64_t number); /* it begins to run as the one with that number */
void ps_grid_acquire(ps_cluster *c, bool now);
void ps_grid_release(ps_cluster *c, bool now);
void ps_grid_fence(ps_cluster *c);
void ps_grid_touch(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint32_t size, unsigned access);

/* Order: everything this warp knows so far is known to whoever acquires `times`; and the other way round. */
void ps_release(ps_warp *w, uint32_t *times);
void ps_acquire(ps_warp *w, const uint32_t *times);
/* What was known at some time is known to whoever acquires `times`. */
void ps_tell(ps_warp *w, uint32_t *times, const uint32_t *known);
/* A step of the warp's own time, without a release: its lanes have met. */
void ps_tick(ps_warp *w);
void ps_fence(ps_warp *w);
/* What an access with that order means for the times. */
void ps_order_read(ps_warp *w, const ps_insn *in);
void ps_order_write(ps_warp *w, const ps_insn *in);

/* run.c: the group in hand. */
static inline ps_group *ps_current(ps_warp *w)
{
    return &w->groups[w->current];
}
/* Are the lanes of mask all here? If some are still on their way, false: return PS_WAIT. Reports lanes that will not
   come. */
bool ps_converged(ps_warp *w, const ps_insn *in, uint32_t active, uint32_t mask);
/* For .aligned instructions: reports when not all lanes of the warp are active. */
void ps_check_aligned(ps_warp *w, const ps_insn *in, uint32_t active);
/* Takes lanes out of the current group, to go on at pc. */
void ps_split(ps_warp *w, uint32_t mask, uint32_t pc);
void ps_exit_lanes(ps_warp *w, uint32_t mask);

/* control.c */
void ps_barriers_recheck(ps_block *block);
void ps_cluster_recheck(ps_cluster *cluster);

/* async.c: copies and arrivals still to come when a warp ends. */
void ps_copies_finish(ps_warp *w);
/* Makes an arrival of copies at an mbarrier happen: perhaps one, or surely one. False: none happened. */
bool ps_arrivals_progress(ps_cluster *c, bool surely);
void ps_arrivals_forget(ps_cluster *c);
/* A commit of tcgen05 arrives some time later: at the mbarrier of a lane's address, or at the same place in each
   block of a mask. */
void ps_arrive_later(ps_warp *w, const ps_insn *in, unsigned lane, uint64_t address, uint16_t blocks, uint32_t commit);

/* tmem.c, tmem_move.c, tcgen05.c */
void ps_tmem_start(ps_block *block);
void ps_tmem_free(ps_block *block);
void ps_tmem_end(ps_warp *w); /* the last warp of its block ends */
bool ps_tm_pending(const ps_warp *w, uint32_t slot);
void ps_commit_arrives(ps_warp *w, uint32_t commit);
/* wgmma.c */
bool ps_wgmma_pending(const ps_warp *w, uint32_t slot);
void ps_wgmma_check_loops(ps_module *m); /* once, when it is parsed */
void ps_wgmma_start(ps_warp *w);
void ps_wgmma_free(ps_warp *w);
/* Reads of the asynchronous proxy: were the bytes written for it? */
void ps_proxy_read(ps_warp *w, const ps_insn *in, const ps_block *block, uint32_t offset, uint32_t size);

/* mbarrier at a shared offset: bytes that a bulk copy has brought. */
void ps_mbarrier_complete_tx(ps_warp *w, const ps_insn *in, ps_block *block, uint32_t offset, uint32_t bytes);

/* Makes bulk copies of the cluster happen: perhaps one, or surely one. False: none happened. */
bool ps_transfers_progress(ps_cluster *c, bool surely);
void ps_transfers_finish(ps_cluster *c);

static inline uint64_t ps_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}
static inline int64_t ps_signed(uint64_t value, unsigned bits)
{
    return bc_int_sign_extend(value, bits);
}

/* Memory or the end of the program. */
void *ps_alloc(size_t count, size_t size);
void *ps_grow(void *items, size_t count, size_t *size, size_t item_bytes);

#define PS_FOR_LANES(l, mask)               \
    for (unsigned l = 0; l < PS_LANES; l++) \
        if ((mask) >> l & 1)

/* ---- executors that the opcode table names ---- */

ps_exec ps_exec_lanes, ps_exec_setp, ps_exec_set, ps_exec_carry, ps_exec_mov, ps_exec_nop;
ps_exec ps_exec_ld, ps_exec_st, ps_exec_atom, ps_exec_cvta, ps_exec_isspacep, ps_exec_prefetch, ps_exec_mapa,
    ps_exec_getctarank;
ps_exec ps_exec_bra, ps_exec_brx, ps_exec_call, ps_exec_ret, ps_exec_exit, ps_exec_trap;
ps_exec ps_exec_bar, ps_exec_warp_bar, ps_exec_cluster_bar, ps_exec_fence;
ps_exec ps_exec_shfl, ps_exec_vote, ps_exec_match, ps_exec_activemask, ps_exec_redux, ps_exec_elect, ps_exec_setmaxnreg;
ps_exec ps_exec_ldmatrix, ps_exec_ldmatrix_bytes, ps_exec_stmatrix, ps_exec_movmatrix, ps_exec_mma;
ps_exec ps_exec_cp_async, ps_exec_cp_commit, ps_exec_cp_wait, ps_exec_cp_mbarrier, ps_exec_cp_bulk, ps_exec_bulk_commit,
    ps_exec_bulk_wait;
ps_exec ps_exec_map_replace, ps_exec_map_publish, ps_exec_map_acquire, ps_exec_cp_tensor;
ps_exec ps_exec_mbarrier_init, ps_exec_mbarrier_arrive, ps_exec_mbarrier_tx, ps_exec_mbarrier_wait;
ps_exec ps_exec_tm_alloc, ps_exec_tm_dealloc, ps_exec_tm_relinquish, ps_exec_tm_ld, ps_exec_tm_st, ps_exec_tm_wait_ld,
    ps_exec_tm_wait_st, ps_exec_tm_cp, ps_exec_tm_shift;
ps_exec ps_exec_tc_mma, ps_exec_tc_commit, ps_exec_tc_before, ps_exec_tc_after;
ps_exec ps_exec_wgmma, ps_exec_wgmma_fence, ps_exec_wgmma_commit, ps_exec_wgmma_wait;

#endif
