/* Products by tcgen05 that are in flight, of which all threads await each: of loops without groups of warps, and those
   that run an iteration ahead. */
#ifndef TILEVM_CODEGEN_OPS_TCGEN05_FLIGHT_H
#define TILEVM_CODEGEN_OPS_TCGEN05_FLIGHT_H

#include "codegen/kernel/kernel.h"

/* The product that the issuer has issued goes on. */
void cg_tcgen05_leave_in_flight(cg_func *c);
/* Waits for the product that was issued `back` products ago, if there was one; 1: the last one. */
void cg_tcgen05_await_landing(cg_func *c, uint32_t back);

#endif
