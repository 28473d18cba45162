/* The digits into which a kernel divides the number of a block to get the indices of its tiles. */
#ifndef TILEVM_CODEGEN_ANALYSIS_DIGITS_H
#define TILEVM_CODEGEN_ANALYSIS_DIGITS_H

#include "codegen/kernel/kernel.h"

typedef struct cg_digits {
    const ct_op *number; /* the op that gives the block's number */
    uint32_t first;      /* how many values the digit has that changes with every block */
    uint32_t rest;       /* how many all others have together, if the grid is the one that the views suggest */
} cg_digits;

/* Is the kernel better off if the first digit changes last? Facts and views must be known. */
bool cg_find_digits(const ct_func *f, cg_digits *out);

#endif
