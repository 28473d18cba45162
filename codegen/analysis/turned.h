/* How transposed products (codegen/ops/mma_turned.c) are divided among warps and steps. */
#ifndef TILEVM_CODEGEN_ANALYSIS_TURNED_H
#define TILEVM_CODEGEN_ANALYSIS_TURNED_H

#include "codegen/analysis/product.h"

enum { CG_TURNED_COLUMN_BITS = 6, CG_TURNED_ROW_BITS = 3, CG_TURNED_MOST_PIECE_BITS = 2 };

/* The division of a product; all members but p in bits. */
typedef struct cg_turned {
    const cg_product *p;
    uint32_t along_m, along_n; /* warpgroups that share M, N */
    uint32_t rows;             /* of C, of an instruction */
    uint32_t strips;           /* of 64 columns, of a warpgroup */
    uint32_t twins;            /* 1: strips come by twos, with neighbouring columns */
    uint32_t steps, piece;     /* along K: of a tile, of a piece */
    cg_feed feed;              /* how B is read */
} cg_turned;

/* Before B is in a ring, only sizes are right. */
cg_turned cg_turned_of(const cg_product *p, uint32_t warp_bits);
/* The columns of C that lanes (the upper three bits), warps and, from *regs on, registers have: N is the lowest. */
void cg_turned_columns(const cg_turned *t, uint32_t *regs, cg_layout *l);
/* Do the operands permit computing the product transposed? */
bool cg_may_turn(const cg_func *c, const ct_op *op, const cg_product *p);
/* How it reads B, of which K is contiguous, or N. */
cg_feed cg_turned_feed(const cg_product *p, bool along_k);
/* The layout of its result. */
cg_layout cg_turned_layout(const cg_func *c, const cg_product *p);

#endif
