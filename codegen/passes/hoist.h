/* What passes ask of the hoist pass. */
#ifndef TILEVM_CODEGEN_PASSES_HOIST_H
#define TILEVM_CODEGEN_PASSES_HOIST_H

#include "codegen/tile/ir.h"

/* Does what the pass does for one loop once more, for a pass that has made operations in its body. */
void cg_hoist_from_loop(ct_op *loop);

#endif
