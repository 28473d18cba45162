/* The executable form of one entry, and the frame that one running tile block works in. Everything in vm_code is
   read-only while it runs, so all workers share it. */
#ifndef TILEVM_VM_RUN_CODE_H
#define TILEVM_VM_RUN_CODE_H

#include "bytecode/base/arena.h"
#include "bytecode/base/compiler.h"
#include "bytecode/module.h"
#include "bytecode/rules.h"
#include "vm/kernels/kernels.h"
#include "vm/run/memory.h"

typedef struct vm_inst vm_inst;
typedef struct vm_frame vm_frame;
typedef struct vm_run vm_run;

/* Executes the instruction and returns the next one; NULL ends the tile block (frame->trapped says how). */
typedef const vm_inst *vm_handler(vm_frame *f, const vm_inst *inst);

/* Head of every instruction; its handler knows what follows. Operands are byte offsets into frame->base. */
struct vm_inst {
    vm_handler *run;
    const vm_inst *next; /* in the same region; NULL after the last, which is always a jump or an end */
    const bc_op *op;     /* for diagnostics, trace and profile; the last op of a group; NULL: bookkeeping */
    uint32_t index;      /* place in vm_code.insts */
};

/* One element-wise op: how a strip of its result is made. */
typedef struct vm_map vm_map;
typedef void vm_map_fn(const vm_map *map, void *out, const void *a, const void *b, const void *c, size_t n);

struct vm_map {
    vm_kernel *kernel; /* works on the elements as they are, unless custom is set */
    vm_map_fn *custom; /* used instead of the kernel for ops that need the fields below */
    vm_kernel *core;   /* of a wider type, after widening each operand that says how; narrowed at the end */
    vm_kernel *widen[3], *narrow, *flush;
    const void *table; /* results by pattern of the operand */
    int64_t scale;
    uint8_t operands;
    uint8_t out_bytes; /* of an element in tile storage */
    uint8_t in_bytes[3];
    uint8_t rounding; /* bc_RoundingMode */
    uint8_t from, to; /* bc_kind, for conversions */
    bool is_signed, saturating;
    bool is_quotient, rounds_tiny; /* a division; an op that may round results as small as those that are flushed */
};

static inline void vm_map_run(const vm_map *map, void *out, const void *a, const void *b, const void *c, size_t n)
{
    if (map->custom)
        map->custom(map, out, a, b, c, n);
    else
        map->kernel(out, a, b, c, n);
}

/* A tile that stays in global memory or was copied. Its load writes this record, and cells read it. Rows of 2^row_bits
   packed elements lie pitch bytes apart. */
typedef struct vm_rows {
    unsigned char *ptr;
    int64_t pitch;
    bool in_memory; /* in global memory: a store that overlaps it must copy it first */
} vm_rows;

/* A straight piece of code, for counting: the number of its runs is multiplied by what it contains. */
typedef struct vm_segment {
    uint32_t first_op, op_count; /* in vm_code.segment_ops */
    uint64_t flops;
    uint64_t work;       /* vm_work_of all its ops */
    const vm_inst *loop; /* the innermost `for` around it; NULL: none */
} vm_segment;

#define VM_NO_SEGMENT UINT32_MAX

typedef struct vm_param {
    size_t at;
    uint8_t kind; /* bc_kind of the element */
    uint8_t bytes;
} vm_param;

typedef struct vm_code {
    const bc_module *module;
    const bc_function *function;
    const vm_kernels *kernels;
    bc_arena arena;          /* holds everything below */
    const vm_inst *preamble; /* once per worker: what does not depend on the tile block */
    const vm_inst *body;
    const unsigned char *image; /* first bytes of every frame */
    size_t image_bytes;
    size_t frame_bytes, scratch_bytes;
    const vm_param *params;
    uint32_t param_count;
    const vm_segment *segments;
    uint32_t segment_count;
    const bc_op *const *segment_ops;
    const uint32_t *op_segments; /* by position of the op: where it is counted; VM_NO_SEGMENT: as the op before it */
    uint64_t *segment_runs;      /* how often each ran, in the last run that has ended */
    const vm_inst *const *insts; /* all, by index */
    uint32_t inst_count;
    bool allocas;                        /* has an alloca: addresses may lie in one */
    const struct vm_check_op *check_ops; /* with checks: the ops that touch memory */
    uint32_t check_op_count;
    bool opens;                           /* with checks: has loads that leave elements undefined */
    const struct vm_probe *const *probes; /* by position of the op; NULL: none, or without probes */
    const struct vm_placed *placed;       /* with probes: by id of the value */
    uint32_t batch;                       /* tile blocks that the code runs at once */
    unsigned batch_axis;                  /* of the grid: they follow each other along it */
} vm_code;

/* Storage from alloca, released when its scope ends. */
typedef struct vm_held vm_held;

struct vm_frame {
    unsigned char *base;
    unsigned char *scratch;
    const vm_code *code;
    vm_run *run;
    uint32_t block[3];
    uint64_t block_index;
    const vm_region *hit;    /* region of the last access */
    vm_region alloca_region; /* copy of the storage found last */
    uint64_t *segment_counts;
    uint32_t segment;       /* entered last */
    uint32_t cut_ops;       /* ops executed of a segment that is not counted, because the steps were used up */
    uint64_t ops, ops_told; /* ops executed by this worker; how many of them it has reported to the run */
    uint64_t blocks_untold; /* blocks that have ended and were not reported to the run */
    int64_t patience;       /* work until the clock is looked at */
    uint64_t bytes_loaded, bytes_stored;
    vm_held *allocas; /* newest first */
    uint32_t strong_accesses;
    bool trapped;
    bool streamed;                /* wrote past the caches since the last vm_finish_streams */
    double *inst_seconds;         /* by inst->index, when profiling */
    struct vm_check_block *check; /* with checks */
    struct vm_batch_span *spans;  /* for a batch: the memory of its accesses, by slot; NULL: a single tile block */
};

static inline void *vm_at(const vm_frame *f, size_t at)
{
    return f->base + at;
}

/* Makes what was written past the caches visible to other threads before anything that is written later. */
static inline void vm_finish_streams(vm_frame *f)
{
    if (f->streamed)
        TV_STREAM_FENCE();
    f->streamed = false;
}

/* Workers count work in order to look at the clock often enough: a unit takes 10 ns (a small op) to some microseconds,
   and the cost of one look in VM_PATIENCE units is negligible. */
enum { VM_PATIENCE = 1 << 12, VM_UNIT_ELEMENTS = 1 << 8, VM_UNIT_FLOPS = 1 << 13 };

/* Reports progress when it is due. False: the block must stop, because the caller wants it or because another block
   trapped (only between ops, where `inside` is false). */
bool vm_look(vm_frame *f, const bc_op *op, bool inside);

/* Ops that take long call this now and then. False: the op must stop, and return NULL. */
static inline bool vm_go_on(vm_frame *f, const vm_inst *inst, uint64_t work)
{
    f->patience -= (int64_t)work + 1;
    return TV_LIKELY(f->patience > 0) || vm_look(f, inst->op, true);
}

/* Records why the block stops; the first such reason of a run is reported. Always returns NULL, for handlers to
   return. */
const vm_inst *vm_trap(vm_frame *f, const vm_inst *inst, bc_rule rule, const char *format, ...) TV_PRINTF(4, 5);

void vm_trap_op(vm_frame *f, const bc_op *op, bc_rule rule, const char *format, ...) TV_PRINTF(4, 5);

/* Text of print_tko and assert. */
void vm_output(vm_frame *f, const char *text, size_t len);

#endif
