/* What the code generator's parts share: the function being compiled, its values in registers, and PTX text.

   Two passes walk the ops. `layouts` (codegen/assign.c) gives every tile value a home layout and notes in which further
   layouts it is wanted. `lower` (codegen/lower.c) emits the ops; right after an op its results are brought into every
   layout that was asked for, so whatever an op reads is there, and dominates it. */
#ifndef TILEVM_CODEGEN_LOWER_H
#define TILEVM_CODEGEN_LOWER_H

#include "bytecode/base/text.h"
#include "bytecode/module.h"
#include "bytecode/print/report.h"
#include "codegen/layout.h"
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
/* The register class of the elements of a tile (pointers: 64 bits). */
cg_class cg_elem_class(const bc_type *tile);
/* Bits of the class: 1, 16, 32, 64. */
uint32_t cg_class_bits(cg_class cls);

/* ---- values ---- */

typedef struct cg_copy { /* a tile value in one layout */
    cg_layout layout;
    cg_val *regs;   /* 1 << layout.reg_bits of them */
    uint32_t strip; /* in strips (codegen/strips.h): the loop in which regs are valid; 0: none */
    uint32_t local; /* one more than the local memory in which it lies for other loops; 0: it has none */
    struct cg_copy *next;
} cg_copy;

typedef enum cg_form {
    CG_UNSEEN,
    CG_NOTHING, /* a token */
    CG_TILE,    /* home is chosen; copies */
    CG_LAZY,    /* a tile made anew in every layout that is wanted; has no home */
    CG_VIEW     /* a tensor view or tile view: codegen/view.h */
} cg_form;

typedef struct cg_value {
    uint8_t form;    /* cg_form */
    uint8_t weight;  /* how much its home should decide the layouts of what is computed from it; 0: not at all */
    cg_layout home;  /* CG_TILE; CG_LAZY with weight: the layout it would like best */
    cg_copy *copies; /* wanted layouts, the home's first; regs are NULL until emitted */
    bool in_flight;  /* wgmma is still computing it */
    const struct cg_stage *stage; /* a tile of a pipelined load: where it lies now */
    cg_layout *source;            /* of a reduce's first result: the layout its operands are read in */
} cg_value;

/* ---- order of memory accesses (codegen/order.h) ---- */

/* Bytes of the scratch. */
typedef struct cg_span {
    uint32_t from, to;
    uint32_t of_warp; /* each warp reaches only its own so many of them, which follow each other; 0: any thread, any */
} cg_span;

/* The state, to be put back when another branch is lowered. */
typedef struct cg_order {
    const struct cg_note *notes; /* accesses since the last barrier */
    cg_span read;                /* of the scratch: a thread may still read them; from = to: none */
} cg_order;

/* ---- the module ---- */

/* Source files that .loc lines name, numbered from 1. */
typedef struct cg_names {
    tv_str *items; /* in the arena of the call */
    size_t count, capacity;
} cg_names;

typedef struct cg_files {
    cg_names names, functions; /* files; what was inlined, by linkage names */
    bc_arena *arena;
} cg_files;

/* ---- the function ---- */

enum { CG_MAX_THREAD_BITS = 10 };

typedef struct cg_func {
    const bc_module *m;
    const bc_function *f;
    ct_func *ir; /* as passes have rewritten it */
    const cg_target *target;
    const tv_compile_options *options;
    cg_files *files;
    tv_sink sink;
    bc_arena arena;
    bc_text prologue; /* runs first: constants, thread coordinates */
    bc_text body;
    bc_text module_text; /* globals and strings that the function needs */
    uint32_t registers[CG_CLASS_COUNT];
    uint32_t labels;
    uint32_t warp_bits;       /* of layouts */
    uint32_t strip_bits;      /* of these, the upper ones that are trips of a loop, not warps (codegen/strips.h) */
    struct cg_strips *strips; /* NULL: strip_bits is 0 */
    cg_value *values;         /* by ct_value.id */
    const ct_op *op;          /* being lowered */
    cg_layout **decided;      /* by value id: layouts of carried values that the first walk settled */
    bool deciding;            /* that walk */
    bool remakes; /* producers are laid out: what is computed from indices is so in every layout, at any cost */
    struct cg_constants *constants;
    struct cg_coords *coords;
    size_t text_before;             /* bytes of the kernels before this one */
    uint64_t *emitted;              /* functions that the module has: bits of codegen/math.c */
    struct cg_tables *tables;       /* of constants: codegen/constant.c */
    bool params_apart;              /* pointers of different parameters never overlap */
    struct cg_alloca *allocas;      /* storage that open blocks have */
    cg_order order;                 /* codegen/order.c */
    const struct cg_groups *groups; /* codegen/groups.h; NULL: all threads do the same */
    cg_val scratch;                 /* its address, once needed */
    struct cg_loop *loop;           /* innermost loop being lowered */
    uint32_t shared_bytes;          /* scratch */
    uint32_t call_bytes;            /* local memory for the arguments of vprintf */
    uint32_t texts;                 /* strings in module_text */
    uint32_t ring_bytes;            /* of rings (codegen/ring.h); shares the scratch's memory */
    uint32_t kept_bytes;            /* scratch that is used within their loops: the ring lies behind it */
    bool in_ring;                   /* such a loop is being lowered */
    uint32_t barriers;              /* that were emitted */
    cg_val ring;                    /* the ring's address, once needed */
    uint8_t ptx;                    /* ISA version that what was emitted needs, as major * 10 + minor */
    cg_val tid;
    cg_val owners[1 << CG_MAX_THREAD_BITS]; /* by the bits of tid that select replicas */
    bool failed;                            /* out of memory, or reported */
    tv_status status;
} cg_func;

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
/* What is emitted needs at least this ISA version. */
static inline void cg_need_ptx(cg_func *c, uint8_t version)
{
    c->ptx = version > c->ptx ? version : c->ptx;
}

/* Does the consumer take that version? */
static inline bool cg_may_use_ptx(const cg_func *c, uint8_t version)
{
    return !c->options || !c->options->ptx_version || c->options->ptx_version >= version;
}

/* Is no load to run ahead of its iteration? */
static inline bool cg_loops_stay_plain(const cg_func *c)
{
    return c->options && c->options->opt_level == TV_OPT_NONE;
}

/* ---- emitting (codegen/ptx.c) ---- */

cg_val cg_new(cg_func *c, cg_class cls);
static inline cg_val cg_const(cg_class cls, uint64_t bits)
{
    return (cg_val){.cls = (uint8_t)cls, .known = true, .bits = bits};
}
/* The same value in a register; a constant gets one in the prologue. */
cg_val cg_reg(cg_func *c, cg_val v);
uint32_t cg_label(cg_func *c);

/* Appends one instruction. In format, %v is a cg_val (a constant is written as a literal), %V a pointer to some and
   their number, which become a {vector}, %l a label number, %s %u %d %x
   and %q (uint64_t as hex) as in printf. The line's semicolon is added. */
void cg_ins(cg_func *c, const char *format, ...);
/* The same to the prologue. */
void cg_ins_first(cg_func *c, const char *format, ...);
void cg_place_label(cg_func *c, uint32_t label);

/* Appends a template: lines that end in ';', where $0 is the result, $1 to $9 are the operands, and #p0, #h0, #w0, #d0
   and so on are predicates and 16-, 32- and 64-bit registers of its own. ?name? is replaced by the text that modifiers
   gives for it: pairs of names and texts, ended by NULL. Operands come in registers. */
void cg_template(cg_func *c, const char *text, cg_val result, const cg_val *operands, const char *const *modifiers);

/* Declares the registers that are in use. */
void cg_put_registers(const cg_func *c, bc_text *out);

/* ---- values in layouts ---- */

/* layouts pass: v will be read in this layout. */
void cg_want(cg_func *c, const ct_value *v, const cg_layout *l);
/* lower pass: the registers of v in a layout that was wanted. Scalars: every layout is the same. */
cg_val *cg_get(cg_func *c, const ct_value *v, const cg_layout *l);
/* A rank-0 value. */
cg_val cg_scalar(cg_func *c, const ct_value *v);
/* condition ? a : b, any class. */
cg_val cg_select(cg_func *c, cg_val condition, cg_val a, cg_val b);
/* to = from, a register or a constant of its class. */
void cg_move(cg_func *c, cg_val to, cg_val from);
/* Both predicates. */
cg_val cg_and(cg_func *c, cg_val a, cg_val b);
/* An array of registers in the arena. */
cg_val *cg_vals(cg_func *c, size_t count);
/* The result of the op being lowered, in its home; further wanted layouts are made from it. */
void cg_set(cg_func *c, const ct_value *v, cg_val *regs);
/* Another layout of the same elements (codegen/convert_layout.c). */
cg_val *cg_convert(cg_func *c, bc_kind kind, const cg_layout *from, const cg_val *regs, const cg_layout *to);
/* Both layouts with places in shared memory for indices: an order of the elements without bank conflicts. The upper
   bits of large indices keep their meaning. */
void cg_shared_layouts(const cg_func *c, bc_kind kind, const cg_layout *from, const cg_layout *to,
                       cg_layout *out_stored, cg_layout *out_loaded);
/* A lazy value in a layout (codegen/lower.c). */
cg_val *cg_lazy_regs(cg_func *c, const ct_op *op, const cg_layout *l);

/* How that is done. */
typedef enum cg_way { CG_BY_NAMES, CG_BY_SHUFFLES, CG_BY_SHARED, CG_BY_HALVES } cg_way;
typedef struct cg_conversion {
    cg_way way;
    uint32_t shuffles; /* of a thread, CG_BY_SHUFFLES */
    uint64_t bytes;    /* of the tile */
} cg_conversion;
cg_conversion cg_conversion_of(const cg_func *c, bc_kind kind, const cg_layout *from, const cg_layout *to);
/* The scratch that it reads; none: from = to. */
cg_span cg_conversion_span(const cg_func *c, bc_kind kind, const cg_layout *from, const cg_layout *to);
/* In words, for remarks and dumps: "12 shuffles". */
void cg_conversion_text(bc_text *out, const cg_conversion *conversion);

/* The number of the thread in its block: 32 bits. */
cg_val cg_tid(cg_func *c);
/* The thread's part of the element index under a layout, cut to the bits of mask and shifted down by `shift`: a 32-bit
   register or constant. */
cg_val cg_thread_index(cg_func *c, const cg_layout *l, uint32_t mask, uint32_t shift);
/* The XOR of the images of the bits of x, which has `total` of them: made in the prologue. */
cg_val cg_linear(cg_func *c, cg_val x, const uint32_t *images, uint32_t total);
/* True in the one thread of those that hold replicas of the same elements; a known true when there are no replicas. */
cg_val cg_is_owner(cg_func *c, const cg_layout *l);

/* ---- shared memory and barriers (codegen/order.c, scratch.c) ---- */

void cg_barrier(cg_func *c);
/* Among the threads of a warp alone. */
void cg_warp_barrier(cg_func *c);
/* Whether the predicate is true in all threads, which meet for it. */
cg_val cg_all(cg_func *c, cg_val predicate);
enum { CG_MAX_SCRATCH = 48 * 1024 }; /* bytes that a kernel has without asking for more when it is launched */
/* How much scratch there can be here: less within a pipelined loop. */
uint32_t cg_scratch_room(const cg_func *c);
/* Sees that `bytes` of scratch can be written now; gives its address (32-bit, shared). */
cg_val cg_scratch(cg_func *c, uint32_t bytes);
/* After reading it; and at the head of a loop or behind it, where its ops may have. */
void cg_scratch_loop(cg_func *c, const ct_block *body);
void cg_scratch_read(cg_func *c);
/* The same for a tile of which each warp reaches its own part alone, parts in the order of warps: to be awaited by
   cg_warp_barrier. */
cg_val cg_scratch_of_warps(cg_func *c, uint32_t bytes);
void cg_scratch_read_of_warps(cg_func *c, uint32_t bytes);
/* The same for some bytes that are written, awaited and read with no other scratch in between: they lie where nothing
   is read any more, if there is such a place, which saves a barrier. */
cg_val cg_scratch_apart(cg_func *c, uint32_t bytes, cg_span *out_span);
void cg_scratch_apart_read(cg_func *c, const cg_span *span);

/* ---- regions ---- */

/* Sets the induction variable of a `for` body to a 64-bit counter. */
void cg_set_counter(cg_func *c, const ct_block *body, cg_val counter);
void cg_lower_op(cg_func *c, const ct_op *op);
/* Lowers the ops of a block; its arguments are set. */
void cg_block(cg_func *c, const ct_block *block);
/* Before a terminator: storage of the blocks that it leaves goes back (codegen/op_alloca.c). */
void cg_leave_block(cg_func *c, const ct_op *terminator);
/* The body of a reduce or scan on scalars: args and results are registers. */
void cg_inline_region(cg_func *c, const ct_block *block, const cg_val *args, cg_val *out_results);

/* ---- hooks ---- */

typedef void cg_hook(cg_func *c, const ct_op *op);
#define HOOK(name) cg_hook cg_lower_##name;
#include "codegen/hooks.def"
#define TOP(name, ring, operands, more, results, text) cg_hook cg_lower_##name;
#include "codegen/tile/ops.def"

#endif
