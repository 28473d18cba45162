/* What passes ask of the simplify pass. */
#ifndef TILEVM_CODEGEN_PASSES_SIMPLIFY_H
#define TILEVM_CODEGEN_PASSES_SIMPLIFY_H

#include "codegen/kernel/kernel.h"

/* Does what the pass does once more, for one that has put values into other values' places. */
void cg_simplify(cg_func *c);

#endif
