/* What all parts of the code generator know: targets, the kernel that is being compiled with all that passes say of its
   values, and how it is given up. Nothing here emits. */
#ifndef TILEVM_CODEGEN_KERNEL_KERNEL_H
#define TILEVM_CODEGEN_KERNEL_KERNEL_H

#include "bytecode/base/text.h"
#include "bytecode/module.h"
#include "bytecode/print/report.h"
#include "codegen/layout/layout.h"
#include "codegen/tile/ir.h"

/* ---- targets ---- */

enum {
    CG_HAS_CP_ASYNC = 1,
    CG_HAS_F8 = 2,
    CG_HAS_BF16_ARITH = 4,
    CG_HAS_CLUSTERS = 8,
    CG_HAS_WGMMA = 16,
    CG_HAS_LARGE_VECTORS = 32,
    CG_HAS_F4 = 64,
    CG_HAS_GDC = 128,
    CG_HAS_RED_VECTORS = 256,
    CG_HAS_F32_PAIRS = 512,
    CG_HAS_F8_MMA = 1024,
    CG_HAS_STMATRIX = 2048,
    CG_HAS_BLOCK_SCALE = 4096,
    CG_ALL_OF_SM_90 = CG_HAS_CP_ASYNC | CG_HAS_F8 | CG_HAS_BF16_ARITH | CG_HAS_CLUSTERS | CG_HAS_GDC
                      | CG_HAS_RED_VECTORS | CG_HAS_STMATRIX
};

typedef struct cg_target {
    const char *name;
    uint16_t sm;
    char suffix;
    uint8_t ptx;
    uint16_t shared_kib;
    uint16_t threads;
    uint32_t features;
} cg_target;

const cg_target *cg_target_find(tv_str name);
/* Bytes of static shared memory that a kernel may have. Clients launch with no dynamic shared memory, and ptxas 13.0
   takes more than 48 KiB of static memory for architecture-specific targets only (tried: sm_90a does, sm_90 does not).
 */
uint32_t cg_static_shared(const cg_target *target);
const cg_target *cg_target_at(size_t index); /* NULL past the end */

/* ---- registers ---- */

/* PTX registers by width; instructions give them their type. */
typedef enum cg_class { CG_PRED, CG_B16, CG_B32, CG_B64, CG_CLASS_COUNT } cg_class;

/* A register, or a constant that has none. */
typedef struct cg_val {
    uint8_t cls;       /* cg_class */
    bool known;        /* bits is its value */
    uint8_t word_bits; /* 16 or 32: an element that was taken out of register `word` of that size, from bit `at` on;
                          else 0 */
    uint8_t at;
    uint32_t id; /* register number; 0: a constant */
    union {
        uint64_t bits;
        uint32_t word;
    };
} cg_val;

/* How an element is held: i1 in a predicate; i8, i4, 8- and 4-bit floats zero-extended in 32 bits; the others at their
   size. */
cg_class cg_class_of(bc_kind kind);
/* Bytes of an element in memory: as in global memory; i4 and f4, which share bytes there, take one each in scratch. */
uint32_t cg_memory_bytes(bc_kind kind);
/* The register class of the elements of a tile (pointers: 64 bits). */
cg_class cg_elem_class(const bc_type *tile);
/* Bits of the class: 1, 16, 32, 64. */
uint32_t cg_class_bits(cg_class cls);

/* ---- values ---- */

typedef struct cg_copy { /* a tile value in one layout */
    cg_layout layout;
    cg_val *regs;   /* 1 << layout.reg_bits of them */
    uint32_t strip; /* in strips (codegen/values/strips.h): the loop in which regs are valid; 0: none */
    uint32_t local; /* one more than the local memory in which it lies for other loops; 0: it has none */
    struct cg_copy *next;
} cg_copy;

typedef enum cg_form {
    CG_UNSEEN,
    CG_NOTHING, /* a token */
    CG_TILE,    /* home is chosen; copies */
    CG_LAZY,    /* a tile made anew in every layout that is wanted; has no home */
    CG_VIEW     /* a tensor view or tile view: codegen/analysis/view.h */
} cg_form;

typedef struct cg_value {
    uint8_t form;      /* cg_form */
    uint8_t weight;    /* how much its home should decide the layouts of what is computed from it; 0: not at all */
    cg_layout home;    /* CG_TILE; CG_LAZY with weight: the layout it would like best */
    cg_copy *copies;   /* wanted layouts, the home's first; regs are NULL until emitted */
    cg_layout *source; /* of a reduce's first result: the layout its operands are read in; of a product: those */
    const struct cg_product *product; /* of a product: what it multiplies (codegen/analysis/product.h) */
} cg_value;

/* ---- the function ---- */

struct cg_func;
/* What a pass does with an op. */
typedef void cg_hook(struct cg_func *c, const ct_op *op);
typedef struct cg_func {
    const bc_module *m;
    const bc_function *f;
    ct_func *ir; /* as passes have rewritten it */
    const cg_target *target;
    const tv_compile_options *options;
    tv_sink sink;
    bc_arena arena;
    uint32_t warp_bits;  /* of layouts */
    uint32_t strip_bits; /* of these, the upper ones that are trips of a loop, not warps (codegen/values/strips.h) */
    struct cg_strips *strips;       /* NULL: strip_bits is 0 */
    cg_value *values;               /* by ct_value.id */
    bool params_apart;              /* pointers of different parameters never overlap */
    const struct cg_groups *groups; /* codegen/kernel/groups.h; NULL: all threads do the same */
    bool failed;                    /* out of memory, or reported */
    tv_status status;
    struct cg_written *written;   /* codegen/ptx/emit.h */
    struct cg_homes *homes;       /* layouts pass: codegen/values/homes.h */
    struct cg_lowering *lowering; /* lower pass: codegen/ops/lowering.h */
    struct cg_emit *emit;         /* lower pass: codegen/ptx/emit.h */
    struct cg_shared *shared;     /* lower pass: codegen/values/shared_state.h */
    struct cg_thread *thread;     /* lower pass: codegen/values/threads.c */
} cg_func;

static inline cg_val cg_const(cg_class cls, uint64_t bits)
{
    return (cg_val){.cls = (uint8_t)cls, .known = true, .bits = bits};
}
static inline cg_value *cg_value_of(cg_func *c, const ct_value *v)
{
    return &c->values[v->id];
}
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
enum { CG_MAX_VECTOR_BITS = 6, CG_MAX_VECTOR = 1 << CG_MAX_VECTOR_BITS }; /* elements of one access */

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

enum { CG_MAX_SCRATCH = 48 * 1024 }; /* bytes that a kernel has without asking for more when it is launched */

/* Is no load to run ahead of its iteration? */
static inline bool cg_loops_stay_plain(const cg_func *c)
{
    return c->options && c->options->opt_level == TV_OPT_NONE;
}

#endif
