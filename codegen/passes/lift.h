/* The parts of the lift pass (codegen/passes/lift.c), which finds tiles of pointers that are tiles of a view. */
#ifndef TILEVM_CODEGEN_PASSES_LIFT_H
#define TILEVM_CODEGEN_PASSES_LIFT_H

#include "codegen/facts/affine.h"
#include "codegen/kernel/limits.h"
#include "codegen/kernel/kernel.h"
#include "codegen/tile/build.h"

enum { CG_LIFT_CHUNK_BITS = 4 /* log2 of the bytes of the longest copies, and of what maps take */ };
enum { CG_LIFT_REACH = INT32_MAX, CG_LIFT_UNBOUND = 1 << 30 /* the extent where no mask says one */ };

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
    ct_op *tensor; /* of a load of a view of it, of which promises are missing; all below is of pointers */
    ct_value *base;
    cg_poly rest; /* elements from there to the view's first one */
    cg_affine affine;
    uint32_t byte_bits;        /* log2 of the bytes of which its rows are to start at multiples */
    uint32_t rank, contiguous; /* its dimensions, those of the tile last; which one has a stride of 1 */
    cg_lift_dim dims[CG_AFFINE_DIMS];
} cg_lifted;

/* False: the load is not known to be a load of a view. */
bool cg_lift_find(cg_func *c, ct_op *load, cg_lifted *out);
/* The same for a load of a view whose tensor has a number, or an address, that is not known at compile time. */
bool cg_lift_find_view(ct_op *load, cg_lifted *out);

/* Terms that fall with the counter of a loop become ones that grow with the iterations that are left
   (codegen/passes/lift_mirror.c). False: the polynomial has too many terms then. */
bool cg_lift_mirror(cg_func *c, cg_poly *p);

/* Conditions that are checked at run time in front of an op. */
typedef struct cg_lift_checks {
    ct_builder b;
    const ct_block *inside; /* what is made in these ops, */
    ct_op *first, *last;    /* of a block, is not there yet; NULL: asks about a single load */
    bool dry;               /* only whether some are left to ask, or fail */
    bool any, failed;       /* some are; one cannot be asked */
    bool divides;           /* one asks what divides a number or an address */
    ct_value *all, *views;  /* whether all hold; those by which views are what maps take. NULL: nothing is asked */
    bool of_view;           /* the next ones are of these */
    uint32_t asked_count;
    const ct_value *asked[CG_LIFT_ASKED]; /* to be at least 0 */
    bool asked_of_view[CG_LIFT_ASKED];
} cg_lift_checks;

/* Adds the conditions under which the load is a load of the view, and those for copies of 2^byte_bits bytes and, with
   16 bytes, for tensor maps. */
void cg_lift_check(cg_lift_checks *k, const cg_lifted *l);
/* Is all that the view is made of there? */
bool cg_lift_is_there(const cg_lift_checks *k, const cg_lifted *l);

/* Of how many bytes rows are known to start at multiples, as a logarithm, up to 16. */
uint32_t cg_lift_known_bits(const cg_lifted *l);
/* byte_bits of elements. */
uint32_t cg_lift_chunk_bits(const cg_lifted *l);
/* Is the view's address known to be such a multiple? */
bool cg_lift_is_aligned(const cg_lifted *l);

#endif
