/* Promises about parameters that are assumed, to find out what they would be worth (cg_choices). */
#ifndef TILEVM_CODEGEN_ASSUME_H
#define TILEVM_CODEGEN_ASSUME_H

#include "codegen/kernel/kernel.h"

/* Puts what is assumed at the head of the kernel, before all passes. False: out of memory. */
bool cg_assume(cg_func *c);

#endif
