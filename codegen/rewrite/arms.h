/* Selects whose arms repeat their condition. */
#ifndef TILEVM_CODEGEN_REWRITE_ARMS_H
#define TILEVM_CODEGEN_REWRITE_ARMS_H

#include "codegen/tile/ir.h"

/* In the arms of the select, takes what other selects with the same condition give there. */
void cg_take_arms(ct_op *select);

#endif
