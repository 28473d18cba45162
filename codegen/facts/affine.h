/* Integers, and tiles of integers and pointers, as polynomials: sums of products of scalars, numbers of iterations and
   positions of elements along the tile's dimensions.

   A polynomial has whole numbers as values, and an operation on n bits gives its value modulo 2^n. Where n bits are
   extended, both agree only if the polynomial's value fits in n bits; `widened` lists the polynomials that must fit
   in 32. */
#ifndef TILEVM_CODEGEN_FACTS_AFFINE_H
#define TILEVM_CODEGEN_FACTS_AFFINE_H

#include "codegen/tile/ir.h"

enum { CG_MOST_FACTORS = 4, CG_MOST_TERMS = 12, CG_AFFINE_DIMS = 5, CG_MOST_WIDENED = 12, CG_MOST_REMAINDERS = 2 };
enum { CG_NO_DIM = UINT8_MAX };

/* times * factors * the position along `dim` */
typedef struct cg_term {
    int64_t times;
    uint8_t count, dim; /* CG_NO_DIM: no position */
    const ct_value
        *factors[CG_MOST_FACTORS]; /* scalars; the counter of a `for` stands for the number of the iteration */
} cg_term;

typedef struct cg_poly {
    uint32_t count; /* no two terms have the same factors and dimension */
    cg_term terms[CG_MOST_TERMS];
} cg_poly;

/* A remainder x % extent that is taken as x, which is right where 0 <= x < extent. */
typedef struct cg_wrapped {
    const ct_op *op;
    cg_poly x;
    const ct_value *extent; /* a scalar */
} cg_wrapped;

typedef struct cg_affine {
    cg_poly widened[CG_MOST_WIDENED]; /* the other polynomials are valid if each of these fits in 32 bits with sign */
    uint32_t widened_count;
    cg_wrapped wrapped[CG_MOST_REMAINDERS];
    uint32_t wrapped_count;
    bool wraps; /* may remainders be taken as their dividend? */
} cg_affine;

/* The polynomial of a scalar or tile of integers. False: there is none, or it has too many terms. */
bool cg_poly_of(cg_affine *a, ct_value *v, cg_poly *out);
/* A tile of pointers as a scalar pointer and an offset in elements. */
bool cg_pointers_of(cg_affine *a, ct_value *v, ct_value **out_base, cg_poly *out);
/* The condition under which a mask is true, as polynomials that must all be negative. most: the room in `out`. */
bool cg_mask_of(cg_affine *a, ct_value *mask, cg_poly *out, uint32_t most, uint32_t *out_count);

bool cg_poly_add(cg_poly *sum, const cg_poly *other, int64_t times);
bool cg_poly_add_term(cg_poly *sum, const cg_term *term);
bool cg_poly_multiply(const cg_poly *a, const cg_poly *b, cg_poly *out);
/* Are the values the same, apart from promises? */
bool cg_is_same_factor(const ct_value *a, const ct_value *b);
/* The `for` whose counter v is, as a factor that stands for the number of the iteration, and the step of the
   counter. NULL: v is no counter. */
const ct_op *cg_counted_loop(const ct_value *v, int64_t *out_step);

#endif
