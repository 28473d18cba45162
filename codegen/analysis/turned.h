/* How transposed products (codegen/ops/mma_turned.c) are divided among warps and steps. */
#ifndef TILEVM_CODEGEN_ANALYSIS_TURNED_H
#define TILEVM_CODEGEN_ANALYSIS_TURNED_H

#include "codegen/analysis/product.h"

enum { CG_TURNED_COLUMN_BITS = 6, CG_TURNED_ROW_BITS = 3, CG_TURNED_MOST_PIECE_BITS = 2 };

/* The division of a product. All members but p are log2. */
typedef struct cg_turned {
    const cg_product *p;
    uint32_t along_m, along_n; /* warpgroups along M and N */
    uint32_t rows;             /* rows of C per instruction */
    uint32_t strips;           /* strips of 64 columns per warpgroup */
    uint32_t twins;            /* 1: two strips have interleaved columns */
    uint32_t steps, piece;     /* instructions along K: per tile, per piece */
    cg_feed feed;              /* how B is read */
} cg_turned;

/* Until B is in a ring, only the sizes are right. */
cg_turned cg_turned_of(const cg_product *p, uint32_t warp_bits);
/* Sets the columns of C that lanes (the upper three bits), warps, and registers from *regs on have. N is lowest. */
void cg_turned_columns(const cg_turned *t, uint32_t *regs, cg_layout *l);
/* May the product be computed transposed, judging by its operands? */
bool cg_may_turn(const cg_func *c, const ct_op *op, const cg_product *p);
/* How the product reads B if K is contiguous in it (along_k) or N is. */
cg_feed cg_turned_feed(const cg_product *p, bool along_k);
/* The layout of its result. */
cg_layout cg_turned_layout(const cg_func *c, const cg_product *p);

#endif
