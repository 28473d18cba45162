/* Tiles between registers and tensor memory. */
#ifndef TILEVM_CODEGEN_OPS_TENSOR_MOVE_H
#define TILEVM_CODEGEN_OPS_TENSOR_MOVE_H

#include "codegen/analysis/tensor.h"
#include "codegen/kernel/kernel.h"

/* A tile in tensor memory, with rows in lanes; rows from 128 on are in further columns. */
typedef struct cg_tensor_tile {
    cg_layout layout;          /* the elements of threads; registers count those of a word first */
    uint32_t rows, columns;    /* log2, of the tile */
    uint32_t word_bits;        /* log2 of the elements of a word */
    uint32_t column;           /* its first column of the kernel's */
    uint32_t along_m, along_n; /* log2 of the warps that share rows, columns */
    uint32_t spread;           /* log2 of the groups of eight lanes for each one with rows (cg_tcgen05_spread) */
    bool by_rows;              /* a thread has parts of rows (cg_tcgen05_moves_rows) */
    uint32_t halves;           /* log2 of those of the latter whose columns are in other lanes, in a pair of blocks */
} cg_tensor_tile;

/* The sum of a product, and its left operand. */
cg_tensor_tile cg_tensor_sum(const cg_func *c, const cg_sum *s, const cg_product *p);
cg_tensor_tile cg_tensor_left(const cg_func *c, const cg_sum *s, const cg_product *p);

/* Loads or stores the thread's part, one register for each word, and waits until it is done. base: the address of the
   kernel's columns. */
void cg_tensor_move(cg_func *c, cg_val base, const cg_tensor_tile *t, const cg_val *regs, bool stores);
/* The address of the 32 lanes that the warp reaches, in the column of `base`; columns[i] are added if bit i of the
   number of its warpgroup is set. */
cg_val cg_tensor_lanes(cg_func *c, cg_val base, const uint32_t *columns, uint32_t count);

#endif
