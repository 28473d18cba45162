/* The longest common subsequence of two sequences of keys: what a difference is made from. */
#ifndef TILEVM_TOOLS_DIFF_LCS_H
#define TILEVM_TOOLS_DIFF_LCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks in keep_a and keep_b (n and m bytes) the elements of a common subsequence: the i-th set mark of one pairs with
   the i-th of the other. Longest unless the sequences differ in more than some hundred places in a row, where it may
   miss a little so as to stay fast. False: out of memory. */
bool lcs_mark(const uint64_t *a, size_t n, const uint64_t *b, size_t m, uint8_t *keep_a, uint8_t *keep_b);

#endif
