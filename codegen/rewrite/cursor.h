/* Cursors: the addresses of the next tiles of copies. */
#ifndef TILEVM_CODEGEN_REWRITE_CURSOR_H
#define TILEVM_CODEGEN_REWRITE_CURSOR_H

#include "codegen/analysis/ring.h"

/* Inserts a cursor in front of the loop for a copy or prefetch, which all iterations execute or none, if the index
   along one dimension grows evenly with `counter`, and all other operands are computed before the loop. Every
   iteration must reach the end of the body. first: the counter of the first iteration. */
void cg_put_cursor(cg_func *c, ct_op *copy, ct_op *loop, const ct_value *counter, ct_value *first);

#endif
