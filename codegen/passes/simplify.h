/* What passes ask of the simplify pass. */
#ifndef TILEVM_CODEGEN_PASSES_SIMPLIFY_H
#define TILEVM_CODEGEN_PASSES_SIMPLIFY_H

#include "codegen/kernel/kernel.h"

/* Does what the pass does once more, for one that has put values into other values' places. */
void cg_simplify(cg_func *c);
/* Removes a memory op whose last result is a token. What comes after it now comes after what `token` names; NULL: after
   nothing. */
void cg_drop_access(cg_func *c, ct_op *op, ct_value *token);

#endif
