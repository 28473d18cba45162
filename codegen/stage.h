/* Matrices in shared memory as ldmatrix wants them: rows of 16-byte chunks, swizzled so that eight rows below each other lie in
   different banks. */
#ifndef TILEVM_CODEGEN_STAGE_H
#define TILEVM_CODEGEN_STAGE_H

#include "codegen/lower.h"

typedef struct cg_stage {
    cg_val base;       /* 32-bit shared address */
    uint32_t rows, columns, batch, bytes; /* bits of each; bytes of an element */
    uint32_t chunk;    /* log2 of the elements of a chunk */
    uint32_t swizzle;  /* low row bits that are XORed into the chunk's number */
    uint32_t first;    /* the row bit they begin at */
} cg_stage;

/* rows x columns of elements of `bytes`, all but the last as bits; base is left to the caller. */
cg_stage cg_stage_new(uint32_t rows, uint32_t columns, uint32_t batch, uint32_t bytes);
uint32_t cg_stage_bytes(const cg_stage *s);
/* A layout of the matrix's index as one of places in the stage. */
cg_layout cg_stage_layout(const cg_stage *s, const cg_layout *l);

#endif
