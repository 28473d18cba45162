/* Products by tcgen05: which ones the instruction can compute, and how their sums lie in tensor memory. Tensor memory
   has 128 lanes of 512 words on each multiprocessor. A sum takes the lanes of 128 rows (or every other 16 lanes, for 64
   rows), and a column of words for each of its columns; further rows take further columns. A warp reaches the 32 lanes
   of its number in its warpgroup. Source: PTX ISA, "TensorCore 5th Generation Family Instructions". */
#ifndef TILEVM_CODEGEN_ANALYSIS_TCGEN05_H
#define TILEVM_CODEGEN_ANALYSIS_TCGEN05_H

#include "codegen/analysis/product.h"
#include "codegen/analysis/tensor_memory.h"

/* Scaled instructions have 128 rows. Of a product with fewer, each second or fourth of their groups of eight rows is
   one of the product's (cg_tcgen05_spread): in the matrix descriptor, the stride between groups is a half or a quarter
   of what it would be, so that the groups between begin within those rows. Their sums are in lanes that nobody loads.
   So each warp has 16 or 8 rows, as with M 64, and the operand takes no more memory. Why it is right: a lane's sums
   depend on its own row of A, on the scales of that row, and on B, so that neither numbers nor NaNs of rows between
   reach the rows of the product. The last group reads a little beyond the operand (cg_tcgen05_beyond), which is memory
   of the thread block without a number in it that anybody reads.

   In a **pair**, two thread blocks compute a product together: each has half of the rows of A and of the sum, in its
   own shared and tensor memory, and half of the columns of B. An instruction multiplies 256 rows, or 128. Of 256 rows,
   each block has its sums as of 128 rows without a pair. Of 128 rows, it has 64: the first half of their columns is in
   lanes 0 to 63, the other half in lanes 64 to 127. Of scales, it has those of its rows of A and of all columns of B;
   such instructions have 256 rows, because where those of 64 rows would be is not documented. */

/* Does the instruction take such elements and sums? */
bool cg_tcgen05_has_kind(const cg_func *c, const cg_product *p);
/* A text for users: why tcgen05 cannot compute the product, which has an atom, and enough rows and columns. NULL: it
   can; its sums fit into tensor memory, and every warp has whole blocks of eight columns. */
const char *cg_tcgen05_obstacle(const cg_func *c, const cg_product *p);
/* log2 of the instruction's groups of eight rows for each one of the product's. */
static inline uint32_t cg_tcgen05_spread(const cg_product *p)
{
    return p->scaled && p->m < CG_TENSOR_ROW_BITS ? CG_TENSOR_ROW_BITS - p->m : 0;
}
/* The bytes that it reads behind a left operand, or its scales, of which eight rows take so many bytes. */
static inline uint32_t cg_tcgen05_beyond(const cg_product *p, uint32_t eight_rows)
{
    return eight_rows - (eight_rows >> cg_tcgen05_spread(p));
}
/* Can it read an operand whose rows lie across K? There, a descriptor has no stride between groups of eight rows of A
   that are not side by side. */
static inline bool cg_tcgen05_reads_across(const cg_product *p, bool left)
{
    return p->in != BC_TF32 && !p->packed && !(left && cg_tcgen05_spread(p));
}
/* Distributes the warps along M and N: the first four have 32 lanes each. */
void cg_tcgen05_split(const cg_func *c, cg_product *p);
/* Do two halves of the sum's columns lie in different lanes? */
bool cg_tcgen05_halves_lanes(const cg_product *p);
/* The bit of the sum's column that bit i of the warps along N gives. */
uint32_t cg_tcgen05_warp_column(const cg_product *p, uint32_t i);
/* Does each thread move a row of the sum and of the left operand, or a part of it if warps share rows? In a chain of
   products, as in attention, what is computed between them is often reduced along rows, which takes no shuffles then.
   Of fewer than 128 rows, not every lane has one. */
static inline bool cg_tcgen05_moves_rows(const cg_product *p)
{
    return p->chained && p->m >= CG_TENSOR_ROW_BITS;
}
/* The layout in which the shape 32x32b moves a sum, or a left operand, of 2^columns columns, of which the warps that
   share rows have 2^along parts: each thread has a lane of its own. */
cg_layout cg_tcgen05_rows_layout(const cg_func *c, const cg_product *p, uint32_t columns, uint32_t along);
/* The layout of the sum: of rows, or as the shape 16x256b loads it, that of mma.sync for 16 lanes at a time. */
cg_layout cg_tcgen05_layout(const cg_func *c, const cg_product *p);
/* The columns of tensor memory that the product's sum takes. Batches follow each other like further rows. */
uint32_t cg_tcgen05_sum_columns(const cg_product *p);
/* The columns of tensor memory that the product takes: those of its sum, and of its scales behind them. */
uint32_t cg_tcgen05_columns(const cg_product *p);

#endif
