/* Facts: what is known at compile time about values. They include divisors of integers and addresses, constants,
   ranges of integers, and the pattern of elements in tiles of integers and pointers. */
#ifndef TILEVM_CODEGEN_FACTS_FACTS_H
#define TILEVM_CODEGEN_FACTS_FACTS_H

#include "codegen/tile/ir.h"

/* The elements along one dimension of a tile, in aligned blocks of 2^n elements. All members are log2. */
typedef struct cg_axis {
    uint8_t run;    /* in blocks of this size, elements grow by one (pointers: by the size of the pointee) */
    uint8_t likely; /* the same, if no integer wraps inside the block; enough for a choice, not for a proof */
    uint8_t start;  /* a power of two that divides the first element of each such block; 63 for zero */
    uint8_t same;   /* in blocks of this size, all elements are equal */
} cg_axis;

typedef struct cg_range { /* low <= x <= high */
    int64_t low, high;
} cg_range;

typedef struct cg_fact {
    uint8_t divisor; /* log2 of a power of two that divides every element (pointers: the address); 63 for zero */
    bool constant;   /* every element is `value` */
    bool used;       /* some op reads it */
    bool ranged;     /* every element, as a signed number, is in `range`; otherwise anywhere in its type */
    int64_t value;   /* sign-extended */
    cg_range range;
    const cg_axis *axes; /* by dimension; NULL: nothing is known */
} cg_fact;

enum {
    CG_DIVISOR_OF_ZERO = 63,
    CG_MOST_TILE_BLOCKS = (1 << 24) - 1, /* along an axis of the grid */
    CG_MOST_LAUNCHED_BLOCKS = 65535      /* along y and z of a grid that a GPU launches */
};

/* log2 of the largest power of two that divides x. */
static inline uint8_t cg_divisor_of(uint64_t x)
{
    uint8_t n = 0;
    while (n < CG_DIVISOR_OF_ZERO && !(x >> n & 1))
        n++;
    return n;
}
/* States that every element is `value`. */
static inline void cg_set_constant(cg_fact *fact, int64_t value)
{
    fact->constant = true;
    fact->value = value;
    fact->divisor = cg_divisor_of((uint64_t)value);
}

/* The pattern of elements in the op's first result (codegen/facts/axes.c). NULL: nothing is known. */
const cg_axis *cg_find_axes(const ct_op *op, bc_arena *arena);
/* log2 of the bytes from one pointee to the next; -1 for 4-bit elements. */
int cg_pointee_shift(const bc_type *pointers);

/* Ranges of the op's results, and of the counter of a `for` (codegen/facts/ranges.c). */
void cg_find_ranges(const ct_op *op);
void cg_find_counter_range(const ct_op *loop);
/* The range of an integer value. */
cg_range cg_range_of(const ct_value *v);
/* Is the integer a sign-extended one of 32 bits, or a 32-bit one? */
bool cg_is_narrow(const ct_value *v);
/* The range of a size, stride or index, which are unsigned: of the number that the type states, or if that is
   BC_DYNAMIC, of a value. False: it may exceed INT64_MAX. */
bool cg_size_range(int64_t stated, const ct_value *dynamic, cg_range *out_range);

/* The number of iterations of a `for` with constant bounds; UINT32_MAX: the bounds are not constant. */
uint32_t cg_iterations_of(const ct_op *loop);

/* The op's result as an integer, if all operands are constant and codegen/facts/evaluate.c computes the op. */
bool cg_evaluate(const ct_op *op, int64_t *out_value);
/* The same for given values of all operands. */
bool cg_evaluate_with(const ct_op *op, const int64_t *operands, int64_t *out_value);
/* The first loop, outside any other, that has more iterations in blocks with a larger index along x. NULL: none is
   known (codegen/facts/growth.c). False: out of memory. */
bool cg_find_growing_loop(const ct_func *f, bc_arena *scratch, const ct_op **out_loop);

/* Computes the facts of all values. False: out of memory. */
bool cg_find_facts(ct_func *f);
/* The same in two steps, for passes that change ops while they walk. The first gives every value an empty fact; the
   second computes those of an op's results, for one op after the other in the order of execution. */
bool cg_begin_facts(ct_func *f);
void cg_learn(const ct_op *op, bc_arena *arena);

/* Is every element of the value this number? */
bool cg_is_number(const ct_value *v, int64_t value);
/* The value that the op's first result equals, whatever its type. NULL: none is known (codegen/facts/given.c). */
ct_value *cg_operand_given(const ct_op *op);

#endif
