/* Running kernels on the CPU: the virtual machine and its checks. Programs include tilevm/tilevm.h, which states the
   rules that hold for all functions. */
#ifndef TILEVM_VM_H
#define TILEVM_VM_H

#include "tilevm/call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A machine that runs kernels of one verified module on the CPU. */
typedef struct tv_vm tv_vm;

/* ---- what callbacks see --------------------------------------------------------------------------------------- */

/* A tile: count elements in row-major order, packed without gaps. i1 (0 or 1), i4 and f4E2M1FN take one byte each, tf32
   four, pointers eight. */
typedef struct tv_tile {
    const char *element;  /* as the assembly writes it: "f32", "i1", "ptr" */
    const int64_t *shape; /* rank extents, in elements */
    uint32_t rank;        /* number of axes */
    uint64_t count;       /* elements */
    const void *data;     /* borrowed for the call */
    size_t size;          /* bytes */
} tv_tile;

/* One result of one op of one tile block, for tv_vm_options.trace. Strings are borrowed for the call. */
typedef struct tv_trace {
    uint32_t block[3]; /* the tile block: x, y, z */
    tv_str op;         /* mnemonic */
    uint32_t op_index; /* position of the op in the function, in pre-order from 0; as in tv_diag */
    uint32_t result;   /* which result, from 0 */
    tv_str file;       /* place in the source; empty: unknown */
    uint32_t line;     /* 0: unknown */
    tv_tile tile;      /* the result */
} tv_trace;

/* ---- checks --------------------------------------------------------------------------------------------------- */

/* The defects that a machine can look for while a kernel runs; a GPU does not report them. docs/internals/vm.md
   describes the checks. */
typedef enum tv_check {
    TV_CHECK_BOUNDS = 1,  /* accesses between the elements of an array, indices outside a view */
    TV_CHECK_UNINIT = 2,  /* reads of memory that was never written, results that use undefined elements of a load */
    TV_CHECK_RACES = 4,   /* unordered conflicting accesses of two tile blocks, or of one op */
    TV_CHECK_TOKENS = 8,  /* conflicting accesses of one tile block that no token orders */
    TV_CHECK_ASSUME = 16, /* assumptions that are false */
    TV_CHECK_VALUES = 32, /* operands for which the result of an op is undefined */
    TV_CHECK_ORDER = 64,  /* results that depend on the order of the tile blocks */
    TV_CHECK_ALL = 127
} tv_check;

/* A check, for listings. */
typedef struct tv_check_info {
    const char *name;    /* "races" */
    const char *summary; /* a few words */
    uint32_t check;      /* tv_check */
} tv_check_info;

/* The check at an index; NULL past the end.

   Memory    it lives forever
   Threads   any */
const tv_check_info *tv_check_at(size_t index);

/* ---- machines ------------------------------------------------------------------------------------------------- */

/* Neighbouring tile blocks of small tiles run as one, on tiles of all their elements, where the results are those of
   running them one by one in their order. Not with a trace, checks, precision, a profile, a step limit or an
   order. */
typedef enum tv_batch {
    TV_BATCH_AUTO,  /* where it is worth it */
    TV_BATCH_OFF,   /* never */
    TV_BATCH_ALWAYS /* wherever it is possible, also where it takes longer: for tests */
} tv_batch;

/* How a machine runs. All zero, or NULL in its place, is the default. Any worker thread may call the callbacks, one
   call at a time. */
typedef struct tv_vm_options {
    const tv_allocator *allocator; /* NULL: malloc and free; else copied, and in use until tv_vm_free */
    unsigned threads;              /* tile blocks that run at the same time; 0: one for each available processor */
    size_t memory_limit;           /* bytes for code, tile storage and alloca, over all threads; 0: half of the memory
                                      of the host. Fewer threads are used when not all frames fit. */
    uint64_t step_limit;           /* ops that one run may execute (those in loops count in every iteration): after
                                      exactly that many, the run stops; 0: no limit */
    uint64_t order_seed;           /* 0: tile blocks start in order, x fastest; else in an order drawn from the seed */
    tv_writer output;              /* text of print_tko and assert, one call per line or print; write NULL: dropped */
    void *user;                    /* for the callbacks below */

    /* Called a few times per second, also within a tile block and within an op: done of total tile blocks have ended.
       If it returns false, the run stops. tv_vm_where says more. NULL: none. */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    /* Called with every result of a chosen op, which is slow. NULL: none. */
    void (*trace)(void *user, const tv_trace *trace);
    /* Returns whether the op is chosen for trace. Called while a kernel is compiled. NULL: all ops are chosen. */
    bool (*trace_op)(void *user, tv_str op, uint32_t op_index);

    bool profile;    /* also measure the time of each op for tv_vm_op_time_at */
    uint8_t batch;   /* tv_batch: whether neighbouring tile blocks run as one */
    bool precision;  /* run the kernel beside itself with more digits, for tv_vm_op_precision_at; on one thread, and
                        not with checks */
    uint32_t checks; /* tv_check bits; 0: none, at no cost. With checks, tile blocks take turns on one thread,
                              always in the same order, and a deadlock among them is a trap */
    unsigned max_findings; /* stop after that many findings of checks; 0: 20 */
    unsigned check_orders; /* TV_CHECK_ORDER: how many other orders to try; 0: 3 */
} tv_vm_options;

/* Makes a machine. Kernels are compiled when they first run. Globals of the module get their storage here and keep
   their contents between runs.

   module    verified; borrowed until tv_vm_free
   options   may be NULL; copied
   Returns   TV_OK; TV_USAGE when the module is not verified */
tv_status tv_vm_new(const tv_module *module, const tv_vm_options *options, tv_sink sink, tv_vm **out_vm);

/* Releases a machine, and the storage of globals. NULL is fine. */
void tv_vm_free(tv_vm *vm);

/* ---- memory that kernels may access --------------------------------------------------------------------------- */

/* Lets kernels access the bytes from ptr to ptr + size. Every access through a pointer must lie in one such range, in a
   global of the module or in storage from alloca; any other access traps. Nothing is copied.

   name       for diagnostics; copied; may be NULL
   writable   false: stores and atomics to the range trap
   Memory     the caller owns the range, which must stay valid until the last run or tv_vm_clear_buffers
   Returns    TV_OK; TV_USAGE when the range is empty, begins at address 0, wraps around or overlaps another one */
tv_status tv_vm_add_buffer(tv_vm *vm, void *ptr, size_t size, const char *name, bool writable, tv_sink sink);

/* Describes an array in a buffer that was added; several arrays may share one. Messages then name elements, and checks
   detect accesses between them.

   array       copied
   name        for diagnostics; copied
   undefined   the elements have no values yet: reading one before it is written is a finding of TV_CHECK_UNINIT
   Returns     TV_OK; TV_USAGE when a part of the array lies in no buffer */
tv_status tv_vm_describe_array(tv_vm *vm, const tv_array *array, const char *name, bool undefined, tv_sink sink);

/* Properties of the argument for a leaf. */
typedef struct tv_leaf {
    const char *name; /* for diagnostics; copied; NULL: the leaf's own */
    bool read_only;   /* stores and atomics to its memory trap, unless another leaf may write there */
    bool undefined;   /* as in tv_vm_describe_array */
} tv_leaf;

/* Adds and describes the memory to which entry parameters refer: arrays from their lowest to their highest element,
   lists with their descriptors and arrays. Overlapping ranges become one buffer. The memory behind a POINTER leaf is
   not known: add it with tv_vm_add_buffer.

   params    count values, as for tv_vm_run; they are read by this call only
   leaves    NULL, or one for each leaf of the signature
   Memory    as for tv_vm_add_buffer
   Returns   TV_OK; TV_USAGE when count is not the number of slots, an extent or the count of a list is negative, or a
             range begins at address 0, wraps around or overlaps a buffer that was added before */
tv_status tv_vm_add_params(tv_vm *vm, const tv_signature *signature, const void *const *params, size_t count,
                           const tv_leaf *leaves, tv_sink sink);

/* Forgets all buffers and arrays. The memory is untouched. */
void tv_vm_clear_buffers(tv_vm *vm);

/* The storage of a global, for reading and writing between runs.

   out_size  bytes
   Memory    the storage lives until tv_vm_free
   Returns   false, without a result, when no global has that name */
bool tv_vm_global(const tv_vm *vm, const char *name, void **out_ptr, size_t *out_size);

/* ---- runs ----------------------------------------------------------------------------------------------------- */

/* Runs one kernel.

   entry     its symbol; NULL when the module has only one
   grid      tile blocks in x, y, z; each 1 to 2^24 - 1
   params    count values, as for cuLaunchKernel: params[i] points to the value of entry parameter i (i1 and i4: one
             byte, tf32: four, pointers: eight)
   Memory    borrows params and the buffers for the call; frames of the workers are released before it returns
   Returns   TV_OK; TV_TRAP after one X rule was reported (buffers keep what was written until then); TV_INVALID when
             the run was completed but checks found errors, each reported once per pair of ops; TV_USAGE for a wrong
             entry, grid or count; TV_UNSUPPORTED for an op that needs more than one GPU or host
   Threads   one call at a time for each machine; machines are independent, even with the same module */
tv_status tv_vm_run(tv_vm *vm, const char *entry, const uint32_t grid[3], const void *const *params, size_t count,
                    tv_sink sink);

/* The position of a run. */
typedef struct tv_vm_place {
    uint32_t block[3];      /* the current or last tile block of the worker that calls the callback */
    tv_str op;              /* mnemonic of its current or next op; empty between tile blocks */
    tv_str file;            /* place of the op in the source; empty: unknown */
    uint32_t line;          /* 0: unknown */
    uint64_t ops;           /* executed so far by all workers, except the last few thousand */
    uint64_t round, rounds; /* iteration and their number, of the outermost `for` with several; 0, 0: none */
} tv_vm_place;

/* A function for tv_vm_options.progress: the run continues until a file descriptor becomes readable. user is the
   descriptor itself, cast to a pointer.

   Threads   any */
bool tv_vm_until_readable(void *user, uint64_t done, uint64_t total);

/* The position of the run. Only progress callbacks may call this function.

   Memory    strings live as long as the module
   Returns   false, without a result, when nothing runs
   Threads   that of the callback */
bool tv_vm_where(const tv_vm *vm, tv_vm_place *out_place);

/* What the last run did. */
typedef struct tv_vm_stats {
    uint64_t blocks;                     /* tile blocks that ran to their end */
    uint64_t ops;                        /* ops executed */
    uint64_t bytes_loaded, bytes_stored; /* in global memory; atomics count in both */
    uint64_t flops;         /* floating-point operations of element-wise ops, reductions and mma (2 per product) */
    size_t frame_bytes;     /* tile storage of one running tile block */
    size_t memory_bytes;    /* the largest amount at any time, over all threads */
    unsigned threads;       /* that were used */
    uint32_t batches;       /* batches of neighbouring tile blocks that ran as one */
    double seconds;         /* wall time of the tile blocks, without compiling */
    double compile_seconds; /* 0 when the entry had run before */
} tv_vm_stats;

/* Figures of the last run; all zero before the first. */
void tv_vm_get_stats(const tv_vm *vm, tv_vm_stats *out_stats);

/* How often one kind of op was executed, and for how long. */
typedef struct tv_vm_op_time {
    const char *op; /* mnemonic */
    uint64_t count; /* times executed */
    double seconds; /* over all threads; 0 without options.profile */
} tv_vm_op_time;

/* A kind of op that the last run executed; kinds are in the order of the op table.

   Memory    op lives forever
   Returns   false, without a result, past the end */
bool tv_vm_op_time_at(const tv_vm *vm, size_t index, tv_vm_op_time *out_time);

/* How often the last run executed one op of its entry. Ops are numbered as in diagnostics, from 0, an op before those
   inside it. An op that was optimised away has the count of the ops around it; ops in the body of a reduction or scan
   have the count of the reduction or scan if that ran on many elements at a time. The op before which a run stopped may
   have been counted.

   Returns   false, without a result, before the first run and past the last op */
bool tv_vm_op_runs_at(const tv_vm *vm, uint32_t op_index, uint64_t *out_runs);

/* ---- precision ------------------------------------------------------------------------------------------------ */

/* How far floats are from what they are compared with, in units in the last place of the larger of the two. */
typedef struct tv_vm_error {
    double worst;        /* infinite where one of the two is infinite or NaN, and the other is not */
    double mean;         /* without those */
    uint64_t infinite;   /* how many those are */
    uint32_t block[3];   /* the tile block of the worst: x, y, z */
    uint64_t element;    /* its place in the tile, in row-major order */
    double value, exact; /* the worst, and what it is compared with */
} tv_vm_error;

/* What the last run with options.precision found about one op that makes or compares floats. `exact` is the result
   of the whole kernel up to there without rounding; decisions and addresses are those of the kernel. */
typedef struct tv_vm_op_precision {
    uint32_t op_index;        /* position of the op in the function, as in tv_diag */
    const char *op;           /* mnemonic; lives forever */
    tv_str file;              /* place in the source; empty: unknown. Lives as long as the module */
    uint32_t line;            /* 0: unknown */
    const char *element;      /* type of its floats, as "f32"; lives forever */
    uint64_t elements;        /* that it made, over all tile blocks and iterations; 0: it only decides */
    tv_vm_error introduced;   /* by the rounding of the op itself: compared with the op without rounding on the same
                                operands */
    tv_vm_error accumulated;  /* compared with `exact` */
    double caused;            /* the largest error of a stored element, in units of that, whose largest part comes from
                                the rounding of this op */
    double amplified;         /* the largest error of a stored element that grew most in this op */
    bool is_sum;              /* what grows does so by cancellation: an addition, a subtraction, a product */
    uint64_t grown;           /* elements in which the relative error of the operands grew 16 times or more */
    double growth;            /* the largest such factor */
    uint32_t growth_block[3]; /* the tile block where it is */
    uint64_t growth_element;  /* the element of the op's tile there, in row-major order */
    uint64_t overflows;       /* elements that became infinite or NaN from finite operands */
    uint64_t decisions;       /* comparisons, ftoi, floor and ceil: elements that would be others without rounding */
    tv_vm_error decided;      /* the first of them: the operand, or the difference of the two; worst is 1 */
    bool drops;               /* takes floats as bits or integers: what it gives counts as exact */
} tv_vm_op_precision;

/* The op at an index, in the order of the function, ops that made and compared no floats left out.

   Returns   false, without a result, past the end and without a run with options.precision */
bool tv_vm_op_precision_at(const tv_vm *vm, size_t index, tv_vm_op_precision *out_op);

/* The same about an array with floats that the kernel stored, as it was in the end. */
typedef struct tv_vm_array_precision {
    const char *name; /* as it was described; until tv_vm_clear_buffers */
    tv_dtype dtype;   /* of the elements, as the kernel stored them */
    bool described;   /* false: memory that no array was described in; index is then one number, in elements */
    uint32_t ndim;    /* of index */
    int64_t index[TV_MAX_RANK]; /* the worst element */
    uint64_t elements;          /* that were stored */
    tv_vm_error error;          /* block: which stored the worst element; element: 0 */
    double distance, largest;   /* largest difference from the exact value, and largest exact value, of finite ones */
    uint32_t origin;    /* op_index of the op whose rounding brought most of the worst error; UINT32_MAX: none */
    uint32_t amplifier; /* of the op in which that grew most; UINT32_MAX: in none 16 times */
} tv_vm_array_precision;

/* The array at an index, by address.

   Returns   false, without a result, past the end and without a run with options.precision */
bool tv_vm_array_precision_at(const tv_vm *vm, size_t index, tv_vm_array_precision *out_array);

#ifdef __cplusplus
}
#endif
#endif
