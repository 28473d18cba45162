/* Scaled products by tcgen05: their kinds, and where their scales are. The scales of a product are in tensor memory
   behind its sum. A column of words has those of 32 rows of A (or columns of B) and of up to four neighbours along K:
   row r is in lane r % 32, and again in the same lane of each other quarter. Source: PTX ISA, "Block scaling for
   tcgen05.mma". */
#ifndef TILEVM_CODEGEN_ANALYSIS_TCGEN05_SCALES_H
#define TILEVM_CODEGEN_ANALYSIS_TCGEN05_SCALES_H

#include "codegen/analysis/product.h"

/* How tcgen05 scales the product, which has a scaling already. NULL: it does not. */
const cg_scaling *cg_tcgen05_scaling(const cg_func *c, const cg_product *p);

enum { CG_SCALE_COPY_BITS = 2 }; /* log2 of the columns that a copy from shared memory fills (.32x128b.warpx4) */

/* The scales of A or B in tensor memory: for each instruction along M or N (and batch), for each word along K, the
   columns of its rows. */
typedef struct cg_scale_place {
    uint32_t scale_bits;  /* log2 of the scales of a row */
    uint32_t word_bits;   /* log2 of those in a word */
    uint32_t spread;      /* log2 of the instruction's groups of eight rows for each one of the product's */
    uint32_t own_bits;    /* log2 of the columns that an instruction's rows need, */
    uint32_t column_bits; /* and that they have: two at least, so that addresses are even */
    uint32_t blocks,
        block_at;   /* log2 of the instructions along M or N and of the batches; the index bit of the first */
    uint32_t first; /* the first column, counted from the end of the sum */
} cg_scale_place;
cg_scale_place cg_scale_place_of(const cg_product *p, bool left);
/* The columns of tensor memory that the scales of both operands take. */
uint32_t cg_scale_columns(const cg_product *p);
/* How it reads the scales of A or B from a ring. */
cg_feed cg_scale_feed(const cg_product *p, bool left);
/* Can the issuer copy the scales of A or B to tensor memory from where they lie: in this encoding of the tile that v
   reinterprets? */
bool cg_scales_are_copied(const cg_product *p, bool left, const ct_value *v, const cg_encoding *encoding);
/* The layout from which warps store scales. Registers count the scales in a word, then columns, words and
   instructions. Every warp has all scales. */
cg_layout cg_scale_words_layout(const cg_func *c, const cg_product *p, bool left);

#endif
