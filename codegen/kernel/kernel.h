/* The kernel that is being compiled: what all parts of the code generator know of it, what belongs to some, and how it
   is given up. Nothing here emits. */
#ifndef TILEVM_CODEGEN_KERNEL_KERNEL_H
#define TILEVM_CODEGEN_KERNEL_KERNEL_H

#include "bytecode/print/report.h"
#include "codegen/kernel/choices.h"
#include "codegen/kernel/promises.h"
#include "codegen/kernel/target.h"
#include "codegen/kernel/value.h"
#include "codegen/tile/ir.h"

/* Which number a block gets. The hardware starts blocks in the order of theirs. */
typedef enum cg_block_order {
    CG_BY_NUMBER,
    CG_LONGEST_FIRST, /* counted from the last one along x */
    CG_SIDE_BY_SIDE,  /* clusters that share a GPC have numbers that follow each other */
    CG_IN_BANDS,      /* down bands of a few rows: blocks that start together lie in a square */
    CG_IN_WIDE_BANDS, /* along bands of a few columns */
} cg_block_order;

typedef struct cg_func {
    /* What is wanted, for everyone to read. */
    const bc_module *m;
    const bc_function *f;
    const cg_target *target;
    const tv_compile_options *options; /* NULL: the usual ones */
    const struct cg_launch *launch;    /* that remarks predict: codegen/cost/cost.h; NULL: of none */
    const cg_choices *choices;         /* in place of what passes decide; NULL: none */
    tv_sink sink;
    cg_promises promises; /* of its symbol, about its parameters */

    /* For everyone to use: memory that lives as long as the kernel is compiled; whether it has been given up. */
    bc_arena arena;
    bool failed; /* out of memory, or reported */
    tv_status status;

    /* What passes make of it, each for those behind it. */
    uint32_t warp_bits;             /* of layouts; before the first pass (codegen/passes/budget.h) */
    uint32_t strip_bits;            /* of these, the upper ones that are trips of a loop, not warps */
    ct_func *ir;                    /* as passes have rewritten it */
    bool is_versioned;              /* `align`: all of it is there twice, for one of which it runs */
    cg_block_order block_order;     /* `facts` */
    uint32_t cluster;               /* `cluster`: thread blocks that compute a tile block together; 0: one does */
    bool takes_over;                /* `groups`: a thread block computes tile blocks of others, too: passes/persist.h */
    const struct cg_groups *groups; /* `groups`: codegen/kernel/groups.h; NULL: all threads do the same */
    cg_value *values;               /* `layouts`: by ct_value.id */
    const struct cg_kernel_cost *cost; /* `cost`: codegen/cost/cost.h; NULL: nobody asked */
    uint32_t local_bytes;              /* `strips`: local memory of a thread for what is kept from loop to loop */
    struct cg_sharing *sharing;        /* `shared`, `sync`: effects on memory: codegen/values/effects.h */

    /* What one part has; NULL until it begins. Only files that include the header named can look into it. */
    struct cg_homes *homes;       /* layouts: codegen/values/homes.h */
    struct cg_lowering *lowering; /* lower, around an op: codegen/ops/lowering.h */
    struct cg_shared *shared;     /* shared memory and barriers: codegen/values/shared_state.h */
    struct cg_strips *strips;     /* loops over strips, if there are strip_bits: codegen/values/strip_state.h */
    struct cg_thread *thread;     /* what a thread knows of itself: codegen/values/threads.c */
    struct cg_share *share;       /* which tile blocks it computes, if it takes over: codegen/ops/blocks.c */
    struct cg_emit *emit;         /* the text of the kernel: codegen/ptx/emit.h */
    struct cg_written *written;   /* and of the module around it: there always is one */
} cg_func;

/* .blocksareclusters: grids count clusters. */
enum { CG_PTX_OF_CLUSTERS = 90 };

/* What a pass does with an op. */
typedef void cg_hook(cg_func *c, const ct_op *op);

static inline cg_value *cg_value_of(cg_func *c, const ct_value *v)
{
    return &c->values[v->id];
}
/* Room for as many values that a pass is about to make; false: no memory. */
bool cg_values_grow(cg_func *c, uint32_t more);
static inline const ct_value *cg_result(const ct_op *op, unsigned i)
{
    return &ct_results(op)[i];
}
/* Warps that a block has, as bits. */
static inline uint32_t cg_real_warp_bits(const cg_func *c)
{
    return c->warp_bits - c->strip_bits;
}
static inline uint32_t cg_threads(const cg_func *c)
{
    return (uint32_t)1 << (cg_real_warp_bits(c) + CG_LANE_BITS);
}

/* Reports that the op cannot be compiled for the target, and stops. */
void cg_unsupported(cg_func *c, const ct_op *op, const char *format, ...) TV_PRINTF(3, 4);
void cg_no_memory(cg_func *c);

/* log2 of the bytes that one access to global memory may have. */
static inline int cg_widest_access(const cg_func *c)
{
    return c->target->features & CG_HAS_LARGE_VECTORS ? 5 : 4;
}

/* Does the consumer take that version? */
static inline bool cg_may_use_ptx(const cg_func *c, uint8_t version)
{
    return !c->options || !c->options->ptx_version || c->options->ptx_version >= version;
}

const cg_choices *cg_choices_of(const cg_func *c);

/* The optimization hints of an entry. */
typedef enum cg_hint { CG_HINT_WARPS, CG_HINT_OCCUPANCY, CG_HINT_CLUSTER } cg_hint;
/* What was chosen in its place, or what it says for the target; 0: neither. */
int64_t cg_hint_of(const cg_func *c, cg_hint hint);

/* Is no load to run ahead of its iteration? */
static inline bool cg_loops_stay_plain(const cg_func *c)
{
    return c->options && c->options->opt_level == TV_OPT_NONE;
}

/* May a thread block compute tile blocks of others, too? Below the third level each has its own. */
static inline bool cg_may_take_over(const cg_func *c)
{
    enum { LEAST = 3 };
    unsigned level = c->options ? c->options->opt_level : TV_OPT_DEFAULT;
    return cg_choices_of(c)->persistent != CG_NEVER
           && (level == TV_OPT_DEFAULT || (level >= LEAST && level != TV_OPT_NONE));
}

#endif
