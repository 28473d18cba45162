/* Products whose left operand is multiplied as threads hold it (flip pass). `mma.sync` pairs elements of K and rows of
   its fragments with those of the other operand and of the sums by their place alone. So any bits of the operand's
   index may be the bits of K, and of its rows, that an instruction counts: those that the layout gives to registers and
   lanes where fragments have them. Then nothing is brought from one thread to another.

       weights, 8 bits, as copied          bits of K           bits of rows
         registers                         k0 k1 k2 k3 k6      r5
         lanes                             k4 k5               r0 r1 r2
         warps                                                 r3 r4
       fragment   neighbours, lanes, upper half, steps         lanes, upper half, warps
                  k0          k4 k5  k1          k2 k3 k6      r0 r1 r2  r5      r3 r4

   The right operand lies in shared memory in rows of K, of which a lane reads vectors of 16 bytes: k0 to k2.
   Why it is right: both operands count K alike, a sum takes its products in any order (docs/reference/numerics.md), and
   the result's layout says which rows a thread has. */
#ifndef TILEVM_CODEGEN_ANALYSIS_REORDERED_H
#define TILEVM_CODEGEN_ANALYSIS_REORDERED_H

#include "codegen/analysis/product.h"

/* log2 of the elements of 16 bits that a lane reads at a time of the right operand, and of the least of K. */
enum { CG_VECTOR_K_BITS = 3, CG_REORDERED_K_BITS = 5 };

/* May the product, in the body of a loop, become one with swapped operands? Its right one has to be the transpose of
   weights that are computed element by element from a tile that the body loads in rows of K, of all of K or of half of
   it (two elements in one), and few enough that each thread can hold its part; and it is the kernel's only product,
   which chooses the number of warps. */
bool cg_may_reorder(const cg_func *c, const ct_op *product);
/* log2 of the most warps that have weights of their own, of 2^rows. */
uint32_t cg_reordered_warps(uint32_t rows);

/* The order of a reordered product's K and rows: those of a left operand in layout l, if that gives lanes, registers
   and warps what fragments want there; else an order of its own, into whose layout the operand is converted. l: NULL
   for that. */
void cg_find_order(const cg_func *c, cg_product *p, const cg_layout *l);
/* A layout of the left operand (columns: the bits of K), or of the result (the bits of N), whose bits count as an
   instruction does, as one of the tile's index. */
cg_layout cg_in_order(const cg_product *p, const cg_layout *l, bool left);
/* The layout in which a tile of weights is to be loaded that such a product takes as its left operand, maybe unpacked
   and converted: whole vectors along K, of four lanes side by side. False: the load is not of such a tile. */
bool cg_reordered_home(const cg_func *c, const ct_op *load, cg_layout *out);

#endif
