/* Unified differences of texts, as diff -u writes them. */
#ifndef TILEVM_TOOLS_DIFF_UNIFIED_H
#define TILEVM_TOOLS_DIFF_UNIFIED_H

#include "bytecode/base/text.h"

/* Appends the difference of two texts, with three lines of context, after lines that name them. out_same tells whether
   there was none; then nothing is appended. False: out of memory. */
bool unified_diff(bc_text *out, const char *a_name, tv_str a, const char *b_name, tv_str b, bool color, bool *out_same);

#endif
