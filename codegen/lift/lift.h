/* The parts of the lift pass (codegen/passes/lift.c), which finds tiles of pointers that are tiles of a view. */
#ifndef TILEVM_CODEGEN_LIFT_LIFT_H
#define TILEVM_CODEGEN_LIFT_LIFT_H

#include "codegen/facts/affine.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/kernel.h"
#include "codegen/tile/build.h"

enum {
    CG_LIFT_LEAST_BITS = 2, /* log2 of the bytes of the shortest copies, */
    CG_LIFT_CHUNK_BITS = 4  /* and of the widest ones, and of the alignment that tensor maps need */
};
enum { CG_LIFT_REACH = INT32_MAX, CG_LIFT_UNBOUND = 1 << 30 /* the extent if no mask gives one */ };

/* A dimension of the view. */
typedef struct cg_lift_dim {
    int64_t size;   /* of the tile */
    cg_term stride; /* elements */
    cg_poly start;  /* the first coordinate; no negative terms */
    cg_poly extent; /* is_masked: coordinates below it are read */
    bool is_masked;
} cg_lift_dim;

/* A load through pointers as one of a view. */
typedef struct cg_lifted {
    ct_op *load;
    ct_op *tensor; /* of a load of a view: the op whose promises are incomplete, and the members below are unused */
    ct_value *base;
    cg_poly rest; /* elements from base to the view's first one */
    cg_affine affine;
    uint32_t inside;           /* bit i: affine.wrapped[i] is the load of a view only if no element wraps around */
    bool unwraps;              /* it stays a load through pointers, without the remainders in `inside`; no dims */
    uint32_t byte_bits;        /* log2 of the alignment of rows, in bytes */
    uint32_t rank, contiguous; /* number of dimensions, those of the tile last; the one with a stride of 1 */
    cg_lift_dim dims[CG_AFFINE_DIMS];
} cg_lifted;

/* False: the load is not known to be a load of a view. */
bool cg_lift_find(cg_func *c, ct_op *load, cg_lifted *out);
/* The same for a gather. */
bool cg_lift_find_gather(cg_func *c, ct_op *load, cg_lifted *out);
/* The coordinate at which a tile starts along a dimension, where `index` is the op's index: the start, or, along the
   sparse dimension, the start plus the position in the tile. False: the indices do not follow each other. */
bool cg_lift_find_start(cg_func *c, cg_lifted *l, ct_value *index, bool sparse, cg_poly *out);
/* cg_lift_find for a load of a view, the extents, strides or address of whose tensor are not known to suit tensor
   maps. */
bool cg_lift_find_view(ct_op *load, cg_lifted *out);

/* A load through pointers that becomes one of aligned pieces of at least two elements where no index along its
   contiguous dimension wraps around (codegen/lift/lift_unwrap.c). */
bool cg_lift_find_wrapped(ct_op *load, cg_lifted *out);
/* Takes these indices as they are. */
void cg_lift_unwrap(cg_func *c, const cg_lifted *l);

/* Is the tile an operand of products, as it is or converted? packed: or unpacked, from several elements in each. */
bool cg_lift_feeds_product(const ct_value *v, bool packed, uint32_t depth);
void cg_lift_drop_term(cg_poly *p, uint32_t i);
/* Has the polynomial no negative terms? */
bool cg_lift_is_positive(const cg_poly *p);

/* Can products read the load from a ring without a view, by copies of 16 bytes? If its index would have to be checked,
   that is faster than two versions (f16, 256x64x64, 142 microseconds on an H200, 158 with a view), unless an operand is
   computed: threads make fragments from a ring only if it is filled through views. */
bool cg_lift_copied_as_is(cg_func *c, const cg_lifted *l);

/* Replaces terms that decrease with the counter of a loop by terms that increase with the remaining iterations
   (codegen/lift/lift_mirror.c). cancels: the number of the last iteration is a sum of terms, which may cancel others;
   otherwise it is one factor. False: the polynomial has too many terms then. */
bool cg_lift_mirror(cg_func *c, cg_poly *p, bool cancels);

/* Conditions that are checked at run time in front of an op. */
typedef struct cg_lift_checks {
    ct_builder b;
    const ct_block *inside; /* the block of the ops; */
    ct_op *first, *last;    /* values computed from first to last do not exist yet; NULL: the check is for one load */
    bool dry;               /* only find out whether conditions remain or cannot be checked */
    bool any, failed;       /* conditions remain; one cannot be checked */
    bool divides;           /* one is about the divisor of a number or an address */
    ct_value *all, *views;  /* all conditions; those that tensor maps of views need. NULL: none */
    bool of_view;           /* the next conditions belong to `views` */
    uint32_t asked_count;
    const ct_value *asked[CG_LIFT_ASKED]; /* values already checked to be at least 0 */
    bool asked_of_view[CG_LIFT_ASKED];
} cg_lift_checks;

/* Adds the conditions under which the load is a load of the view, and those for copies of 2^byte_bits bytes; for 16
   bytes, also those for tensor maps. */
void cg_lift_check(cg_lift_checks *k, const cg_lifted *l);
/* Adds the conditions under which tiles start where the polynomial says along a dimension: it is not negative, and does
   not wrap around. */
void cg_lift_check_start(cg_lift_checks *k, const cg_lifted *l, const cg_lift_dim *dim);
/* The operand of a make_tensor_view that gives an extent or stride; row: of which list. NULL: sizes[dim] does. */
const ct_value *cg_lift_size(const ct_op *tensor, int row, const int64_t *sizes, uint32_t dim);
/* Must both of two numbers of which an iteration takes the smaller one be checked? */
bool cg_lift_takes_lesser(const cg_lifted *l);
/* Can the conditions of a load be checked in front of its innermost loop, and is a view better than what it is?
   anywhere: whatever the divisors of rows and addresses; *asks: conditions must be checked. */
bool cg_lift_suits(cg_func *c, const cg_lifted *l, bool anywhere, bool *asks);
/* Are all values that the view is created from available in front of the range? */
bool cg_lift_is_there(const cg_lift_checks *k, const cg_lifted *l);

/* log2 of the largest power of two that is known to divide the polynomial. */
uint32_t cg_lift_divisor(const cg_poly *p);
/* log2 of the known alignment of rows in bytes, up to 16. */
uint32_t cg_lift_known_bits(const cg_lifted *l);
/* log2 of the elements in 2^byte_bits bytes. */
uint32_t cg_lift_chunk_bits(const cg_lifted *l);
/* Is the view's address known to have that alignment? */
bool cg_lift_is_aligned(const cg_lifted *l);

/* ---- views (codegen/lift/lift_views.c) ---- */

/* Computes the polynomial divided by `by`, which divides it. */
ct_value *cg_lift_put_poly(ct_builder *b, const cg_poly *p, int64_t by, bc_kind kind);
/* The distance of the positions at which tiles may start along the dimension: the tile's size if all starts are
   multiples of it. */
int64_t cg_lift_step_of(const cg_lift_dim *d);
/* The index along the dimension, for a view whose tiles may start at multiples of that distance. */
ct_value *cg_lift_put_index(ct_builder *b, const cg_lift_dim *dim, bc_kind kind);
/* Creates the view. holds: whether the conditions for views hold; NULL: they always do. */
ct_value *cg_lift_put_view(ct_builder *b, const cg_lifted *l, ct_value *holds);

/* ---- gathers and scatters (codegen/lift/lift_order.c) ---- */

/* Has gathers and scatters whose indices follow each other access tiles of views. second: the ops as they were, where
   conditions of loads are checked; NULL: there is none. False: there are none. */
bool cg_lift_all_in_order(cg_func *c, const ct_block *second);

#endif
