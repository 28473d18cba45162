/* The part of the hoist pass that other passes use. */
#ifndef TILEVM_CODEGEN_PASSES_HOIST_H
#define TILEVM_CODEGEN_PASSES_HOIST_H

#include "codegen/tile/ir.h"

/* Runs the pass again for one loop, after another pass has created operations in its body. */
void cg_hoist_from_loop(ct_op *loop);

#endif
