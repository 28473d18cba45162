/* Powers of two whose subnormal results nothing reads. */
#ifndef TILEVM_CODEGEN_ANALYSIS_UNDERFLOW_H
#define TILEVM_CODEGEN_ANALYSIS_UNDERFLOW_H

#include "codegen/tile/ir.h"

/* May the exp2 give 0 instead of a subnormal number? */
bool cg_may_underflow(const ct_op *power);

#endif
