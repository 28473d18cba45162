/* What is known about values before any instruction: which power of two divides an integer or an address, constants,
   between which numbers integers lie, and how the elements of a tile of integers or pointers follow each other. */
#ifndef TILEVM_CODEGEN_FACTS_FACTS_H
#define TILEVM_CODEGEN_FACTS_FACTS_H

#include "codegen/tile/ir.h"

/* A tile along one dimension, in aligned blocks of 2^n elements; all numbers are logarithms. */
typedef struct cg_axis {
    uint8_t run;    /* in blocks of this many, elements grow by one (pointers: by the size of what they point to) */
    uint8_t likely; /* the same where no integer wraps in such a block: enough to choose by, not to rely on */
    uint8_t start;  /* a power of two that divides the first element of each block of `run`; 63 for zero */
    uint8_t same;   /* in blocks of this many, all elements are equal */
} cg_axis;

typedef struct cg_range { /* low <= x <= high */
    int64_t low, high;
} cg_range;

typedef struct cg_fact {
    uint8_t divisor; /* log2 of a power of two that divides every element (pointers: the address); 63 for zero */
    bool constant;   /* every element is `value` */
    bool used;       /* some op reads it */
    bool ranged;     /* every element lies in `range`, read as signed; else anywhere in its type */
    int64_t value;   /* sign-extended */
    cg_range range;
    const cg_axis *axes; /* by dimension; NULL: nothing is known */
} cg_fact;

enum {
    CG_DIVISOR_OF_ZERO = 63,
    CG_MOST_TILE_BLOCKS = (1 << 24) - 1, /* of a grid along an axis */
    CG_MOST_LAUNCHED_BLOCKS = 65535      /* of one that a GPU launches along y and z */
};

/* log2 of the largest power of two that divides x. */
static inline uint8_t cg_divisor_of(uint64_t x)
{
    uint8_t n = 0;
    while (n < CG_DIVISOR_OF_ZERO && !(x >> n & 1))
        n++;
    return n;
}
/* Every element is `value`. */
static inline void cg_set_constant(cg_fact *fact, int64_t value)
{
    fact->constant = true;
    fact->value = value;
    fact->divisor = cg_divisor_of((uint64_t)value);
}

/* How the elements of the op's first result follow each other (codegen/facts/axes.c). NULL: nothing is known. */
const cg_axis *cg_find_axes(const ct_op *op, bc_arena *arena);
/* log2 of the bytes from one element to the next behind a pointer; -1 for half a byte. */
int cg_pointee_shift(const bc_type *pointers);

/* Ranges of the op's results, and of the counter of a `for` (codegen/facts/ranges.c). */
void cg_find_ranges(const ct_op *op);
void cg_find_counter_range(const ct_op *loop);
/* The range of an integer value. */
cg_range cg_range_of(const ct_value *v);
/* Is the integer one of 32 bits, extended by its sign if it has more? */
bool cg_is_narrow(const ct_value *v);
/* Of a size, stride or index, which are read as unsigned: what the type states, or, where that is BC_DYNAMIC, a value.
   False: it may lie above INT64_MAX. */
bool cg_size_range(int64_t stated, const ct_value *dynamic, cg_range *out_range);

/* Iterations of a `for` whose bounds are constant; UINT32_MAX: they are not. */
uint32_t cg_iterations_of(const ct_op *loop);

/* The op's result as an integer, where all operands are constant and the op is one of those that
   codegen/facts/evaluate.c computes. */
bool cg_evaluate(const ct_op *op, int64_t *out_value);
/* The same where the operands, as many as the op has, are these. */
bool cg_evaluate_with(const ct_op *op, const int64_t *operands, int64_t *out_value);
/* The first loop, in no other one, that has more iterations the higher the number of its block along x is; NULL: none
   is known to (codegen/facts/growth.c). False: out of memory. */
bool cg_find_growing_loop(const ct_func *f, bc_arena *scratch, const ct_op **out_loop);

/* Gives every value its fact. False: out of memory. */
bool cg_find_facts(ct_func *f);
/* The same in two steps, for those who change ops on their way: every value gets an empty fact; then what is known of
   the results of one op after the other, in the order in which they run. */
bool cg_begin_facts(ct_func *f);
void cg_learn(const ct_op *op, bc_arena *arena);

#endif
