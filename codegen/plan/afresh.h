/* Ops that compute the addresses and masks of stores once more than ptxas would. */
#ifndef TILEVM_CODEGEN_PLAN_AFRESH_H
#define TILEVM_CODEGEN_PLAN_AFRESH_H

#include "codegen/kernel/kernel.h"

/* Sets ct_op.afresh (ct_afresh). */
void cg_find_afresh(cg_func *c);

#endif
