/* Products whose left operand is multiplied in the registers that already hold it (flip pass). `mma.sync` matches
   elements of K, and rows, by their position in the fragments alone. So K and the rows may be counted in any order of
   the index bits, as long as both operands and the sums use the same order. The order is chosen so that the lanes and
   registers that hold the operand are those in which a fragment needs it. Then no element moves from one thread to
   another.

       weights, 8 bits, as copied          bits of K           bits of rows
         registers                         k0 k1 k2 k3 k6      r5
         lanes                             k4 k5               r0 r1 r2
         warps                                                 r3 r4
       fragment   neighbours, lanes, upper half, steps         lanes, upper half, warps
                  k0          k4 k5  k1          k2 k3 k6      r0 r1 r2  r5      r3 r4

   The right operand lies in shared memory in rows along K, from which each lane reads vectors of 16 bytes: k0 to k2.
   Why it is right: both operands count K in the same order, a sum may add its products in any order
   (docs/reference/numerics.md), and the result's layout says which rows a thread has. */
#ifndef TILEVM_CODEGEN_ANALYSIS_REORDERED_H
#define TILEVM_CODEGEN_ANALYSIS_REORDERED_H

#include "codegen/analysis/product.h"

/* log2 of the 16-bit elements of the right operand that a lane reads at once; log2 of the smallest K. */
enum { CG_VECTOR_K_BITS = 3, CG_REORDERED_K_BITS = 5 };

/* May the product, which is in the body of a loop, become one with swapped operands? Its right operand must be the
   transpose of weights that are computed element by element from a tile that the body loads. The rows of that tile
   have the whole of K, or half of it if each element is unpacked into two. Each thread must be able to hold its part
   of the weights. The product must be the only one of the kernel, because it chooses the number of warps. */
bool cg_may_reorder(const cg_func *c, const ct_op *product);
/* log2 of the number of warps among which 2^rows rows of weights can be divided, at most. */
uint32_t cg_reordered_warps(uint32_t rows);

/* Chooses the order in which a reordered product counts K and rows. If the left operand's layout l gives lanes,
   registers and warps what fragments need there, the order follows l; otherwise the operand is converted to the
   layout of a fixed order. l may be NULL, which selects the fixed order. */
void cg_find_order(const cg_func *c, cg_product *p, const cg_layout *l);
/* Converts a layout in which bits count as an instruction counts them to a layout of the tile's index. The tile is
   the left operand (its columns are the bits of K) or the result (the bits of N). */
cg_layout cg_in_order(const cg_product *p, const cg_layout *l, bool left);
/* Does v become the left operand of such a product, perhaps after element-wise ops or as other views of it? */
bool cg_feeds_reordered(const ct_value *v);
/* The layout in which to load a tile of weights that becomes the left operand of such a product, perhaps after it is
   unpacked and converted: four adjacent lanes have whole vectors along K. False: the load is not of such a tile. */
bool cg_reordered_home(const cg_func *c, const ct_op *load, cg_layout *out);

#endif
