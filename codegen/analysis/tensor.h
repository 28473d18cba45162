/* Products by tcgen05 in a kernel: their operands in shared memory, and the places of their sums in tensor memory. */
#ifndef TILEVM_CODEGEN_ANALYSIS_TENSOR_H
#define TILEVM_CODEGEN_ANALYSIS_TENSOR_H

#include "codegen/analysis/tcgen05.h"

/* Can the instruction read operand `index` of the op where it lies: in this encoding? */
bool cg_tcgen05_reads(const cg_func *c, const ct_op *op, uint32_t index, const cg_encoding *encoding);

/* The bytes behind operand `index`, which lies in the encoding, that the instruction reads, too. */
uint32_t cg_tcgen05_reads_beyond(const cg_func *c, const ct_op *op, uint32_t index, const cg_encoding *encoding);

/* Why a pair of thread blocks cannot compute the product, each half of its rows: a text for users. NULL: it can. */
const char *cg_pair_obstacle(const cg_func *c, const ct_op *op);
/* Where a program of its own issues products, the places of a sum: while one is filled, the other is taken. */
enum { CG_SUMS_IN_TURN = 2 };

/* A sum in tensor memory. */
typedef struct cg_sum {
    const ct_op *product;
    const ct_op *span;    /* the op during which it lies there: the product, or the loop over which it stays */
    const ct_op *started; /* of a sum that stays: the op that puts it there, and the one that takes it; else NULL */
    const ct_op *taken;   /* also of products that run ahead; of sums in turn: that marks it as complete, */
    const ct_op *loaded;  /* and the consumers' op that loads it; else NULL */
    const ct_op *scaled;  /* the op that multiplies it there in each iteration; NULL: none */
    const ct_op *handed;  /* the consumers' op that stores the left operand of the issuer's product; NULL: none */
    const ct_op *given, *corrected; /* that gives the factors of rows to the correctors, and theirs, which multiplies
                                       the sum; NULL: there are none, and `scaled` may be one */
    bool issued;                    /* of a chain: the issuer's program starts the product (codegen/rewrite/chains.h) */
    bool late; /* of a sum that is multiplied: its product is awaited when the next iteration multiplies it,
                             or when it is taken */
    uint32_t column, columns, row;         /* columns: with those of its scales; row: log2 of the words of each row */
    uint32_t scale_columns;                /* the last of these */
    uint32_t left, left_columns, left_row; /* of its product's left operand, during the product; no columns: it is not
                                              there */
    bool meets;  /* threads meet before they store its initial value or the left operand, because other warps had these
                    words */
    cg_val adds; /* when lowered: whether the next product adds to it, because something has been written */
} cg_sum;

/* The number of the first column with scales of its product. */
static inline uint32_t cg_scales_of(const cg_sum *s)
{
    return s->column + s->columns - s->scale_columns;
}

/* The tensor memory of a kernel. */
typedef struct cg_tensor {
    cg_sum *sums;
    uint32_t count, columns;       /* columns that are allocated */
    bool flies;                    /* a product goes on in the next iteration, without groups, or runs ahead */
    bool is_late;                  /* a sum is */
    bool in_turn;                  /* the kernel's only sum has two places, which the issuer fills in turn */
    uint32_t tiles;                /* of chains whose products the issuer starts: tiles of rows that are multiplied in
                                      turn, each for warps of its own; 0: there are no such chains */
    bool corrects;                 /* warps of their own multiply the sum of the chain (codegen/rewrite/correct.c) */
    struct cg_pair_state *pair;    /* the same, of a pair of thread blocks (codegen/ops/tcgen05_pair.c) */
    struct cg_tensor_state *state; /* as lowered (codegen/ops/tcgen05.c); NULL until then */
} cg_tensor;

/* Has the thread that starts products a program of its own? */
static inline bool cg_has_issuer(const cg_func *c)
{
    return c->tensor->in_turn || c->tensor->tiles;
}

/* Bytes of shared memory for it; before the tensor pass, at most. The first of them each kernel has, or each of a pair
   of thread blocks. */
uint32_t cg_tensor_bytes(const cg_func *c);
static inline uint32_t cg_tensor_first_bytes(const cg_func *c)
{
    return c->paired ? CG_PAIR_BYTES : CG_TENSOR_BYTES;
}
/* The sum of which the op is the product, the start or the end; NULL: of none. */
cg_sum *cg_sum_of(const cg_func *c, const ct_op *op);
/* Is the product's left operand in tensor memory? */
bool cg_left_in_tensor(const cg_func *c, const ct_op *product);
/* Is there room for the sums of all products in the loop at once, so that one of them may stay there meanwhile? */
bool cg_tcgen05_has_room(const cg_func *c, const ct_op *loop);

#endif
