/* Integers and tiles of integers and pointers as polynomials: sums of products of scalars, of numbers of iterations and
   of places of elements along the tile's dimensions.

   A polynomial is one of whole numbers, and an operation on n bits gives its value modulo 2^n. Where n bits become
   more, both agree only if the polynomial's value has n bits; `widened` lists what has to have 32 for that. */
#ifndef TILEVM_CODEGEN_FACTS_AFFINE_H
#define TILEVM_CODEGEN_FACTS_AFFINE_H

#include "codegen/tile/ir.h"

enum { CG_MOST_FACTORS = 4, CG_MOST_TERMS = 12, CG_AFFINE_DIMS = 5, CG_MOST_WIDENED = 12, CG_MOST_REMAINDERS = 2 };
enum { CG_NO_DIM = UINT8_MAX };

/* times * factors * the place along `dim` */
typedef struct cg_term {
    int64_t times;
    uint8_t count, dim;                       /* CG_NO_DIM: of no dimension */
    const ct_value *factors[CG_MOST_FACTORS]; /* scalars; a counter of a `for` stands for the iteration's number */
} cg_term;

typedef struct cg_poly {
    uint32_t count; /* no two terms have the same factors and dimension */
    cg_term terms[CG_MOST_TERMS];
} cg_poly;

/* Rows that start over: x % extent, taken to be x itself, which it is where 0 <= x < extent. */
typedef struct cg_wrapped {
    const ct_op *op;
    cg_poly x;
    const ct_value *extent; /* a scalar */
} cg_wrapped;

typedef struct cg_affine {
    cg_poly widened[CG_MOST_WIDENED]; /* each has 31 bits and a sign, or the polynomials do not hold */
    uint32_t widened_count;
    cg_wrapped wrapped[CG_MOST_REMAINDERS];
    uint32_t wrapped_count;
    bool wraps; /* may remainders be taken so? */
} cg_affine;

/* What v is, a scalar or tile of integers. False: it is none, or has too many terms. */
bool cg_poly_of(cg_affine *a, ct_value *v, cg_poly *out);
/* A tile of pointers: the scalar pointer that all count from, and by how many elements. */
bool cg_pointers_of(cg_affine *a, ct_value *v, ct_value **out_base, cg_poly *out);
/* What a mask demands of its elements: all of the polynomials are negative. more: how many `out` has room for. */
bool cg_mask_of(cg_affine *a, ct_value *mask, cg_poly *out, uint32_t most, uint32_t *out_count);

bool cg_poly_add(cg_poly *sum, const cg_poly *other, int64_t times);
bool cg_poly_add_term(cg_poly *sum, const cg_term *term);
bool cg_poly_multiply(const cg_poly *a, const cg_poly *b, cg_poly *out);
/* Are they the same but for what was promised about them? */
bool cg_is_same_factor(const ct_value *a, const ct_value *b);
/* Is it a counter of a `for`, which stands for the iteration's number, and how far are those apart? */
const ct_op *cg_counted_loop(const ct_value *v, int64_t *out_step);

#endif
