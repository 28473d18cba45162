/* Maps of tiles whose elements alternate in a larger one. */
#ifndef TILEVM_CODEGEN_REWRITE_INTERLEAVED_H
#define TILEVM_CODEGEN_REWRITE_INTERLEAVED_H

#include "codegen/kernel/kernel.h"

/* Computes on the result of a `cat` what was computed on both operands alike. False: nothing was. */
bool cg_join_before_maps(cg_func *c, ct_op *cat);

#endif
