/* The facts pass computes facts about each value: the powers of two that divide it, its range, the differences between
   neighbouring elements of a tile, and the address of a view's tensor. Loads, stores and layouts later use these facts
   to choose the width of accesses and the bounds to check.

   The pass changes nothing. Facts are computed op by op, by class of op (codegen/facts/), and passes that change
   ops afterwards keep them up to date. The records of views (`cg_view`) are not printed in dumps. */
#include "codegen/analysis/view.h"
#include "codegen/plan/block_order.h"
#include "codegen/passes/pass.h"

void cg_pass_facts(cg_func *c)
{
    if (cg_find_facts(c->ir) && cg_find_views(c->ir))
        cg_order_longest_first(c);
}
