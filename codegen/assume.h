/* Assumes promises about parameters, to find out how much they would gain (cg_choices). */
#ifndef TILEVM_CODEGEN_ASSUME_H
#define TILEVM_CODEGEN_ASSUME_H

#include "codegen/kernel/kernel.h"

/* Inserts the assumptions at the head of the kernel, before all passes. False: out of memory. */
bool cg_assume(cg_func *c);

#endif
