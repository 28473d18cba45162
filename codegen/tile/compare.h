/* Comparisons of integers as others say them. */
#ifndef TILEVM_CODEGEN_TILE_COMPARE_H
#define TILEVM_CODEGEN_TILE_COMPARE_H

#include "bytecode/module.h"

/* The comparison that holds where this one does not. */
static inline bc_ComparisonPredicate ct_negated(bc_ComparisonPredicate p)
{
    static const bc_ComparisonPredicate others[] = {
        [BC_ComparisonPredicate_equal] = BC_ComparisonPredicate_not_equal,
        [BC_ComparisonPredicate_not_equal] = BC_ComparisonPredicate_equal,
        [BC_ComparisonPredicate_less_than] = BC_ComparisonPredicate_greater_than_or_equal,
        [BC_ComparisonPredicate_less_than_or_equal] = BC_ComparisonPredicate_greater_than,
        [BC_ComparisonPredicate_greater_than] = BC_ComparisonPredicate_less_than_or_equal,
        [BC_ComparisonPredicate_greater_than_or_equal] = BC_ComparisonPredicate_less_than,
    };
    return others[p];
}

/* The same comparison of swapped operands. */
static inline bc_ComparisonPredicate ct_swapped(bc_ComparisonPredicate p)
{
    static const bc_ComparisonPredicate others[] = {
        [BC_ComparisonPredicate_equal] = BC_ComparisonPredicate_equal,
        [BC_ComparisonPredicate_not_equal] = BC_ComparisonPredicate_not_equal,
        [BC_ComparisonPredicate_less_than] = BC_ComparisonPredicate_greater_than,
        [BC_ComparisonPredicate_less_than_or_equal] = BC_ComparisonPredicate_greater_than_or_equal,
        [BC_ComparisonPredicate_greater_than] = BC_ComparisonPredicate_less_than,
        [BC_ComparisonPredicate_greater_than_or_equal] = BC_ComparisonPredicate_less_than_or_equal,
    };
    return others[p];
}

#endif
