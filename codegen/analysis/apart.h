/* Whether two indices of a tensor may be one element of memory: rows that overlap, strides of 0, strides that only the
   launch tells. */
#ifndef TILEVM_CODEGEN_ANALYSIS_APART_H
#define TILEVM_CODEGEN_ANALYSIS_APART_H

#include "codegen/kernel/kernel.h"

/* Is every element within the extents of the tensor an element of memory of its own? The view is of the tensor, or of
   its tiles. It is where

     - its dimensions nest: in some order of those with more than one element, the stride of each is at least the stride
       times the extent of the one before, as types, ranges of values and equal values say; or
     - it is an array whose symbol promises it: address, extents and strides are that array's parameters.

   Nothing is known of strides that are not positive. False: not known to be. Needs no facts; uses those that there are.
 */
bool cg_tensor_is_apart(const cg_func *c, const ct_value *view);

/* The same, and no two tiles of the view have an element in common: those of a partition, whose indices differ. */
bool cg_view_tiles_apart(const cg_func *c, const ct_value *view);

#endif
