/* The part of the simplify pass that other passes use. */
#ifndef TILEVM_CODEGEN_PASSES_SIMPLIFY_H
#define TILEVM_CODEGEN_PASSES_SIMPLIFY_H

#include "codegen/kernel/kernel.h"

/* Runs the pass again, after another pass has replaced values by others. */
void cg_simplify(cg_func *c);
/* Removes a memory op whose last result is a token. The ops that followed it follow `token` instead. NULL: nothing. */
void cg_drop_access(cg_func *c, ct_op *op, ct_value *token);

#endif
