/* What is left of a kernel after an op. */
#ifndef TILEVM_CODEGEN_OPS_ENDING_H
#define TILEVM_CODEGEN_OPS_ENDING_H

#include "codegen/kernel/kernel.h"

/* Threads from this number on, which are whole warps, have nothing to do after the op; the number of all threads, if
   each may have. After the `sync` pass. */
uint32_t cg_threads_at_end(cg_func *c, const ct_op *op);

#endif
