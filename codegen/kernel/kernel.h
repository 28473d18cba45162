/* The kernel that is being compiled: the state that all parts of the code generator share, the state of single
   parts, and how compilation fails. Nothing here emits code. */
#ifndef TILEVM_CODEGEN_KERNEL_KERNEL_H
#define TILEVM_CODEGEN_KERNEL_KERNEL_H

#include "bytecode/print/report.h"
#include "codegen/kernel/choices.h"
#include "codegen/kernel/promises.h"
#include "codegen/kernel/target.h"
#include "codegen/kernel/value.h"
#include "codegen/tile/ir.h"

/* Which tile block a thread block gets. The hardware starts thread blocks in the order of their numbers. */
typedef enum cg_block_order {
    CG_BY_NUMBER,
    CG_LONGEST_FIRST, /* counted from the last one along x */
    CG_SIDE_BY_SIDE,  /* clusters that share a GPC have consecutive numbers */
    CG_IN_BANDS,      /* down bands of a few rows: blocks that start together lie in a square */
    CG_IN_WIDE_BANDS, /* along bands of a few columns */
    CG_DIGIT_LAST,    /* the digit of a block's number that changes first changes last */
} cg_block_order;

typedef struct cg_func {
    /* The input, which every part may read. */
    const bc_module *m;
    const bc_function *f;
    const cg_target *target;
    const tv_compile_options *options; /* NULL: the defaults */
    const struct cg_launch *launch;    /* the launch that remarks predict: codegen/cost/cost.h; NULL: none */
    const struct cg_witness *witness;  /* receives a model of the kernel at the end: codegen/model/model.h; NULL: no
                                          model */
    const cg_choices *choices;         /* choices that replace decisions of passes; NULL: none */
    bool is_weighed;                   /* only its cost is needed: codegen/weight.c */
    tv_sink sink;
    cg_promises promises; /* the symbol's promises about the parameters */

    /* State that every part may use: memory that lives until the kernel is compiled, and whether compilation has
       failed. */
    bc_arena arena;
    bool failed; /* out of memory, which the arena tells, or reported */
    tv_status status;

    bool is_rough;           /* a decision has been left out because only the cost is needed */
    struct cg_trial *trials; /* its plans that have been weighed: codegen/weight.c */

    /* Results of passes for later passes. */
    uint32_t warp_bits;                /* of layouts; before the first pass (codegen/plan/budget.h) */
    uint32_t strip_bits;               /* the upper bits of these that number trips of a loop over strips, not warps */
    ct_func *ir;                       /* the kernel's IR, which passes rewrite */
    bool is_versioned;                 /* `align`: the kernel has two versions, of which one is executed */
    cg_block_order block_order;        /* `facts` */
    uint32_t band_bits;                /* `groups`: log2 of the blocks side by side in a band */
    uint32_t digit, rest;              /* `groups`: values of that digit, and of the others together */
    uint32_t cluster;                  /* `cluster`: thread blocks that compute a tile block together; 0: one does */
    uint32_t slices;                   /* `split`: groups of warps that have parts of K; 0: see cg_slices */
    bool in_parts;                     /* `split`: these have parts of K where the grid is small, else tile blocks */
    bool paired;                       /* `cluster`: its two thread blocks multiply as a pair (tcgen05) */
    bool takes_over;                   /* `groups`: the kernel is persistent: groups/persist.h */
    bool multiplies_bytes;             /* `lower`: signed bytes leave their words by multiplications */
    const struct cg_groups *groups;    /* `groups`: codegen/kernel/groups.h; NULL: all threads do the same */
    struct cg_tensor *tensor;          /* `tensor`: codegen/analysis/tensor.h; NULL: no sum is in tensor memory */
    cg_value *values;                  /* `layouts`: by ct_value.id */
    const struct cg_kernel_cost *cost; /* `cost`: codegen/cost/cost.h; NULL: not requested */
    uint32_t local_bytes;              /* `strips`: local memory of a thread for values that are kept between loops */
    uint32_t again_bytes;              /* `loads`: of rows that several loops read (codegen/plan/again.h); 0: none */
    struct cg_sharing *sharing;        /* `shared`, `sync`: effects on memory: codegen/values/effects.h */

    /* The private state of parts; NULL until the part begins. Only files that include the header named can see its
       fields. */
    struct cg_homes *homes;       /* layouts: codegen/values/homes.h */
    struct cg_lowering *lowering; /* the state of lowering an op: codegen/ops/lowering.h */
    struct cg_shared *shared;     /* shared memory and barriers: codegen/values/shared_state.h */
    struct cg_strips *strips;     /* loops over strips, if there are strip_bits: codegen/values/strip_state.h */
    struct cg_thread *thread;     /* numbers of the current thread: codegen/values/threads.c */
    struct cg_share *share;       /* the tile blocks of a persistent thread block: codegen/ops/blocks.c */
    struct cg_emit *emit;         /* the text of the kernel: codegen/ptx/emit.h */
    struct cg_written *written;   /* the text of the module; never NULL */
} cg_func;

/* The PTX version of .blocksareclusters, with which grids count clusters. */
enum { CG_PTX_OF_CLUSTERS = 90 };

/* A function of a pass that handles one op. */
typedef void cg_hook(cg_func *c, const ct_op *op);

static inline cg_value *cg_value_of(cg_func *c, const ct_value *v)
{
    return &c->values[v->id];
}
/* Makes room for so many values that a pass will create; false: out of memory. */
bool cg_values_grow(cg_func *c, uint32_t more);
static inline const ct_value *cg_result(const ct_op *op, unsigned i)
{
    return &ct_results(op)[i];
}
/* log2 of the warps of a block. */
static inline uint32_t cg_real_warp_bits(const cg_func *c)
{
    return c->warp_bits - c->strip_bits;
}
static inline uint32_t cg_threads(const cg_func *c)
{
    return (uint32_t)1 << (cg_real_warp_bits(c) + CG_LANE_BITS);
}

/* Groups of warps that each have a part of K (sliced K, codegen/passes/split.c). A slice has tiles, shared memory and
   barriers of its own, like a block; where the layout of tiles, warps or a block's shared memory is meant, a slice is.
   1: all warps work together. */
static inline uint32_t cg_slices(const cg_func *c)
{
    return c->slices ? c->slices : 1;
}

/* Bytes of shared memory that a slice can have. */
static inline uint32_t cg_shared_most(const cg_func *c)
{
    return cg_static_shared(c->target) / cg_slices(c) & ~(uint32_t)(CG_ENCODING_ALIGN - 1);
}

/* Reports that the op cannot be compiled for the target, and stops. */
void cg_unsupported(cg_func *c, const ct_op *op, const char *format, ...) TV_PRINTF(3, 4);
void cg_no_memory(cg_func *c); /* of memory that is not the arena's, such as texts */

/* log2 of the bytes that one access to global memory may have. */
static inline int cg_widest_access(const cg_func *c)
{
    return c->target->features & CG_HAS_LARGE_VECTORS ? 5 : 4;
}

/* May the output use that PTX version? */
static inline bool cg_may_use_ptx(const cg_func *c, uint8_t version)
{
    return !c->options || !c->options->ptx_version || c->options->ptx_version >= version;
}

const cg_choices *cg_choices_of(const cg_func *c);

/* The optimization hints of an entry. */
typedef enum cg_hint { CG_HINT_WARPS, CG_HINT_OCCUPANCY, CG_HINT_CLUSTER } cg_hint;
/* The choice that replaces the hint, or the hint's value for the target; 0: neither exists. */
int64_t cg_hint_of(const cg_func *c, cg_hint hint);
/* The same without choices. */
int64_t cg_given_hint(const cg_func *c, cg_hint hint);

/* May a pass leave out what makes little difference to the cost that is needed? A plan that something is left out of
   is compiled again if it is chosen. */
static inline bool cg_leaves_out(cg_func *c)
{
    c->is_rough = c->is_rough || c->is_weighed;
    return c->is_weighed;
}

/* Must no load be prefetched? */
static inline bool cg_loops_stay_plain(const cg_func *c)
{
    return c->options && c->options->opt_level == TV_OPT_NONE;
}

/* May the kernel be persistent? Below optimization level 3, each thread block computes its own tile block. */
static inline bool cg_may_take_over(const cg_func *c)
{
    enum { LEAST = 3 };
    unsigned level = c->options ? c->options->opt_level : TV_OPT_DEFAULT;
    return cg_choices_of(c)->persistent != CG_NEVER
           && (level == TV_OPT_DEFAULT || (level >= LEAST && level != TV_OPT_NONE));
}

#endif
