/* Decides whether two indices of a tensor may refer to one element of memory: rows may overlap, strides may be 0 or
   known only at launch. */
#ifndef TILEVM_CODEGEN_ANALYSIS_APART_H
#define TILEVM_CODEGEN_ANALYSIS_APART_H

#include "codegen/kernel/kernel.h"

/* Do all elements within the extents of the view's tensor have distinct addresses? They do if

   - its dimensions nest: the dimensions with more than one element have an order in which the stride of each is at
     least
   the stride times the extent of the previous one, according to types, ranges of values and equal values; or
   - it is an array whose symbol promises it: address, extents and strides are that array's parameters.

   Strides that are not positive prove nothing. False: not known. Facts are used if they exist, but not required. */
bool cg_tensor_is_apart(const cg_func *c, const ct_value *view);

/* The same; in addition, no two tiles of the view have an element in common, because the view is a partition. */
bool cg_view_tiles_apart(const cg_func *c, const ct_value *view);

#endif
