/* Sums that loops carry from one product to the next. */
#ifndef TILEVM_CODEGEN_REWRITE_CARRIED_H
#define TILEVM_CODEGEN_REWRITE_CARRIED_H

#include "codegen/analysis/product.h"

/* Does the loop around the product carry its result, which only the next iteration's product uses? *out_index: the
   carried value that holds it. */
bool cg_is_sum_carried(const ct_op *product, uint32_t *out_index);
/* Does the loop carry the product's result to the next iteration, where only a multiplication uses it, whose result
   only the product adds to, as attention rescales its sums? In f32, rounded to nearest, and with subnormal numbers, so
   that a product with 1 changes nothing. Returns the multiplication; NULL: no. */
ct_op *cg_scale_of_sum(const ct_op *product, uint32_t *out_index);
/* The only product of the body, if the loop carries its sum; otherwise NULL. */
ct_op *cg_product_carried(const ct_op *loop, uint32_t *out_index);
/* The outermost loop over whose iterations the sum that `loop` carries as *carried stays where it is: each surrounding
   loop only passes it from one execution of its inner loop to the next. *carried becomes the number there. */
ct_op *cg_loop_of_sum(ct_op *loop, uint32_t *carried);
/* Marks the values that hold the product's sum, which is in tensor memory, from `loop` down to it. */
void cg_mark_in_tensor(ct_op *product, const ct_op *loop);

#endif
