/* What a kernel reveals about its arguments: how far it accesses its arrays, and what its integers must be.

     range.c         integers as ranges, and arithmetic on them
     want.c          what an op asks of a value, followed back to the parameters
     local.c         values in storage from alloca
     view.c          what views are made of
     study.c         the walk over the ops
     excuse.c        what findings about the kernel depend on
   The result is advice for made-up arguments, never a proof. The module has been verified. */
#ifndef TILEVM_TOOLS_ARGS_STUDY_H
#define TILEVM_TOOLS_ARGS_STUDY_H

#include "bytecode/module.h"
#include "tools/tilevm/args/args.h"

/* ---- ranges ---- */

enum { ARG_TERMS = 3, ARG_DEFAULT_EXTENT = 1024 };
#define ARG_FAR ((int64_t)1 << 40) /* ranges beyond this count as unknown */

/* A parameter that has no number yet, times something in [low, high]. */
typedef struct arg_term {
    uint32_t slot;
    int64_t low, high;
} arg_term;

/* An integer (or all elements of a tile of integers): a number in [low, high], plus the terms; or an address: that many
   bytes from a parameter. */
typedef struct arg_range {
    bool known;
    bool set; /* some branch has given its value already */
    int64_t low, high;
    uint32_t root; /* slot of the pointer parameter, plus 1; 0: an integer; above all slots: an alloca */
    uint32_t from; /* slot, plus 1, of the array that it was read from or made of; 0: none */
    uint32_t term_count;
    arg_term terms[ARG_TERMS]; /* by ascending slot */
} arg_range;

arg_range arg_range_between(int64_t low, int64_t high);
arg_range arg_range_param(uint32_t slot);
/* Elements of a constant of integers; little-endian, as wide as the type. */
arg_range arg_range_constant(const bc_type *type, const bc_blob *blob);
arg_range arg_range_add(arg_range a, arg_range b);
arg_range arg_range_multiply(arg_range a, arg_range b);
/* The result of an op on integers with two operands, of cmpi, and of exti and trunci. */
arg_range arg_range_binary(const bc_op *op, arg_range a, arg_range b);
arg_range arg_range_compare(const bc_op *op, arg_range a, arg_range b);
arg_range arg_range_cast(const bc_op *op, arg_range a);
/* One of the two. */
arg_range arg_range_unite(arg_range a, arg_range b);
/* A range without terms; one that holds a single number. */
bool arg_range_is_plain(const arg_range *r);
bool arg_range_is_number(const arg_range *r);

/* ---- wants ---- */

/* n mod divisor is residue, and least <= n <= most. */
typedef struct arg_want {
    int64_t divisor, residue, least, most;
} arg_want;
#define ARG_ANYTHING ((arg_want){.divisor = 1, .least = INT64_MIN, .most = INT64_MAX})

/* What is known about numbers that are to be made up: an integer parameter, or the elements of an array. */
typedef struct arg_number {
    arg_want want;
    bool is_extent; /* it is the extent or the stride of a view: the array's own number */
    bool open;      /* its size is unknown, but it should be large */
    bool compared;  /* ... because it is compared with something unknown */
} arg_number;

/* Adds a constraint to a number; a part that contradicts its divisor is left out. */
void arg_number_wants(arg_number *number, arg_want want);
/* The smallest number that meets the constraints and is at least `least`; if there is none, the largest one below. */
int64_t arg_number_choose(const arg_number *number, int64_t least);

/* ---- the study ---- */

/* Why a value is what it is, where arguments are made up. */
enum {
    ARG_MADE_EXTENT = 1, /* extents and strides that made-up arrays have */
    ARG_MADE_NUMBER = 2, /* other numbers */
    ARG_MADE_DATA = 4,   /* elements of arrays */
    ARG_MADE_SIZE = 8    /* access: how large the array must be is not known */
};

/* What is given for an entry parameter. */
typedef struct arg_slot {
    bool known;   /* value holds: an integer */
    uint8_t made; /* ARG_MADE_*; of a pointer: ARG_MADE_DATA if its array is made up */
    int64_t value;
} arg_slot;

/* What a kernel does with one of its pointers, for one grid. */
typedef struct arg_demand {
    uint32_t ndim;             /* of the tensor views over it; 0: none */
    int64_t size[TV_MAX_RANK]; /* extents of the first view; BC_DYNAMIC: not known */
    int64_t stride[TV_MAX_RANK];
    int64_t reach[TV_MAX_RANK]; /* one past the largest coordinate known to be touched */
    bool open[TV_MAX_RANK];     /* other elements are accessed at places that only the run shows */
    int64_t bytes;              /* one past the last byte known to be touched, through pointers, or to lie in a view */
    bool bytes_open;
    bool sliced;         /* some views begin inside the array, at unknown positions */
    bool shared;         /* reached by atomics or ordered accesses: a lock or a counter, probably */
    bool scale;          /* its elements are scales */
    int64_t align;       /* bytes that its address must be a multiple of */
    arg_number elements; /* what is wanted of its elements */
} arg_demand;

/* A place in storage from alloca. */
typedef struct arg_local {
    uint32_t root;
    int64_t offset;
    const bc_op *store;
    const bc_value *value; /* NULL: several ops write it */
} arg_local;
enum { ARG_LOCALS = 256 };

typedef struct arg_study {
    size_t count;
    arg_demand *demands;  /* one for each entry parameter; used for pointers only */
    arg_number *numbers;  /* likewise; used for integers only */
    arg_slot *slots;      /* what is given, by slot; NULL: see the walk */
    int64_t *places;      /* by slot: bound of elements used as addresses, indices, extents or strides; else 0 */
    uint8_t *made;        /* by op index: ARG_MADE_* of what the op works on; of accesses: of the address */
    arg_range *ranges;    /* by value id; of the last walk */
    uint8_t *origins;     /* by value id: ARG_MADE_* */
    bool *followed;       /* by value id */
    const bc_op **owners; /* by value id, of block arguments: the op around */
    arg_local *locals;    /* ARG_LOCALS */
    size_t local_count;
} arg_study;

/* Makes room. False: out of memory. */
bool arg_study_init(bc_arena *arena, const bc_function *f, arg_study *out);
/* Walks over the ops. first: numbers are not chosen yet, and the walk finds their constraints. Later walks find what
   arrays must be with the chosen numbers, and still learn about strides and promises. */
void arg_study_walk(arg_study *study, const bc_function *f, const uint32_t grid[3], const arg_slot *slots, bool first);

/* Makes up every argument that was not given or is ARG_AUTO. out_study: what is known about the kernel with these
   arguments; in the set's arena. */
bool arg_synthesise(arg_set *set, const arg_context *context, const tv_module *module, size_t entry,
                    const uint32_t grid[3], arg_study *out_study, io_error *error);

/* The same of a kernel whose arguments are all there. False: out of memory. */
bool arg_study_arguments(const arg_set *set, const bc_function *f, const uint32_t grid[3], arg_study *out);
/* Walks once more for one tile block, after that: then the ranges are those of the block. */
void arg_study_block(arg_study *study, const bc_function *f, const uint32_t grid[3], const uint32_t block[3]);
/* How often a `for` runs in one tile block, halfway between the least and the most where that is not the same for all;
   below 0: not known. */
double arg_study_rounds(const arg_study *study, const bc_op *loop);

/* Could made-up arguments have caused a finding of this rule about that op? Returns which, as ARG_MADE_*; 0: the kernel
   is to blame. */
uint8_t arg_study_excuses(const arg_study *study, const char *rule, uint32_t op_index);

/* The form in which a diagnostic about the kernel f is reported if made-up arguments may have caused it; text holds its
   message. any: another one was excused before. False: the kernel is to blame. */
bool arg_study_excuse(const arg_study *study, const bc_function *f, const tv_diag *diag, bool any, bc_text *text,
                      tv_diag *out_told);

/* A walk, for the parts of the study. */
typedef struct arg_student {
    const bc_function *f;
    const uint32_t *grid;
    const uint32_t *block; /* NULL: any */
    const arg_slot *slots;
    bool first;
    arg_study *study;
    unsigned depth, budget; /* while a want is followed */
} arg_student;

/* Fills in study->made. */
void arg_student_origins(const arg_student *s);
/* Applies a constraint to a value: finds the parameters it is made of, and records their constraints. False: there are
   none. */
bool arg_student_wants(arg_student *s, const bc_value *value, arg_want want);
/* The parameters that a value is made of are extents or strides; or may be any large number. */
void arg_student_marks(arg_student *s, const bc_value *value, bool is_extent, bool open);
/* Records that an op stores a value at a place; and returns the value that a load from a place gives, or NULL. */
void arg_local_store(arg_study *study, const arg_range *p, const bc_op *store, const bc_value *value);
const bc_value *arg_local_load(const arg_study *study, const arg_range *p, const bc_type *type);
/* The view's make_tensor_view, or NULL; and its extent or stride i where that is an operand, or NULL. */
const bc_op *arg_view_tensor(const bc_value *view);
const bc_value *arg_tensor_extent(const bc_op *tensor, uint32_t i);
/* The dimension of the tensor_view that result i of get_tensor_shape or get_index_space_shape is about, and the extent
   of the tiles there; false for views whose tiles overlap or are gathered. */
bool arg_shape_axis(const bc_op *op, uint32_t i, uint32_t *out_dim, int64_t *out_tile);
const bc_value *arg_tensor_stride(const bc_op *tensor, uint32_t i);

#endif
